"""The six sample papers: what each one studies, which figures it has, and which defect is planted where.

The plan (papers, figures, defects, order of sections) is fixed; the seed changes data, wording and reference lists.
Every defect of :data:`scifigqual_bench.samples.figures.Defect` is planted exactly once, on a figure that is otherwise
sound, and a figure with a planted defect is cited by one paragraph of its own, so that its neighbours stay clean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from scifigqual_bench.samples import figures as fg
from scifigqual_bench.samples.draft import Draft, Manuscript
from scifigqual_bench.samples.figures import Panels, Theme
from scifigqual_bench.samples.text import caption_of, listed, margin, numeral, quantity, reversed_claims
from scifigqual_bench.samples.typeset import Style

NOTICE = "A made-up paper, typeset to test software: its authors, methods and numbers do not exist."


# --- two columns ----------------------------------------------------------------------------------------------------

_ACL = Style(
    width=595, height=842, margin_x=71, margin_top=71, margin_bottom=74, gap=17, size=10, leading=11.8, indent=10
)


def parsing(rng: np.random.Generator) -> Manuscript:
    """ACL-like, two columns: truncated bars (Figure 3), a figure that no paragraph cites (Figure 4)."""
    slots = {
        "ours": "LexShare",
        "part": "gate",
        "others": "Scratch and Transfer",
        "task": "parsing with few trees",
        "measure": "labelled attachment",
        "item": "sentence",
        "items": "sentences",
        "data": "treebanks",
        "system": "parser",
        "systems": "parsers",
        "unit": "language",
    }
    draft = Draft(
        "larkspur-acl21",
        "Borrowed Suffixes: Sharing Lexicons Between Parsers with Few Trees",
        "ACL",
        2021,
        "Parsing",
        "Mira Brandvold and Tomas Quillon\nInstitute for Plausible Results",
        replace(_ACL, notice=NOTICE),
        Theme(),
        slots,
        rng,
    )
    flow = fg.Flow(
        (
            ("Segmenter", "splits words\ninto stems\nand suffixes"),
            ("Lexicon", "collects suffixes\nof all sources"),
            ("Gate", "decides what\na batch may\nborrow"),
            ("Parser", "scores arcs\nand labels"),
            ("Decoder", "finds the best\ntree"),
        )
    )
    ends = {"LexShare": (52.0, 84.5), "Transfer": (46.0, 82.0), "Scratch": (31.0, 77.5)}
    trees = fg.curves(
        rng,
        "number of training trees",
        "labelled attachment",
        "%",
        (50, 100, 200, 500, 1000, 2000),
        ends,
        spread=0.9,
        log_x=True,
    )
    languages = fg.bars(
        rng,
        "languages",
        "labelled attachment",
        "%",
        ("Arvan", "Belic", "Corrish", "Dunic", "Estran"),
        {"LexShare": 83.0, "Transfer": 80.9, "Scratch": 79.2},
        between=1.3,
        spread=0.5,
    )
    overlap = fg.scatter(
        rng,
        "language pairs",
        "shared suffixes",
        "%",
        "gain in attachment",
        "points",
        (10, 70),
        (0.5, 7.5),
        count=36,
        noise=0.12,
    )
    labels = fg.confusion(
        rng, ("subj", "obj", "obl", "nmod", "advcl"), "gold label", "predicted label", diagonal=(68, 90)
    )

    draft.abstract(
        """Parsers for small languages are trained on a few hundred trees, far too few to learn what each suffix does.
        We present LexShare, which lets a parser borrow suffixes from related languages and decides for each batch how
        much to borrow. On five languages and under equal budgets it is more accurate than training from scratch and
        than plain transfer, most clearly where trees are scarce. The shared lexicon is small enough to be read by a
        linguist, and a parser that borrows nothing is exactly the parser it was before."""
    )
    draft.section("Introduction")
    draft.say(
        """A parser that has seen the suffix of a noun once can guess its case; a parser that has not must rely on word
        order, which in many languages says little. With two thousand trees most suffixes have been seen, with two
        hundred most have not. The suffixes of related languages, on the other hand, are often known, and in many cases
        they look alike [[cite]]. This paper asks whether they can be borrowed."""
    )
    draft.stockpile("motivation", 2)
    draft.figure("flow", flow, (440, 92), wide=True)
    draft.stockpile("motivation")
    draft.section("Related Work")
    draft.stockpile("related", 3)
    draft.section("Method")
    draft.claim(
        "flow",
        after="The lexicon is the only part that is shared between languages; the parser itself stays monolingual.",
    )
    draft.subsection("Borrowing with a gate")
    draft.say(
        """Let <i>e</i><sub>s</sub> be the vector of suffix <i>s</i> in the language's own lexicon and
        <i>b</i><sub>s</sub> its vector in the shared one. The parser sees a mixture of the two,"""
    )
    draft.equation("<i>v</i><sub>s</sub> = (1 − <i>g</i>) <i>e</i><sub>s</sub> + <i>g</i> <i>b</i><sub>s</sub>,")
    draft.say(
        """where the gate <i>g</i> lies between zero and one and is computed from the mean representation of the batch.
        A gate of zero gives back the monolingual parser, and this is where training starts.""",
        continues=True,
    )
    draft.stockpile("method", 3)
    draft.section("Experiments")
    draft.subsection("Setup")
    draft.stockpile("setup")
    draft.say(
        """The five languages are artificial: their treebanks were generated by a grammar with known suffixes, so that
        the effect of sharing can be told from the effect of size.""",
        footnote="The grammar has 212 rules, and its generator is part of the supplement.",
    )
    draft.table(
        "settings",
        "Settings that all runs have in common.",
        ("Setting", "Value"),
        ("Batch size", "32 sentences"),
        ("Updates", "20,000"),
        ("Hidden units", "400"),
        ("Dropout", "0.33"),
        ("Seeds", "5"),
    )
    draft.stockpile("setup", 3)
    draft.subsection("How many trees are enough?")
    draft.figure("trees", trees, (218, 150), here=True)
    draft.claim("trees")
    draft.say(
        f"""The left end deserves a closer look (see [[Figure trees]]). With 50 trees, Scratch reaches
        {quantity(trees.means["Scratch"][0], "%")} and LexShare {quantity(trees.means["LexShare"][0], "%")}, a
        difference of {margin(trees.means["LexShare"][0] - trees.means["Scratch"][0], "%")}. At this size most suffixes
        of the test set do not occur in training at all, and a parser without a shared lexicon cannot do better than
        guess from word order."""
    )
    draft.subsection("Languages")
    draft.figure("languages", languages, (218, 145), defect="truncated-bars")
    draft.claim("languages")
    draft.stockpile("analysis", 2)
    draft.figure("overlap", overlap, (218, 145), defect="uncited")
    draft.stockpile("analysis")
    draft.subsection("Which labels are confused?")
    draft.figure("labels", labels, (218, 165))
    draft.claim(
        "labels", after="Mistakes of this kind are familiar from parsers that were trained on far more trees [[cite]]."
    )
    draft.section("Discussion")
    draft.stockpile("discussion", 2)
    draft.section("Limitations")
    draft.stockpile("limits", 2)
    draft.section("Conclusion")
    draft.stockpile("conclusion")
    draft.references()
    return draft.finish()


def optimiser(rng: np.random.Generator) -> Manuscript:
    """ICML-like, two columns, running heads: reversed trend (Figure 3), blurred raster (Figure 4), an appendix."""
    slots = {
        "ours": "Ebb",
        "part": "decay rule",
        "others": "Fixed and Restart",
        "task": "training on drifting streams",
        "measure": "test error",
        "item": "segment",
        "items": "segments",
        "data": "streams",
        "system": "network",
        "systems": "networks",
        "unit": "stream",
    }
    draft = Draft(
        "tidewater-icml22",
        "Step Sizes That Forget: Decaying Optimiser State on Drifting Streams",
        "ICML",
        2022,
        "Optimisation",
        "Ines Okonjo, Paul Wexcombe and Lena Jorvik\nLaboratory of Invented Methods",
        Style(
            margin_x=54,
            title_rules=True,
            running_head="Step Sizes That Forget",
            ligatures=True,
            notice=NOTICE,
            indent=0,
            skip=5,
        ),
        Theme(colours=("#1b6ca8", "#e07b39", "#5a9367", "#7d5ba6"), boxed=True, font_type=42),
        slots,
        rng,
        numbering="dot",
    )
    loss = fg.curves(
        rng,
        "number of segments seen",
        "test error",
        "%",
        tuple(range(10, 101, 10)),
        {"Ebb": (41.0, 12.5), "Restart": (42.0, 17.0), "Fixed": (43.0, 24.0)},
        spread=1.1,
        better="lower",
    )
    steps = fg.curves(
        rng,
        "step size",
        "test error",
        "%",
        (0.001, 0.003, 0.01, 0.03, 0.1),
        {"Ebb": (15.0, 18.5), "Restart": (18.5, 26.0), "Fixed": (23.0, 39.0)},
        spread=0.9,
        better="lower",
        log_x=True,
    )
    drifts = fg.bars(
        rng,
        "kinds of drift",
        "test error",
        "%",
        ("none", "slow", "sudden", "cyclic"),
        {"Ebb": 13.5, "Restart": 18.0, "Fixed": 23.5},
        between=1.6,
        spread=0.7,
        better="lower",
    )
    memory = fg.curves(
        rng,
        "number of stored segments",
        "accuracy on old segments",
        "%",
        (8, 16, 32, 64, 128),
        {"Ebb": (58.0, 86.0), "Restart": (52.0, 78.5), "Fixed": (44.0, 71.0)},
        spread=1.2,
        log_x=True,
    )
    layers = fg.confusion(
        rng, ("in", "conv1", "conv2", "conv3", "out"), "layer that drifts", "layer that moves", diagonal=(55, 85)
    )
    decay = fg.histogram(
        rng,
        "half-life of the state",
        "steps",
        "layers",
        {"slow drift": 46.0, "sudden drift": 29.0},
        width=7.5,
        count=300,
    )

    draft.abstract(
        """An optimiser that averages gradients remembers the past, and on a stream that drifts the past is wrong. We
        study Ebb, a rule that lets the optimiser's state decay at a rate chosen from the disagreement between new and
        averaged gradients. On synthetic streams with four kinds of drift it has a lower test error than a fixed decay
        and than periodic restarts, and is less sensitive to the step size. The rule needs one extra scalar a layer and
        no knowledge of when the stream changes."""
    )
    draft.section("Introduction")
    draft.say(
        """Most optimisers in use keep a running average of gradients or of their squares. The average smooths noise,
        which is desirable, and delays reactions, which is not. On a fixed data set the delay is harmless, since the
        optimum stays where it is. On a stream it is the main source of error: after a change the averaged gradient
        points at an optimum that no longer exists [[cite]].""",
        footnote="We use the word state for everything that an optimiser carries from step to step except the weights.",
    )
    draft.figure("loss", loss, (236, 150))
    draft.stockpile("motivation", 2)
    draft.section("Related Work")
    draft.stockpile("related", 3)
    draft.section("Forgetting at the Right Time")
    draft.say(
        """Write <i>m</i><sub>t</sub> for the averaged gradient and <i>g</i><sub>t</sub> for the new one. The usual rule
        mixes them with a constant. Ebb replaces the constant by a factor that depends on their agreement,"""
    )
    draft.equation(
        "<i>m</i><sub>t+1</sub> = <i>β</i><sub>t</sub> <i>m</i><sub>t</sub> + (1 − <i>β</i><sub>t</sub>) "
        "<i>g</i><sub>t</sub>, <i>β</i><sub>t</sub> = <i>β</i> "
        "· max(0, cos(<i>m</i><sub>t</sub>, <i>g</i><sub>t</sub>)),"
    )
    draft.say(
        """where the cosine is taken over the weights of one layer. When old and new gradients point the same way the
        rule is the usual one; when they are orthogonal the past is dropped at once.""",
        continues=True,
    )
    draft.stockpile("method", 3)
    draft.section("Experiments")
    draft.stockpile("setup", 3)
    draft.table(
        "settings",
        "Settings that all runs have in common.",
        ("Setting", "Value"),
        ("Segments a stream", "100"),
        ("Examples a segment", "512"),
        ("Layers", "5"),
        ("Weight decay", "0.0001"),
    )
    sweep = Panels((steps, drifts))
    draft.say("The streams are synthetic, and [[Table settings]] lists their settings.")
    draft.figure("sweep", sweep, (500, 150), f"{caption_of(sweep)} Streams as in [[Figure loss]].", wide=True)
    draft.subsection("Learning curves")
    draft.claim("loss", head="Speed.")
    draft.stockpile("analysis")
    draft.subsection("Sensitivity")
    draft.claim("sweep", panel="a", head="Step size.")
    draft.claim("sweep", panel="b", head="Drift.")
    draft.say(
        """Taken together, [[Figures loss and sweep]] give the same ranking: Ebb has the lowest test error, Restart
        comes second and Fixed last. The ranking is that of the amount of outdated state that a method carries along,
        which is what the rule for the decay leads one to expect."""
    )
    draft.subsection("Memory")
    draft.figure("memory", memory, (236, 145), defect="reversed-trend")
    draft.say(reversed_claims(memory, "[[Figure memory]]"))
    draft.stockpile("analysis", 2)
    draft.subsection("Which layers move?")
    draft.figure("layers", layers, (236, 165), defect="blurred-raster", raster=True)
    draft.claim("layers")
    draft.section("Discussion")
    draft.stockpile("discussion", 2)
    draft.stockpile("limits")
    draft.section("Conclusion")
    draft.stockpile("conclusion")
    draft.references()
    draft.appendix("Details of the State")
    draft.stockpile("appendix")
    draft.figure("decay", decay, (236, 140), here=True)
    draft.claim("decay")
    draft.stockpile("appendix")
    return draft.finish()


def summaries(rng: np.random.Generator) -> Manuscript:
    """EMNLP-like under review, two columns, numbered lines: bare pointer (Figure 2), tiny labels (Figure 3)."""
    slots = {
        "ours": "Anchor",
        "part": "linker",
        "others": "Plain and Rerank",
        "task": "faithful summarisation",
        "measure": "share of supported claims",
        "item": "summary",
        "items": "summaries",
        "data": "document collections",
        "system": "summariser",
        "systems": "summarisers",
        "unit": "genre",
    }
    draft = Draft(
        "heron-emnlp23",
        "Do Readers Notice? Rewording Claims in Generated Summaries",
        "EMNLP",
        2023,
        "Summarisation",
        "Anonymous EMNLP submission",
        replace(_ACL, line_numbers=True, page_numbers=False, notice=NOTICE),
        Theme(colours=("#4C78A8", "#F58518", "#54A24B"), grid=False),
        slots,
        rng,
    )
    flow = fg.Flow(
        (
            ("Splitter", "cuts a draft\ninto claims"),
            ("Linker", "finds the source\nsentence"),
            ("Rewriter", "rewords claims\nwithout a link"),
            ("Checker", "compares with\nthe source"),
        )
    )
    genres = fg.bars(
        rng,
        "genres",
        "share of supported claims",
        "%",
        ("news", "minutes", "letters", "manuals"),
        {"Anchor": 88.0, "Rerank": 82.0, "Plain": 74.5},
        between=2.5,
        spread=1.1,
    )
    length = fg.curves(
        rng,
        "number of sentences in the summary",
        "share of supported claims",
        "%",
        (1, 2, 3, 4, 5, 6, 7, 8),
        {"Anchor": (96.0, 84.0), "Rerank": (94.5, 76.0), "Plain": (92.0, 63.0)},
        spread=1.0,
    )
    delay = fg.histogram(rng, "reading time", "s", "summaries", {"Anchor": 21.0, "Plain": 27.0}, width=4.5, count=240)
    agree = fg.scatter(
        rng, "readers", "years of practice", "", "rate of noticed changes", "%", (1, 20), (22, 71), count=40, noise=0.11
    )

    draft.abstract(
        """Summaries that were written by machines contain claims that their sources do not support. We study whether
        readers notice when such claims are reworded, and propose Anchor, which ties each claim to a sentence of the
        source and rewords those that have none. In a study with forty readers of four genres its summaries contain a
        larger share of supported claims than those of two baselines, and are read faster.""",
        wide=True,
    )
    draft.section("Introduction")
    draft.say(
        """A summary is useful because it spares the reader the source, and dangerous for the same reason: who does not
        read the source cannot check the summary. Automatic checks find many unsupported claims [[cite]], but little
        is known about what happens when these claims are reworded rather than removed. A cautious wording may be
        closer to the source, or it may merely sound so."""
    )
    draft.stockpile("motivation", 3)
    draft.section("Related Work")
    draft.stockpile("related", 3)
    draft.section("Anchoring Claims")
    draft.figure("flow", flow, (440, 96), wide=True)
    draft.claim("flow")
    draft.say(
        """A claim <i>c</i> is linked to the sentence of the source that makes it most likely. With <i>S</i> for the
        source, its support is"""
    )
    draft.equation("<i>a</i>(<i>c</i>) = max<sub>s∈S</sub> log <i>p</i>(<i>c</i> | <i>s</i>) − log <i>p</i>(<i>c</i>),")
    draft.say("and claims whose support is below zero are handed to the rewriter.", continues=True)
    draft.stockpile("method", 3)
    draft.section("Study")
    draft.subsection("Material and readers")
    draft.stockpile("setup", 4)
    draft.table(
        "material",
        "Documents and readers of the study.",
        ("Genre", "Documents", "Readers"),
        ("News", "60", "10"),
        ("Minutes", "60", "10"),
        ("Letters", "60", "10"),
        ("Manuals", "60", "10"),
    )
    draft.say(
        """Forty readers were paid by the hour and worked at their own pace. [[Table material]] gives the number of
        documents. A reader saw each document with one summary only, and did not know which system had written it.""",
        footnote="Readers gave their consent, and could leave at any time without losing their pay.",
    )
    draft.subsection("Genres")
    draft.figure("genres", genres, (218, 150), defect="bare-pointer", here=True)
    draft.say("We repeated the comparison for every genre. Results are shown in [[Figure genres]].")
    draft.stockpile("analysis", 2)
    draft.subsection("Length")
    draft.figure("length", length, (218, 150), defect="tiny-labels")
    draft.claim("length")
    draft.stockpile("analysis", 3)
    draft.subsection("Reading")
    draft.figure("delay", delay, (218, 140))
    draft.figure("agree", agree, (218, 145))
    draft.claim("delay")
    draft.claim(
        "agree",
        before="Speed is of little value if readers overlook more.",
        after="Readers with more practice thus notice more of the rewordings.",
    )
    draft.say(
        f"""[[Figures delay-agree]] describe the same readers. The first shows how long {listed(delay.groups)}
        keep them busy, the second how many changes they notice; neither was known to them while they worked."""
    )
    draft.section("Discussion")
    draft.stockpile("discussion", 2)
    draft.section("Limitations")
    draft.stockpile("limits", 2)
    draft.section("Conclusion")
    draft.stockpile("conclusion")
    draft.references()
    return draft.finish()


def rain(rng: np.random.Generator) -> Manuscript:
    """IEEE-like, two columns, "Fig. 1." captions: clipped axis (Fig. 2), the other figures sound."""
    slots = {
        "ours": "DropNet",
        "part": "frame counter",
        "others": "Threshold and Template",
        "task": "acoustic rain measurement",
        "measure": "counting error",
        "item": "recording",
        "items": "recordings",
        "data": "recordings of rain",
        "system": "detector",
        "systems": "detectors",
        "unit": "site",
    }
    draft = Draft(
        "dewpoint-icassp20",
        "Counting Drops by Ear: Rain Gauges from Inexpensive Microphones",
        "ICASSP",
        2020,
        "Audio",
        "R. Vanterpool, S. Dunmore\nDepartment of Imaginary Signals",
        Style(
            margin_x=48,
            margin_top=62,
            margin_bottom=66,
            gap=17,
            size=10,
            leading=11.6,
            centred_headings=True,
            notice=NOTICE,
        ),
        Theme(colours=("#222222", "#c44e52", "#4c72b0"), family="DejaVu Serif", boxed=True),
        slots,
        rng,
        label="Fig. {}. ",
        numbering="roman",
        numeric_citations=True,
    )
    sound = fg.Picture(
        "spectrogram of nine drops on a metal plate",
        "power",
        "dB",
        fg.spectrogram(rng, 9),
        "Time (s)",
        "Frequency (kHz)",
        (0, 2.6, 0, 12),
    )
    noise = fg.curves(
        rng,
        "wind speed",
        "counting error",
        "%",
        (0, 2, 4, 6, 8, 10),
        {"DropNet": (4.0, 13.5), "Template": (7.0, 24.0), "Threshold": (9.5, 38.0)},
        spread=0.8,
        x_unit="m/s",
        better="lower",
    )
    gauge = fg.scatter(
        rng,
        "showers",
        "rate of the reference gauge",
        "mm/h",
        "rate from drops",
        "mm/h",
        (0.5, 24),
        (0.8, 23.5),
        count=48,
        noise=0.05,
    )
    sites = fg.bars(
        rng,
        "sites",
        "counting error",
        "%",
        ("roof", "meadow", "street", "shore"),
        {"DropNet": 7.0, "Template": 13.0, "Threshold": 19.5},
        between=1.4,
        spread=0.7,
        better="lower",
    )

    power = fg.histogram(
        rng, "peak power", "dB", "drops", {"light rain": 31.0, "heavy rain": 43.0}, width=5.0, count=350
    )

    draft.abstract(
        """Rain gauges are expensive and few; microphones are cheap and many. We describe DropNet, which counts single
        drops on a metal plate by their sound and turns the counts into a rate of rain. At four sites its counting error
        is lower than that of a threshold and of template matching, and its rates agree with those of a reference gauge.
        Wind remains the main source of error.""",
        wide=True,
    )
    draft.section("Introduction")
    draft.say(
        """Rain varies over distances of a few hundred metres, and the nearest gauge is usually some kilometres away. A
        denser network would help forecasts and the design of drains, but gauges with moving parts need care and money
        [[cite]]. A drop that falls on a metal plate makes a short sound whose strength depends on its size, and a
        microphone that records it costs less than a meal."""
    )
    draft.figure("sound", sound, (240, 128), raster=True)
    draft.stockpile("motivation", 3)
    draft.section("Related Work")
    draft.stockpile("related", 4)
    draft.section("Method")
    draft.say(
        """[[Figure sound]] shows the spectrogram of nine drops on a metal plate. Each of them is a burst that begins at
        once over a broad range of frequencies and fades within a tenth of a second or two. Most of the power lies below
        8 kHz. The bursts are well separated here; in heavy rain they overlap, and then counting peaks is not enough."""
    )
    draft.say(
        """DropNet predicts for every frame the expected number of drops that begin in it. With <i>y</i><sub>t</sub> for
        the number of drops and <i>λ</i><sub>t</sub> for the prediction, the loss is that of a Poisson process,"""
    )
    draft.equation("<i>L</i> = ∑<sub>t</sub> (<i>λ</i><sub>t</sub> − <i>y</i><sub>t</sub> log <i>λ</i><sub>t</sub>),")
    draft.say("so that uncertain frames are allowed to share a drop between them.", continues=True)
    draft.stockpile("method", 3)
    draft.section("Experiments")
    draft.subsection("Setup")
    draft.stockpile("setup", 3)
    draft.table(
        "sites",
        "Recordings by site.",
        ("Site", "Hours", "Showers"),
        ("Roof", "41", "14"),
        ("Meadow", "38", "11"),
        ("Street", "35", "12"),
        ("Shore", "40", "11"),
    )
    draft.say(
        """[[Table sites]] lists the recordings. The reference gauge stood next to the plate, and its clock was set by
        radio once a day.""",
        footnote="The gauge was calibrated before and after the season, with a change of less than one per cent.",
    )
    draft.subsection("Wind")
    draft.figure("wind", noise, (240, 150), defect="clipped-axis", here=True)
    draft.claim("wind")
    draft.stockpile("analysis", 3)
    draft.subsection("Agreement with the gauge")
    draft.figure("gauge", gauge, (240, 150))
    draft.claim("gauge")
    draft.subsection("Sites")
    draft.figure("sites_bar", sites, (240, 145))
    draft.claim("sites_bar")
    draft.say(
        f"""[[Figs. gauge and sites_bar]] answer two different questions. The former compares rates with a gauge over
        {len(gauge.x)} showers; the latter compares counts of {numeral(len(sites.groups))} methods with counts by hand.
        A method can do well on one and badly on the other, since errors of opposite sign cancel in a rate."""
    )
    draft.subsection("Size of the drops")
    draft.figure("power", power, (240, 140))
    draft.claim("power", after="Recordings of all four sites are pooled here.")
    draft.stockpile("analysis", 3)
    draft.section("Discussion")
    draft.stockpile("discussion", 3)
    draft.stockpile("limits", 2)
    draft.section("Conclusion")
    draft.stockpile("conclusion")
    draft.references()
    return draft.finish()


# --- one column -----------------------------------------------------------------------------------------------------

_NEURIPS = Style(margin_x=108, columns=1, size=10, leading=11, indent=0, skip=5.5, title_rules=True, notice=NOTICE)


def steel(rng: np.random.Generator) -> Manuscript:
    """NeurIPS-like, one column: vague caption (Figure 2), panel order (3), caption of another figure (4)."""
    slots = {
        "ours": "Seamless",
        "part": "consistency loss",
        "others": "Watershed and Supervised",
        "task": "grain boundary segmentation",
        "measure": "boundary recall",
        "item": "micrograph",
        "items": "micrographs",
        "data": "micrograph collections",
        "system": "segmenter",
        "systems": "segmenters",
        "unit": "alloy",
    }
    draft = Draft(
        "quarry-neurips24",
        "Grain Boundaries Without Labels: Segmenting Micrographs by Consistency",
        "NeurIPS",
        2024,
        "Materials",
        "Jonas Ulverston, Aiko Marchetto and Daniel Pellworm\nSchool of Plausible Materials",
        _NEURIPS,
        Theme(colours=("#0b7189", "#d17b0f", "#8c8c8c"), grid=True),
        slots,
        rng,
        works=14,
    )
    views = Panels(
        tuple(
            fg.Picture(subject, "brightness", "", fg.grains(rng, cells, 0.05, edges=edges))
            for subject, cells, edges in (
                ("micrograph of coarse grains", 14, False),
                ("micrograph of fine grains", 60, False),
                ("boundaries of another fine section", 60, True),
            )
        )
    )
    labels = fg.curves(
        rng,
        "number of labelled micrographs",
        "boundary recall",
        "%",
        (1, 2, 5, 10, 20, 50),
        {"Seamless": (71.0, 89.5), "Supervised": (48.0, 86.0), "Watershed": (44.0, 52.0)},
        spread=1.4,
        log_x=True,
    )
    noise = fg.curves(
        rng,
        "noise",
        "boundary recall",
        "%",
        (0, 5, 10, 15, 20),
        {"Seamless": (90.5, 81.0), "Supervised": (88.0, 72.0), "Watershed": (61.0, 35.0)},
        spread=1.2,
        x_unit="grey levels",
    )
    blur = fg.curves(
        rng,
        "blur radius",
        "boundary recall",
        "%",
        (0, 1, 2, 3, 4),
        {"Seamless": (90.0, 77.0), "Supervised": (88.0, 69.0), "Watershed": (60.5, 41.0)},
        spread=1.2,
        x_unit="pixels",
    )
    tilt = fg.curves(
        rng,
        "tilt",
        "boundary recall",
        "%",
        (0, 2, 4, 6, 8),
        {"Seamless": (90.5, 86.0), "Supervised": (88.0, 80.0), "Watershed": (61.0, 55.5)},
        spread=1.2,
        x_unit="degrees",
    )
    stress = Panels((noise, tilt, blur), ("a", "c", "b"))
    alloys = fg.bars(
        rng,
        "alloys",
        "boundary recall",
        "%",
        ("A36", "B12", "C45", "D70"),
        {"Seamless": 88.0, "Supervised": 83.0, "Watershed": 58.0},
        between=2.0,
        spread=1.0,
    )
    sizes = fg.histogram(
        rng, "grain diameter", "µm", "grains", {"Seamless": 18.0, "Watershed": 24.5}, width=4.2, count=400
    )

    draft.abstract(
        """The strength of a metal depends on the size of its grains, and measuring grains means finding their
        boundaries. Labels for this task are slow to make and hard to agree on. Seamless trains a segmenter without
        labels: it asks that the boundaries of a micrograph stay where they are when the micrograph is turned, tilted or
        made brighter. With a handful of labels to fix the threshold it finds more boundaries than a supervised
        segmenter and than the watershed transform, on four alloys and under three kinds of disturbance."""
    )
    draft.section("Introduction")
    draft.say(
        """When a polished section of metal is etched, the boundaries between its grains appear as dark lines. An expert
        follows them with ease, except where a scratch crosses or two grains have nearly the same shade. Programs are
        misled by exactly these places [[cite]], and a single gap in a boundary joins two grains into one, which ruins
        the statistics of their size."""
    )
    draft.figure("views", views, (395, 140), raster=True)
    draft.stockpile("motivation", 2)
    draft.section("Related work")
    draft.stockpile("related", 3)
    draft.section("Boundaries that stay in place")
    draft.say(
        """[[Figure views]] shows what the segmenter sees. Coarse grains, as in [[Figure views(a)]], have long
        boundaries that are easy to follow; fine grains ([[Figure views(b)]]) have short ones. What we look for is a
        map such as the one in [[Figure views(c)]], in which boundaries are white and everything else is black."""
    )
    draft.say(
        """Let <i>f</i> be the segmenter and <i>T</i> a random rotation with a change of brightness. The loss asks that
        segmenting and transforming may be exchanged,"""
    )
    draft.equation(
        "<i>L</i> = || <i>f</i>(<i>T</i> <i>x</i>) − <i>T</i> <i>f</i>(<i>x</i>) ||<sup>2</sup> + "
        "<i>μ</i> <i>H</i>(<i>f</i>(<i>x</i>)),"
    )
    draft.say(
        """where <i>H</i> is an entropy that keeps the segmenter from calling everything a boundary, or nothing.""",
        continues=True,
    )
    draft.stockpile("method", 2)
    draft.section("Experiments")
    draft.stockpile("setup", 3)
    draft.table(
        "alloys",
        "Micrographs by alloy.",
        ("Alloy", "Micrographs", "Labelled", "Magnification"),
        ("A36", "120", "24", "200×"),
        ("B12", "96", "20", "500×"),
        ("C45", "110", "22", "500×"),
        ("D70", "104", "20", "1000×"),
    )
    draft.subsection("How many labels are needed?")
    draft.figure("labels", labels, (300, 150), "Results of the second experiment.", defect="vague-caption", here=True)
    draft.claim("labels")
    draft.stockpile("analysis")
    draft.subsection("Disturbed micrographs")
    draft.figure("stress", stress, (395, 140), defect="panel-order")
    best, second = "Seamless", "Supervised"
    draft.say(
        f"""Micrographs from production are noisy, out of focus or tilted. [[Figure stress]] shows the effect of each on
        boundary recall. Noise lowers the recall of {best} from {quantity(noise.means[best][0], "%")} to
        {quantity(noise.means[best][-1], "%")}, blur to {quantity(blur.means[best][-1], "%")} and tilt to
        {quantity(tilt.means[best][-1], "%")}. At the strongest setting of each, {second} is lower by
        {margin(noise.means[best][-1] - noise.means[second][-1], "%")},
        {margin(blur.means[best][-1] - blur.means[second][-1], "%")} and
        {margin(tilt.means[best][-1] - tilt.means[second][-1], "%")}, in this order."""
    )
    draft.stockpile("analysis")
    draft.subsection("Alloys and grain sizes")
    draft.figure("alloys_bar", alloys, (300, 145), caption_of(sizes), defect="swapped-caption")
    draft.claim("alloys_bar")
    draft.figure("sizes", sizes, (300, 140))
    draft.claim(
        "sizes",
        after="Gaps in a boundary join two grains into one, and a method that leaves more gaps sees larger grains.",
    )
    draft.stockpile("analysis")
    draft.section("Discussion and limitations")
    draft.stockpile("discussion")
    draft.stockpile("limits")
    draft.section("Conclusion")
    draft.stockpile("conclusion")
    draft.references()
    return draft.finish()


def shorebirds(rng: np.random.Generator) -> Manuscript:
    """NeurIPS-like, one column, no defects: the paper that nobody has rated."""
    slots = {
        "ours": "Sandpiper",
        "part": "chooser",
        "others": "Random and Uncertain",
        "task": "counting birds from the air",
        "measure": "counting error",
        "item": "photograph",
        "items": "photographs",
        "data": "aerial surveys",
        "system": "counter",
        "systems": "counters",
        "unit": "bay",
    }
    draft = Draft(
        "sandpiper-neurips25",
        "Shorebirds on a Budget: Choosing Which Aerial Photographs to Label",
        "NeurIPS",
        2025,
        "Ecology",
        "Freya Lindqvar and Emeka Halloway\nCentre for Imaginary Ecology",
        _NEURIPS,
        Theme(colours=("#3b528b", "#5ec962", "#b5367a"), boxed=True, font_type=42),
        slots,
        rng,
        works=14,
    )
    flow = fg.Flow(
        (
            ("Survey", "flies fixed\nlines"),
            ("Tiler", "cuts photographs\ninto squares"),
            ("Chooser", "asks for labels"),
            ("Counter", "counts birds"),
        )
    )
    budget = fg.curves(
        rng,
        "number of labelled photographs",
        "counting error",
        "%",
        (20, 40, 80, 160, 320),
        {"Sandpiper": (31.0, 9.0), "Uncertain": (35.0, 12.5), "Random": (38.0, 15.5)},
        spread=1.0,
        better="lower",
        log_x=True,
    )
    bays = fg.bars(
        rng,
        "bays",
        "counting error",
        "%",
        ("Alder", "Birch", "Cedar", "Dogwood", "Elder"),
        {"Sandpiper": 10.0, "Uncertain": 14.0, "Random": 18.5},
        between=1.3,
        spread=0.8,
        better="lower",
    )
    species = fg.confusion(
        rng,
        ("dunlin", "knot", "plover", "gull", "empty"),
        "species on the ground",
        "species from the air",
        diagonal=(66, 92),
    )
    height = fg.scatter(
        rng, "flights", "flight height", "m", "counting error", "%", (30, 120), (6.0, 27.0), count=42, noise=0.09
    )

    draft.abstract(
        """Surveys from the air produce more photographs than anybody can label. Sandpiper chooses the photographs whose
        labels promise to change the count the most, given what has been labelled before. In five bays it reaches a
        lower counting error than choosing at random or by uncertainty, for every budget that we tried. Most of the gain
        comes from not asking about empty water again and again."""
    )
    draft.section("Introduction")
    draft.say(
        """Shorebirds gather in large flocks and scatter when somebody walks up to count them. Small aircraft without a
        pilot disturb them less, and one flight brings home several thousand photographs, most of which show water
        [[cite]]. Labelling all of them takes weeks; labelling a random tenth gives a count with an interval so wide
        that a decline of a quarter would go unnoticed."""
    )
    draft.stockpile("motivation", 2)
    draft.figure("flow", flow, (380, 84))
    draft.section("Related work")
    draft.stockpile("related", 3)
    draft.section("Choosing photographs")
    draft.claim("flow")
    draft.say(
        """The chooser values a photograph <i>x</i> by the expected change of the total count <i>N</i> if its label
        <i>y</i> were known,"""
    )
    draft.equation(
        "<i>u</i>(<i>x</i>) = <i>E</i><sub>y</sub> | <i>N</i>(<i>D</i>, <i>x</i>, <i>y</i>) − <i>N</i>(<i>D</i>) |,"
    )
    draft.say(
        """where <i>D</i> are the photographs that have been labelled. Empty water is certain to change nothing, and is
        never asked for.""",
        continues=True,
    )
    draft.stockpile("method", 2)
    draft.section("Experiments")
    draft.stockpile("setup", 3)
    draft.table(
        "bays",
        "Photographs by bay.",
        ("Bay", "Flights", "Photographs", "Birds"),
        ("Alder", "9", "2,140", "11,900"),
        ("Birch", "8", "1,870", "7,400"),
        ("Cedar", "8", "1,910", "9,050"),
        ("Dogwood", "9", "2,220", "15,300"),
        ("Elder", "8", "1,760", "6,800"),
    )
    draft.subsection("Budgets")
    draft.figure("budget", budget, (300, 150))
    draft.claim("budget")
    draft.stockpile("analysis")
    draft.subsection("Bays")
    draft.figure("bays_bar", bays, (330, 145), here=True)
    draft.claim("bays_bar")
    draft.say(
        """The order of the three methods is the same in [[Figures budget and bays_bar]]: Sandpiper is first, Uncertain
        second and Random last."""
    )
    draft.stockpile("analysis", 2)
    draft.subsection("Species")
    draft.figure("species", species, (300, 150), here=True)
    draft.claim("species")
    draft.stockpile("analysis")
    draft.section("Discussion and limitations")
    draft.stockpile("discussion", 2)
    draft.stockpile("limits")
    draft.section("Conclusion")
    draft.stockpile("conclusion")
    draft.references()
    draft.appendix("Flight height")
    draft.stockpile("appendix")
    draft.figure("height", height, (300, 150), here=True)
    draft.claim("height")
    return draft.finish()


PAPERS: tuple[Callable[[np.random.Generator], Manuscript], ...] = (
    parsing,
    optimiser,
    summaries,
    rain,
    steel,
    shorebirds,
)
UNRATED = frozenset({"sandpiper-neurips25"})
"""Papers left out of the ratings."""
