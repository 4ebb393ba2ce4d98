"""The colours of the page, read from its style sheet: enough contrast, and a scale that everyone can tell apart."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

# Full dichromacy in linear RGB: Machado, Oliveira and Fernandes 2009, severity 1.0.
VISIONS = {
    "typical": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TONES = [f"tone-{tone}" for tone in range(1, 6)]


def schemes() -> dict[str, dict[str, np.ndarray]]:
    """Linear RGB of every colour of the light and the dark scheme."""
    sheet = (files("scifigqual_bench.report") / "page.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", sheet, re.S)
    return {
        name: {key: linear(code) for key, code in re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)}
        for name, block in zip(("light", "dark"), blocks, strict=True)
    }


def linear(code: str) -> np.ndarray:
    encoded = np.array([int(code[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def contrast(a: np.ndarray, b: np.ndarray) -> float:
    """Contrast ratio of WCAG 2, 1..21."""
    dark, light = sorted(float(colour @ [0.2126, 0.7152, 0.0722]) for colour in (a, b))
    return (light + 0.05) / (dark + 0.05)


def lab(colour: np.ndarray) -> np.ndarray:
    """CIE L*a*b* under D65."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ colour / [0.9505, 1.0, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_marks_stand_out_from_what_is_behind_them(scheme):
    colours = schemes()[scheme]
    for background in ("surface", "ground"):
        for text in ("ink", "soft", "link", "warn"):
            assert contrast(colours[text], colours[background]) >= 4.5, (text, background)
        assert contrast(colours["focus"], colours[background]) >= 3
    assert contrast(colours["ink"], colours["mark"]) >= 4.5
    for tone in TONES:
        assert contrast(colours[tone], colours["surface"]) >= 3, tone


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_any_two_tones_of_the_scale_can_be_told_apart(scheme, vision):
    colours = schemes()[scheme]
    seen = {tone: lab(np.clip(np.array(VISIONS[vision]) @ colours[tone], 0, 1)) for tone in TONES}
    for a, b in combinations(TONES, 2):
        assert np.linalg.norm(seen[a] - seen[b]) >= 20, (a, b)
