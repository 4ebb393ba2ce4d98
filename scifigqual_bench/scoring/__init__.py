"""Scoring: NumPy in, numbers out (SPEC 5 and 6). Needs neither a model nor the data set library."""

from scifigqual_bench.scoring.agreement import STATISTICS, TOLERANCE, Agreement, Estimate, agreement
from scifigqual_bench.scoring.align import check_rows, check_scores
from scifigqual_bench.scoring.ceilings import BesideRaters, Ceiling, CeilingReport, ceilings
from scifigqual_bench.scoring.comparison import Comparison, Difference, compare
from scifigqual_bench.scoring.errors import InputProblem, ScoringInputError
from scifigqual_bench.scoring.report import Report, score
from scifigqual_bench.scoring.slices import standard_groupings
from scifigqual_bench.scoring.tables import format_table, to_csv, to_markdown

__all__ = [
    "STATISTICS",
    "TOLERANCE",
    "Agreement",
    "BesideRaters",
    "Ceiling",
    "CeilingReport",
    "Comparison",
    "Difference",
    "Estimate",
    "InputProblem",
    "Report",
    "ScoringInputError",
    "agreement",
    "ceilings",
    "check_rows",
    "check_scores",
    "compare",
    "format_table",
    "score",
    "standard_groupings",
    "to_csv",
    "to_markdown",
]
