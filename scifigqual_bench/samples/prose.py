"""The bank: paragraphs around the figures of a made-up paper.

They hold ``$slots`` (what this paper is about) and ``{either|or}`` choices; the seed decides. None of them makes a
claim about any figure: such claims come only from the functions of :mod:`scifigqual_bench.samples.text` that read the
plot.
"""

from __future__ import annotations


def _paragraphs(text: str) -> tuple[str, ...]:
    """Split at blank lines and join each paragraph's lines."""
    return tuple(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


_MOTIVATION = """
{Work on|Research on} $task has long been {held back|limited} by small collections. Preparing a single $item takes an
expert several minutes, and agreement between experts is far from perfect. [[cite]] argue that the field would be
better served by methods that use what is already there. We take this advice {literally|at its word} and ask how far
one gets with the material that every group has on its disks.

There are two common answers to this problem. The first is to collect more $items and hope that scale makes up for
noise [[cite]]. The second is to build knowledge of the domain into the $system itself [[cite]]. The first is
expensive, the second is brittle: a rule that holds for one $unit often fails for the next. $ours sits between the
two, because its $part acts only where the evidence supports it.

Our contributions are as follows. We describe $ours, a method for $task that adds fewer than two per cent of
parameters to an existing $system. We compare it under equal budgets with $others, and report variation over seeds for
every number. Finally, we examine where the method fails, since {average scores hide|averages hide} more than they
show when conditions differ as much as they do here.
"""

_RELATED = """
<b>Learning from little.</b> The idea of using structure that is known in advance goes back at least to [[cite]], who
fixed parameters by hand. Later work learned which parts to fix [[cite]], at the cost of a second training stage. In
contrast to these methods, $ours needs neither a second stage nor a held-out set to tune its $part, and its cost at
prediction time is close to that of the unmodified $system.

<b>Evaluation.</b> Several authors have warned that differences between systems for $task are often smaller than the
variation between seeds [[cite]]. [[cite]] propose to report the whole distribution rather than the best run, and we
follow this proposal. Where earlier studies compare with a baseline that was tuned less than the new method, we spend
the same effort on each.

<b>Robust measurement.</b> A separate line of work asks what is being measured in the first place. [[cite]] find that
$measure depends strongly on the choice of $data, and that rankings can change when one collection is left out. This
does not make the quantity useless, but it does mean that a single number should not be read as a property of the
method alone.

<b>Simple baselines.</b> It is a recurring finding that a simple method, tuned with care, comes close to a complicated
one [[cite]]. We therefore include a baseline that anybody can reproduce in an afternoon, and we discuss the cases in
which it is the better choice. For $task this comparison {has been missing|was missing} so far, perhaps because the
simple method is too dull to be published by itself.
"""

_METHOD = """
The design follows three principles. First, whatever is added must be small enough to be inspected by a person.
Second, the $system must fall back to its old behaviour when the $part is of no use. Third, there must be no setting
that has to be tuned for each $unit, since $items for tuning are exactly what is missing. These principles exclude
several options that would do well in a single experiment.

Training alternates between two steps. In the first step the $part is held fixed and the weights of the $system are
updated on one batch of $items. In the second step the weights are held fixed and the $part moves by a small amount.
The two steps {cost about the same|take about the same time}, and neither needs second derivatives. In preliminary
runs the order of the two made no difference that we could measure.

A natural question is whether the $part could be replaced by something simpler, such as an average over all $items
seen so far. We found that it cannot: an average is dominated by whatever is most frequent, and rare cases are drowned
out. Weighting by the inverse of the frequency is a partial remedy [[cite]], but makes the method sensitive to noise
in the rarest cases, which are also those with the least reliable reference.

Implementation is straightforward. The $part adds a few hundred lines to the code of the $system, most of them tests.
We clip gradients at norm one and stop when the loss on the development set has not improved for ten checks.
Everything else, the preparation of $items included, is taken over unchanged, so that differences between $ours and
the baselines have one cause and not several.
"""

_SETUP = """
We split the $data by source, so that no source occurs in two parts. Sixty per cent of the sources are used for
training, twenty for development and twenty for testing. All choices were made on the development part; the test part
was opened once, after the text of this section had been written. This order of events is not a formality: in an
earlier version of the study a leak between parts had made all methods look better than they were.

Every configuration is trained with five random seeds, and we report the mean and the standard deviation. The same
five seeds are used for all methods, which removes the variation due to the order of $items from the comparison. Runs
that diverged were not repeated or removed; there were none for $ours, and two in the development phase for the other
methods.

The budget is the same for all methods: equal numbers of updates, equal batch sizes, and twenty trials of random
search for the step size and the weight decay. We do not compare with results copied from other papers, because their
splits and budgets differ from ours, and a difference in budget is easily taken for a difference in method [[cite]].

Our main measure is $measure. It is computed for each $item and averaged within a source before sources are averaged,
so that a large source does not count more than a small one. We also looked at the median; since it leads to the same
ranking, we leave it out. Significance is assessed by a paired permutation test over sources with ten thousand
permutations.

All experiments run on a single workstation. One training run of the $system takes between twenty and fifty minutes,
and the whole study, including the search for settings and everything that did not work, took less than three weeks of
computing. The energy this needs is about that of boiling forty kettles of water, which we mention because larger
figures are often left out.

As baselines we use $others. Each sees the same $data as $ours and the same features. We have checked our
implementations against the descriptions by their authors [[cite]], and found differences only in details that do not
matter for $task, such as the order of preprocessing steps.

Before any run we wrote down which comparisons we would make and what result would change our minds. The list has six
entries, and all of them are reported here. Two further comparisons occurred to us afterwards; we ran them too, but
leave them out, since questions that are asked after the answers are known tend to flatter those who ask [[cite]].
"""

_ANALYSIS = """
To see which component matters, we removed one at a time and trained again. Without the $part the method still works
but becomes sensitive to the choice of $items; without the alternating steps it loses its stability in the first part
of training. Removing both brings it back to the level of an ordinary $system. We take this as evidence that the two
components do different things.

We also inspected a random sample of one hundred $items by hand. Two of the authors labelled the mistakes
independently, and disagreed on eleven of them. Most mistakes fall into one of three groups: $items that are wrong in
the reference itself, $items that an expert would also find difficult, and a small remainder for which we have no
explanation. Only the last group calls for a better method.

It is tempting to read the size of a difference as its importance. We advise against it. A difference of one point in
$measure can mean that every $item is handled slightly better, or that a few are handled much better and the rest are
not. The two cases call for different conclusions, and an average does not tell them apart.

The order in which $items are added has little influence. We repeated the main experiment with three random orders and
found that the results stay within the variation between seeds. This is reassuring, because in practice the order is
decided by when the $items arrive, and nobody can choose it.

How much of the difference is due to the additional parameters? We gave the same number of parameters to the baselines
by making their hidden layers wider. Their results changed by less than the standard deviation over seeds, in either
direction. The size of the model is therefore not what separates the methods, at least not in the range that we could
afford to try.

Training is stable. Of all runs of $ours, none had to be started again, and the loss on the development set never rose
for more than three checks in a row. The baselines are stable as well, with the exception of very large step sizes,
which the search for settings had ruled out before the main experiment began.
"""

_DISCUSSION = """
What do these results mean in practice? For a group that has a trained $system and a handful of new $items, $ours is a
cheap first thing to try: it needs no new software and no special hardware. For a group that starts from nothing the
advice is different. In that case the first hundred $items are worth more than any method, and time is best spent on
preparing them with care.

We were surprised by how much depends on the quality of the development set. When it is small, all methods tend to
stop too early, and the differences between them become smaller. This is a property of the procedure and not of the
methods, but a reader who looks at the final numbers alone would not notice it [[cite]].

One could object that our $data favour the method, because they were chosen by the same people who designed it. The
objection is fair, and there is no complete answer to it. We did choose the $data before the $part existed in its
present form, and we did not drop a collection afterwards; more than this we cannot offer, and an independent
repetition would be welcome.

Costs deserve a word. At prediction time the $part takes about a twentieth of the time of the whole $system, and at
training time about a tenth. Memory grows by an amount that we could not measure reliably. None of this is likely to
decide whether somebody uses the method; the time that it takes to understand a new component usually weighs more.
"""

_LIMITS = """
The study has several limits. All $data were made for other purposes, and their selection is not random. The number of
sources is small, so that intervals are wide. We have also not tested what happens when the conditions change after
training, which in applications they always do.

We consider only one family of $systems. There is no reason to believe that the findings depend on it, but there is no
proof either. Larger models might need the $part less, or might profit more from it; our budget did not allow us to
find out. Lastly, all authors know the $data well, and some of our choices may reflect what we have seen in them
before.
"""

_CONCLUSION = """
We have presented $ours, a simple method for $task. It is small, it can be inspected, and it falls back to the plain
$system when its $part does not help. Under equal budgets it compares well with $others. We hope that the protocol,
with its fixed budgets and its reports over seeds, is useful beyond this method.

This paper asked how much can be gained for $task without a larger collection. The answer is: more than we expected,
and less than one would wish. $ours closes a part of the distance at almost no cost. What remains will need new
$items, and we believe that choosing them well is the more rewarding problem for the years to come.
"""

_APPENDIX = """
This appendix gives details that did not fit into the main text. The search for settings drew the step size
log-uniformly between 0.0001 and 0.01 and the weight decay from four values. The best setting differed between
methods, as it should, but not between seeds. All random numbers come from one generator whose seed is recorded with
the results.

Preprocessing was kept to a minimum. We removed exact duplicates, brought all $items to the same format and dropped
those without a reference. No other filter was used. In total this affects fewer than one per cent of the $items, and
leaving them in changes no result in a way that a reader would notice.
"""

BANK: dict[str, tuple[str, ...]] = {
    "motivation": _paragraphs(_MOTIVATION),
    "related": _paragraphs(_RELATED),
    "method": _paragraphs(_METHOD),
    "setup": _paragraphs(_SETUP),
    "analysis": _paragraphs(_ANALYSIS),
    "discussion": _paragraphs(_DISCUSSION),
    "limits": _paragraphs(_LIMITS),
    "conclusion": _paragraphs(_CONCLUSION),
    "appendix": _paragraphs(_APPENDIX),
}
"""Paragraphs by topic."""

IN_ORDER = frozenset({"motivation", "appendix"})
"""Topics whose paragraphs build on each other; those of the others may come in any order."""
