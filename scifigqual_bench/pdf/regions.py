"""Find the graphic that belongs to each caption.

Everything on a page that is neither running text nor caption nor running head is gathered into clusters of images,
paths and text that touch or nearly touch. A caption owns the clusters of its zone: the strip of its column between
the caption and the next thing that can't be part of a float. All captions of a page are settled together, because
the table of one and the figure of the next may share a strip.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import ndimage
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from scifigqual_bench.pdf.captions import Caption
from scifigqual_bench.pdf.document import Document, Page, Rect
from scifigqual_bench.pdf.layout import EDGE, RULE, Layout, PageLayout, Role, analyse
from scifigqual_bench.records import Problem

Side = Literal["above", "below", "beside"]

CELL = 2.0
"""Points: resolution at which neighbouring elements are joined to clusters."""
REACH = 40.0
"""Points: the widest empty band within a figure, for example between two rows of panels."""
TITLE_REACH = 20.0
"""Points: how far above or below a graphic its titles and legends stand ..."""
LABEL_REACH = 24.0
"""... and how far to its sides its row labels."""
RULE_REACH = 8.0
"""Points: how far above its caption the first rule of an algorithm stands, at the most."""
MIN_SIDE = 8.0
"""Points; what is smaller is a rule or a letter, and no float."""
CLEARANCE = 1.5
"""Points left free between a region and a line of text that it was cut for."""
MAX_CUT = 0.35
"""At most this share of a region is cut off for a line of text that it overlaps."""
PICTURE, RULED, TEXT = 0, 1, 2
"""Kinds of elements: images and paths, rules among the paths, lines of text."""
PAGE_SHARE = 0.85
"""An image or path over this share of the page is a background."""
FEW_LINES = 2
"""A page with no more lines of running text is one of figures."""
LINE_STEP = 1.45
"""Distance of two rows of a paragraph over their height, at the most."""
PARAGRAPH_LINES = 3
"""Lines of running text that stand together, from which no figure is looked for among them."""
CONFIDENCE = {"graphics": 0.9, "rules": 0.7, "text": 0.5}
"""What a region is worth that is a picture, stands between rules, or is of loose words (:class:`Region`) ..."""
UNUSUAL = 0.2
"""... and how much less on a side on which the paper does not usually set its graphics."""
_SUBCAPTION = re.compile(r"\s*\(?[a-z]\)\s*\S")


@dataclass(frozen=True)
class Region:
    """Where a caption's graphic is.

    Attributes:
        page: From 1.
        bbox: The graphic without its caption, in PDF points from the page's top left corner.
        method: ``graphics-above-caption``, ``text-below-caption`` and so on: what was found, and on which side;
            ``graphics-previous-page`` where it stands on another page than its caption.
        confidence: 0..1, a rank of trust, not a probability: pictures over rules over loose words, and less for a side
            on which the paper does not usually set its graphics.
        subcaptions: Whether there are captions of single panels, such as "(a) Loss"; they are part of the box.
        layout_model_iou: How well a layout model agrees, 0..1; None where it was not asked.
    """

    page: int
    bbox: Rect
    method: str
    confidence: float
    subcaptions: bool
    layout_model_iou: float | None = None


class _Cluster:
    """Elements that touch or nearly touch.

    Attributes:
        boxes: (n, 4) boxes of the elements.
        kinds: (n,) of PICTURE, RULE, TEXT.
        box: Their common box.
        graphic: Whether there is more than text with rules: a picture, or paths that go up and across.
        ruled: Whether there are rules.
    """

    def __init__(self, boxes: np.ndarray, kinds: np.ndarray):
        self.boxes, self.kinds = boxes, kinds
        self.box: Rect = (boxes[:, 0].min(), boxes[:, 1].min(), boxes[:, 2].max(), boxes[:, 3].max())
        pictures = boxes[kinds == PICTURE]
        sizes = (pictures[:, 2:] - pictures[:, :2]).min(axis=1)
        self.graphic = bool((sizes > 8).any() or len(pictures) >= 4)
        self.ruled = bool((kinds == RULED).any())


@dataclass
class _Claim:
    """What a caption may have, and what it got.

    Attributes:
        zones: The strips in which its graphic may lie, by side.
        barriers: (n, 4) boxes of the lines of text that bound them.
        side: The side that was chosen.
        usual: Whether the paper usually sets its graphics on that side.
        clusters: What it got.
        enclosed: What the rules of its float enclose, where they do.
    """

    caption: Caption
    zones: dict[Side, Rect]
    barriers: np.ndarray
    enclosed: Rect | None = None
    side: Side = "above"
    usual: bool = True
    clusters: list[_Cluster] = field(default_factory=list)


def find_regions(
    document: Document, captions: Sequence[Caption], layout: Layout | None = None
) -> list[Region | Problem]:
    """Find the region of every caption.

    Args:
        document: The paper.
        captions: All captions of the paper, tables and algorithms too: they bound the others.
        layout: The paper's layout, where the caller has it already.

    Returns:
        One entry a caption, in the order given: its region, or a problem that says why there is none.
    """
    layout = layout or analyse(document)
    pages = []
    for page in layout.pages:
        order = [k for k, caption in enumerate(captions) if caption.page == page.page.number]
        here = [captions[k] for k in order]
        if here:
            elsewhere = [i for caption in captions for number, i in caption.overflow if number == page.page.number]
            own, body = _running_text(page, here, elsewhere)
            pages.append((page, order, own, body, *_claims(page, here, own, body)))
    habits = _habits([(clusters, claims) for *_, clusters, claims in pages])
    found: list[Region | Problem | None] = [None] * len(captions)
    for page, order, own, body, clusters, claims in pages:
        regions = _settled(page, clusters, claims, habits)
        if any(_lacks_graphic(captions[k], region) for k, region in zip(order, regions, strict=True)):
            again = _claims(page, [captions[k] for k in order], own, body & ~_lone(page.boxes, body))
            second = _settled(page, *again, habits)
            regions = [
                other if _lacks_graphic(captions[k], region) and _is_graphic(other) else region
                for k, region, other in zip(order, regions, second, strict=True)
            ]
        for k, region in zip(order, regions, strict=True):
            found[k] = region
    captioned = {caption.page for caption in captions}
    for k, caption in enumerate(captions):
        if _lacks_graphic(caption, found[k]):
            others = [page for page in layout.pages if page.page.number not in captioned]
            found[k] = _on_neighbouring_page(caption, others) or found[k]
    return found


def _claims(
    page: PageLayout, captions: Sequence[Caption], own: np.ndarray, body: np.ndarray
) -> tuple[list[_Cluster], list[_Claim]]:
    """What may be part of a float on a page, and what each of its captions may claim of it."""
    return _clusters(page, own | body), [_claim(page, caption, captions, body) for caption in captions]


def _settled(
    page: PageLayout, clusters: list[_Cluster], claims: list[_Claim], habits: dict[str, float]
) -> list[Region | Problem]:
    """The regions of a page's captions, in the order of the claims."""
    clusters = _divided(clusters, claims, habits)
    _settle(claims, clusters, habits)
    for claim in claims:
        _widen(claim, page, _free(clusters, claims))
    loose = _free(clusters, claims)
    return [_region(claim, page, loose) for claim in claims]


