"""The report: one page that shows every figure with its evidence, its scores and its gold."""

from scifigqual_bench.report.write import ReportCounts, write_report

__all__ = ["ReportCounts", "write_report"]