def _lacks_graphic(caption: Caption, region: Region | Problem | None) -> bool:
    return caption.kind == "figure" and isinstance(region, Problem)


def _is_graphic(region: Region | Problem) -> bool:
    return isinstance(region, Region) and region.method.startswith("graphics")


def _lone(boxes: np.ndarray, body: np.ndarray) -> np.ndarray:
    """Which lines of running text have fewer than two others in their column: rows of a figure may look like that."""
    lone = np.zeros(len(body), dtype=bool)
    index = np.flatnonzero(body)
    x0, _, x1, y1 = boxes[index].T
    height = boxes[index, 3] - boxes[index, 1]
    beside = np.minimum.outer(x1, x1) > np.maximum.outer(x0, x0)
    near = beside & (np.abs(np.subtract.outer(y1, y1)) < LINE_STEP * np.minimum.outer(height, height))
    _, labels = connected_components(csr_matrix(near), directed=False)
    lone[index] = np.bincount(labels)[labels] < PARAGRAPH_LINES
    return lone


def _free(clusters: Sequence[_Cluster], claims: Sequence[_Claim]) -> list[_Cluster]:
    """The clusters of a page that no caption has."""
    taken = {id(cluster) for claim in claims for cluster in claim.clusters}
    return [cluster for cluster in clusters if id(cluster) not in taken]


# --- clusters ---------------------------------------------------------------------------------------------------------


def _running_text(
    page: PageLayout, captions: Sequence[Caption], overflow: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Which lines of a page are of captions, and which others can't be part of a float: two masks.

    Lines with which a caption goes on apart from its first ones bound floats as the body's lines do.
    """
    own = np.zeros(len(page.page.lines), dtype=bool)
    own[[i for caption in captions for i in caption.lines]] = True
    own[list(overflow)] = False
    body = (page.roles != Role.OTHER) & ~own
    body[body] = ~_inside_any(page.boxes[body], _frames(page, captions))
    body[list(overflow)] = True
    return own, body


def _clusters(page: PageLayout, fixed: np.ndarray) -> list[_Cluster]:
    """All that may be part of a float on a page, joined to clusters; ``fixed`` masks the lines that may not."""
    text = page.boxes[~fixed]
    graphics, rules = _graphics(page, page.boxes[fixed])
    boxes = np.concatenate([graphics, rules, text])
    if len(boxes) == 0:
        return []
    kinds = np.repeat([PICTURE, RULED, TEXT], [len(graphics), len(rules), len(text)])
    labels = _joined(boxes, page.page)
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return [_Cluster(boxes[members], kinds[members]) for members in np.split(order, ends)]


def _graphics(page: PageLayout, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of the images and paths that show, and of the rules among the paths."""
    whole = PAGE_SHARE * page.page.width * page.page.height
    images = np.array(page.page.images, dtype=float).reshape(-1, 4)
    shown = [d for d in page.drawings if d.shows]
    paths = np.array([d.bbox for d in shown], dtype=float).reshape(-1, 4)
    boxes = np.concatenate([images, paths])
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    keep = (width * height < whole) & ~_covered(boxes, fixed, page.page)
    thin = (height < RULE) & (width > 4 * RULE) & (np.arange(len(boxes)) >= len(images))
    return boxes[keep & ~thin], boxes[keep & thin]


def _frames(page: PageLayout, captions: Sequence[Caption]) -> np.ndarray:
    """Boxes that hold text of their own: pictures, rectangles, and what stands between the two rules of a float."""
    limit = 0.6 * page.page.height
    boxes = [d.bbox for d in page.drawings if d.shows] + page.page.images
    frames = np.array(boxes, dtype=float).reshape(-1, 4)
    size = frames[:, 2:] - frames[:, :2]
    frames = frames[(size[:, 1] > 24) & (size[:, 1] < limit) & (size[:, 0] > 40)]
    ruled = [box for c in captions if (box := _between_rules(page, c, captions)) and box[3] - box[1] < limit]
    margin = np.array([-2 * EDGE, 0, 2 * EDGE, 0])
    return np.concatenate([frames, np.array(ruled, dtype=float).reshape(-1, 4) + margin])


def _between_rules(page: PageLayout, caption: Caption, captions: Sequence[Caption]) -> Rect | None:
    """What the rules next to a caption enclose: an algorithm below it, a text above the caption of a figure."""
    x0, y0, x1, y1 = caption.bbox
    rules = page.rules_between(x0, x1)
    if caption.kind in ("algorithm", "listing"):
        # the rule over the next algorithm stands right above its caption
        ends = [c.bbox[1] - RULE_REACH for c in captions if c.bbox[1] > y1 and c.bbox[0] < x1 and c.bbox[2] > x0]
        inside = [rule for rule in rules if y1 - 1 < rule[1] < min(ends, default=page.page.height)]
        enclosing = [rule for rule in inside if _same_ends(rule, inside[0])]
    elif caption.kind == "figure":
        enclosing = [rule for rule in rules if rule[3] < y0 + 1][-2:]
        if not enclosing or y0 - enclosing[-1][3] > REACH or not _same_ends(enclosing[0], enclosing[-1]):
            return None
    else:
        return None
    if len(enclosing) < 2:
        return None
    (left, top, right, _), bottom = enclosing[0], enclosing[-1][3]
    return left, top, right, bottom


def _same_ends(one: Rect, two: Rect) -> bool:
    """Whether two rules begin and end one below the other."""
    return abs(one[0] - two[0]) + abs(one[2] - two[2]) < EDGE


def _inside_any(boxes: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Which boxes lie in a frame."""
    inside = np.zeros(len(boxes), dtype=bool)
    for x0, y0, x1, y1 in np.unique(np.round(frames), axis=0):
        inside |= (
            (boxes[:, 0] >= x0 - 1.5)
            & (boxes[:, 1] >= y0 - 1.5)
            & (boxes[:, 2] <= x1 + 1.5)
            & (boxes[:, 3] <= y1 + 1.5)
        )
    return inside


def _covered(boxes: np.ndarray, lines: np.ndarray, page: Page) -> np.ndarray:
    """Which boxes lie wholly in running text: underlines, fraction bars, highlights."""
    mask = _painted(lines, page, 1.0, EDGE) > 0
    total = np.pad(np.cumsum(np.cumsum(mask, axis=0), axis=1), ((1, 0), (1, 0)))
    x0, y0, x1, y1 = _cells(boxes, mask.shape, 1.0)
    inside = total[y1, x1] - total[y0, x1] - total[y1, x0] + total[y0, x0]
    return inside >= (x1 - x0) * (y1 - y0)


def _cells(boxes: np.ndarray, shape: tuple[int, int], cell: float) -> tuple[np.ndarray, ...]:
    """Half-open cell ranges of boxes, at least one cell each."""
    x0 = np.clip(np.floor(boxes[:, 0] / cell).astype(int), 0, shape[1] - 1)
    y0 = np.clip(np.floor(boxes[:, 1] / cell).astype(int), 0, shape[0] - 1)
    x1 = np.clip(np.ceil(boxes[:, 2] / cell).astype(int), x0 + 1, shape[1])
    y1 = np.clip(np.ceil(boxes[:, 3] / cell).astype(int), y0 + 1, shape[0])
    return x0, y0, x1, y1


def _painted(boxes: np.ndarray, page: Page, cell: float, margin: float) -> np.ndarray:
    """How many of the boxes, each grown by a margin, cover each cell of the page."""
    shape = (int(np.ceil(page.height / cell)) + 1, int(np.ceil(page.width / cell)) + 1)
    # corners of a box add and subtract one; summing up both ways fills the boxes, however many there are
    steps = np.zeros((shape[0] + 1, shape[1] + 1), dtype=np.int32)
    x0, y0, x1, y1 = _cells(boxes + np.array([-margin, -margin, margin, margin]), shape, cell)
    np.add.at(steps, (y0, x0), 1)
    np.add.at(steps, (y1, x1), 1)
    np.add.at(steps, (y0, x1), -1)
    np.add.at(steps, (y1, x0), -1)
    counts = steps.cumsum(axis=0, dtype=steps.dtype).cumsum(axis=1, dtype=steps.dtype)
    return counts[: shape[0], : shape[1]]


def _joined(boxes: np.ndarray, page: Page) -> np.ndarray:
    """Number of the cluster that each box falls into, from 1."""
    mask = _painted(boxes, page, CELL, CELL) > 0
    components, _ = ndimage.label(mask)
    x0, y0, x1, y1 = _cells(boxes, mask.shape, CELL)
    return components[(y0 + y1 - 1) // 2, (x0 + x1 - 1) // 2]


# --- zones ------------------------------------------------------------------------------------------------------------


def _claim(page: PageLayout, caption: Caption, captions: Sequence[Caption], body: np.ndarray) -> _Claim:
    """The strips in which a caption's graphic may lie, by side, and what bounds them: body text and other captions."""
    others = np.array([c.bbox for c in captions if c is not caption], dtype=float).reshape(-1, 4)
    barriers = np.concatenate([page.boxes[body], others])
    zones = _zones(page, caption, _sides(page, caption, barriers), barriers)
    return _Claim(caption, zones, np.concatenate([barriers, [caption.bbox]]), _between_rules(page, caption, captions))


def _widen(claim: _Claim, page: PageLayout, free: Sequence[_Cluster]) -> None:
    """Look for the graphic of a caption that has none over the whole width of the text.

    A short caption that does not stand in the middle of its graphic tells nothing of how wide that is.
    """
    if _fit(claim.caption.kind, claim.clusters) >= 1 or claim.enclosed:
        return
    left, right = page.columns[-1] if page.columns else (0.0, page.page.width)
    zones = _zones(page, claim.caption, (left, right), claim.barriers[:-1])
    near: dict[Side, list[_Cluster]] = {side: _near(zones[side], side, free) for side in ("above", "below")}
    fits = {side: _fit(claim.caption.kind, near[side]) for side in near}
    side = max(fits, key=lambda side: fits[side])
    if fits[side] >= 1:
        claim.zones, claim.clusters, claim.side, claim.usual = zones, near[side], side, False


def _zones(page: PageLayout, caption: Caption, sides: tuple[float, float], barriers: np.ndarray) -> dict[Side, Rect]:
    """The strips between two sides above and below a caption, up to the next barrier, and its row."""
    left, right = sides
    _, y0, _, y1 = caption.bbox
    overlap = np.minimum(barriers[:, 2], right) - np.maximum(barriers[:, 0], left)
    crossing = barriers[overlap > np.minimum(12.0, 0.5 * (barriers[:, 2] - barriers[:, 0]))]
    above = crossing[crossing[:, 3] < y0 + EDGE, 3]
    below = crossing[crossing[:, 1] > y1 - EDGE, 1]
    column = page.columns[-1] if page.columns else (0.0, page.page.width)
    return {
        "above": (left, max(above, default=0.0), right, y0),
        "below": (left, y1, right, min(below, default=page.page.height)),
        "beside": (column[0], y0, column[1], y1),
    }


def _sides(page: PageLayout, caption: Caption, barriers: np.ndarray) -> tuple[float, float]:
    """Left and right edge of a caption's zones.

    A caption in the middle of its column stands under a graphic that may be as wide as the column. One that stands
    off the middle belongs to a box of its own, as wide to its left as to its right: side-by-side figures.
    """
    x0, y0, x1, y1 = caption.bbox
    left, right = page.column_of(caption.bbox)
    middle = (x0 + x1) / 2
    if x0 - left > 2 * EDGE and caption.kind in ("figure", "table"):
        half = max(min(middle - left, right - middle), (x1 - x0) / 2)
        left, right = middle - half, middle + half
    level = barriers[(np.minimum(barriers[:, 3], y1) - np.maximum(barriers[:, 1], y0)) > EDGE]
    lefts = level[level[:, 2] < x0 + EDGE, 2]
    rights = level[level[:, 0] > x1 - EDGE, 0]
    left = max(left, max(lefts, default=left))
    right = min(right, min(rights, default=right))
    return min(left, x0), max(right, x1)


def _divided(clusters: list[_Cluster], claims: Sequence[_Claim], habits: dict[str, float]) -> list[_Cluster]:
    """Divide the clusters that grew together over the usual zones of two captions that stand side by side."""
    for one in claims:
        for two in claims:
            level = min(one.caption.bbox[3], two.caption.bbox[3]) - max(one.caption.bbox[1], two.caption.bbox[1])
            if level <= 0 or one.caption.bbox[2] > two.caption.bbox[0]:
                continue
            side: Side = "above" if habits[one.caption.kind] >= 0 else "below"
            left, right = one.zones[side], two.zones[side]
            both = [c for c in clusters if _reaches(c, left) and _reaches(c, right)]
            parts = [part for c in both for part in _split(c, (left[2] + right[0]) / 2)]
            clusters = [c for c in clusters if c not in both] + parts
    return clusters


def _reaches(cluster: _Cluster, zone: Rect) -> bool:
    """Whether a cluster covers much of a zone's width, and lies at its height."""
    across = min(cluster.box[2], zone[2]) - max(cluster.box[0], zone[0])
    along = min(cluster.box[3], zone[3]) - max(cluster.box[1], zone[1])
    return across > 0.4 * (zone[2] - zone[0]) and along > 0.6 * (cluster.box[3] - cluster.box[1])


def _split(cluster: _Cluster, middle: float) -> list[_Cluster]:
    """A cluster's parts left and right of a line; rules and words across it are of neither, a picture is of both."""
    across = (cluster.boxes[:, 0] < middle - EDGE) & (cluster.boxes[:, 2] > middle + EDGE)
    left = ~across & (cluster.boxes[:, 0] + cluster.boxes[:, 2] < 2 * middle)
    right = ~across & ~left
    if (across & (cluster.kinds == PICTURE)).any() or not left.any() or not right.any():
        return [cluster]
    return [_Cluster(cluster.boxes[side], cluster.kinds[side]) for side in (left, right)]


# --- who owns what ----------------------------------------------------------------------------------------------------


def _in_zone(cluster: _Cluster, zone: Rect) -> bool:
    """Whether a cluster lies in a zone: most of its width and of its height."""
    x0, y0, x1, y1 = cluster.box
    across = min(x1, zone[2]) - max(x0, zone[0])
    along = min(y1, zone[3] + EDGE) - max(y0, zone[1] - EDGE)
    return across > 0.55 * (x1 - x0) and along > 0.6 * (y1 - y0)


def _near(zone: Rect, side: Side, clusters: Sequence[_Cluster]) -> list[_Cluster]:
    """The clusters of a zone, from the caption outwards to the first wide empty band."""
    inside = [c for c in clusters if _in_zone(c, zone)]
    if side == "below":
        inside.sort(key=lambda c: c.box[1])
        edge = zone[1]
    else:
        inside.sort(key=lambda c: -c.box[3])
        edge = zone[3]
    chosen = []
    for cluster in inside:
        gap = cluster.box[1] - edge if side == "below" else edge - cluster.box[3]
        if gap > REACH:
            break
        chosen.append(cluster)
        edge = max(edge, cluster.box[3]) if side == "below" else min(edge, cluster.box[1])
    return chosen


def _fit(kind: str, clusters: Sequence[_Cluster]) -> float:
    """How well clusters can be the body of a float of a kind: 0 not at all, 2 as usual.

    Figures are pictures, else set between rules, at worst loose words. Tables, algorithms and listings are text,
    mostly with rules, seldom pictures.
    """
    if not clusters:
        return 0.0
    graphic, ruled = any(c.graphic for c in clusters), any(c.ruled for c in clusters)
    if kind == "figure":
        return 2.0 if graphic else 1.0 if ruled else 0.5
    return 2.0 if ruled and not all(c.graphic for c in clusters) else 1.0 if graphic else 1.5


def _habits(pages: Sequence[tuple[list[_Cluster], list[_Claim]]]) -> dict[str, float]:
    """On which side of its captions the paper sets each kind, -2 (below) .. 2 (above).

    Counted over the captions that leave no doubt; with none the usual side counts a little.
    """
    votes: dict[str, list[int]] = {"figure": [], "table": [], "algorithm": [], "listing": []}
    for clusters, claims in pages:
        for claim in claims:
            kind = claim.caption.kind
            above, below = (_fit(kind, _near(claim.zones[side], side, clusters)) >= 1 for side in ("above", "below"))
            if above != below:
                votes[kind].append(1 if above else -1)
    usual = {"figure": 1.0, "table": -0.5, "algorithm": -4.0, "listing": 0.5}
    return {
        kind: float(np.clip(prior + 2.0 * sum(cast) / (1 + len(cast)), -2.0, 2.0))
        for (kind, cast), prior in zip(votes.items(), usual.values(), strict=True)
    }


def _settle(claims: Sequence[_Claim], clusters: Sequence[_Cluster], habits: dict[str, float]) -> None:
    """Give every cluster of a page to at most one caption.

    Each takes the side that fits it best; what two of them want is divided; who is left with nothing takes what nobody
    has on his other side.
    """
    usual: dict[str, Side] = {kind: "above" if habit >= 0 else "below" for kind, habit in habits.items()}
    expected = [_near(claim.zones[usual[claim.caption.kind]], usual[claim.caption.kind], clusters) for claim in claims]
    for k, claim in enumerate(claims):
        kind = claim.caption.kind
        near: dict[Side, list[_Cluster]] = {s: _near(claim.zones[s], s, clusters) for s in ("above", "below")}
        fits = {side: _fit(kind, near[side]) for side in near}
        wanted = {id(c) for other in expected[:k] + expected[k + 1 :] for c in other}
        beside = [c for c in clusters if _beside(claim, c) and id(c) not in wanted]
        if beside and all(_fit(kind, [c for c in near[s] if id(c) not in wanted]) < 1.0 for s in near):
            core = _union([c.box for c in beside])
            words = [c for c in clusters if not c.graphic and id(c) not in wanted and _belongs(c.box, core, "beside")]
            claim.side, claim.usual, claim.clusters = "beside", False, beside + words
            continue
        lead = {"above": habits[kind], "below": -habits[kind]}
        claim.side = max(fits, key=lambda side: (fits[side] > 0, fits[side] + lead[side]))
        claim.usual = lead[claim.side] >= 0
        claim.clusters = near[claim.side]
    for i, one in enumerate(claims):
        for two in claims[i + 1 :]:
            if any(c in two.clusters for c in one.clusters):
                _share(one, two)
    for claim in claims:
        if not claim.clusters:
            claim.side, claim.usual = ("below" if claim.side == "above" else "above"), False
            claim.clusters = _near(claim.zones[claim.side], claim.side, _free(clusters, claims))


def _beside(claim: _Claim, cluster: _Cluster) -> bool:
    """Whether a graphic stands next to a caption, within the text and around its height."""
    zone, box = claim.zones["beside"], cluster.box
    level = min(box[3], zone[3]) - max(box[1], zone[1])
    apart = box[2] < claim.caption.bbox[0] + EDGE or box[0] > claim.caption.bbox[2] - EDGE
    inside = zone[0] - 2 * EDGE < box[0] and box[2] < zone[2] + 2 * EDGE
    return cluster.graphic and apart and inside and level > 0.5 * min(zone[3] - zone[1], box[3] - box[1])


def _share(one: _Claim, two: _Claim) -> None:
    """Divide the clusters that two captions both reach."""
    common = [c for c in one.clusters if c in two.clusters]
    if {one.side, two.side} == {"above", "below"}:
        upper, lower = (one, two) if one.side == "below" else (two, one)
        stack = sorted(common, key=lambda c: c.box[1] + c.box[3])
        cut = _cut(upper.caption, lower.caption, stack)
        upper.clusters = [c for c in upper.clusters if c not in stack[cut:]]
        lower.clusters = [c for c in lower.clusters if c not in stack[:cut]]
        return
    for cluster in common:
        first, second = (_overlap(cluster.box, c.zones[c.side]) for c in (one, two))
        (two if first >= second else one).clusters.remove(cluster)


def _cut(upper: Caption, lower: Caption, stack: Sequence[_Cluster]) -> int:
    """How many of the clusters between two captions belong to the upper one.

    The widest empty band divides them, unless that leaves a caption with nothing or with what its kind is not made of.
    """
    edges = [upper.bbox[3], *np.maximum.accumulate([c.box[3] for c in stack])]
    tops = [*(c.box[1] for c in stack), lower.bbox[1]]
    score = [
        tops[k] - edges[k] + REACH * (_fit(upper.kind, stack[:k]) + _fit(lower.kind, stack[k:]))
        for k in range(len(stack) + 1)
    ]
    return int(np.argmax(score))


def _overlap(a: Rect, b: Rect) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


# --- the region -------------------------------------------------------------------------------------------------------


def _region(claim: _Claim, page: PageLayout, loose: Sequence[_Cluster]) -> Region | Problem:
    """The region of a settled claim; ``loose`` are the page's clusters that no caption has."""
    caption, side = claim.caption, claim.side
    bodies = [c for c in claim.clusters if c.graphic] or [c for c in claim.clusters if c.ruled]
    method = "graphics" if any(c.graphic for c in bodies) else "rules" if bodies else "text"
    bodies = bodies or list(claim.clusters)
    if caption.kind in ("algorithm", "listing") and claim.enclosed:
        return Region(caption.page, claim.enclosed, "rules-below-caption", CONFIDENCE["rules"], subcaptions=False)
    if not bodies:
        return _none(caption, "no graphic found above, below or beside its caption")
    core = _union([c.box for c in bodies])
    words = [c.box for c in claim.clusters if c not in bodies]
    # a figure that is wider than the text may have its row labels in the margin, where no zone is
    left, right = page.columns[-1] if page.columns else (0.0, page.page.width)
    outside = [
        c.box
        for c in loose
        if (c.box[2] < left + EDGE and core[0] < left - EDGE) or (c.box[0] > right - EDGE and core[2] > right + EDGE)
    ]
    box = _clipped(_grown(core, words, outside, side), claim)
    if min(box[2] - box[0], box[3] - box[1]) < MIN_SIDE:
        return _none(caption, f"nothing larger than {MIN_SIDE:.0f} points found {side} its caption")
    return Region(
        page=caption.page,
        bbox=_floats(box),
        method=f"{method}-{side}-caption",
        confidence=round(CONFIDENCE[method] - (0.0 if claim.usual else UNUSUAL), 2),
        subcaptions=any(_SUBCAPTION.match(line.text) and _overlap(line.bbox, box) for line in page.page.lines),
    )


def _on_neighbouring_page(caption: Caption, pages: Sequence[PageLayout]) -> Region | None:
    """The graphic of a caption without one, where the page before or after it holds nothing but graphics."""
    for step, name in ((-1, "previous"), (1, "next")):
        for page in pages:
            if page.page.number != caption.page + step or (page.roles == Role.BODY).sum() > FEW_LINES:
                continue
            clusters = _clusters(page, page.roles != Role.OTHER)
            if any(cluster.graphic for cluster in clusters):
                box = _union([cluster.box for cluster in clusters])
                confidence = round(CONFIDENCE["graphics"] - 2 * UNUSUAL, 2)
                return Region(page.page.number, _floats(box), f"graphics-{name}-page", confidence, subcaptions=False)
    return None


def _floats(box: Rect) -> Rect:
    x0, y0, x1, y1 = map(float, box)
    return x0, y0, x1, y1


def _none(caption: Caption, why: str) -> Problem:
    return Problem(code="no-region", message=f"{caption.label}, page {caption.page}: {why}", page=caption.page)


def _grown(box: Rect, words: Sequence[Rect], outside: Sequence[Rect], side: Side) -> Rect:
    """A graphic together with the loose text that is part of it, and with its labels in the margin."""
    while True:
        near = {b for b in words if _beside_graphic(b, box) or _belongs(b, box, side)}
        labels = {b for b in outside if _beside_graphic(b, box)}
        if not near and not labels:
            return box
        box = _union([box, *near, *labels])
        words = [b for b in words if b not in near]
        outside = [b for b in outside if b not in labels]


def _clipped(box: Rect, claim: _Claim) -> Rect:
    """Cut off what reaches over a neighbouring line of text or caption: empty margins of pictures do."""
    x0, y0, x1, y1 = box
    for a0, b0, a1, b1 in claim.barriers:
        across, along = min(x1, a1) - max(x0, a0), min(y1, b1) - max(y0, b0)
        if across <= EDGE / 2 or along <= EDGE / 2:
            continue
        a0, b0, a1, b1 = a0 - CLEARANCE, b0 - CLEARANCE, a1 + CLEARANCE, b1 + CLEARANCE
        # (what is lost, the box that is left) for a cut at each side
        cuts = [
            ((b1 - y0) / (y1 - y0), (x0, b1, x1, y1)),
            ((y1 - b0) / (y1 - y0), (x0, y0, x1, b0)),
            ((a1 - x0) / (x1 - x0), (a1, y0, x1, y1)),
            ((x1 - a0) / (x1 - x0), (x0, y0, a0, y1)),
        ]
        loss, cut = min(cuts)
        if loss < MAX_CUT:
            x0, y0, x1, y1 = cut
    return x0, y0, x1, y1


def _beside_graphic(text: Rect, box: Rect) -> bool:
    """Whether something stands to the left or right of a graphic like a row label."""
    across = min(text[2], box[2]) - max(text[0], box[0])
    along = min(text[3], box[3]) - max(text[1], box[1])
    return along > 0.5 * (text[3] - text[1]) and -across < LABEL_REACH


def _belongs(text: Rect, box: Rect, side: Side) -> bool:
    """Whether loose text is part of the graphic: within it, above or below it, or between it and its caption."""
    across = min(text[2], box[2]) - max(text[0], box[0])
    along = min(text[3], box[3]) - max(text[1], box[1])
    if across > 0 and along > 0:
        return True
    if (side == "above" and text[1] > box[3] - EDGE) or (side == "below" and text[3] < box[1] + EDGE):
        return True
    return across > 0.5 * (text[2] - text[0]) and -along < TITLE_REACH


def _union(boxes: Sequence[Rect]) -> Rect:
    return (
        min(b[0] for b in boxes),
        min(b[1] for b in boxes),
        max(b[2] for b in boxes),
        max(b[3] for b in boxes),
    )
