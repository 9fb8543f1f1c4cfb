"""Measuring retrieval against questions whose gold is known."""

from .compare import Comparison, Interval, compare, paired_bootstrap
from .queries import EvaluationQuery, GoldSpan, read_queries
from .retrieval import RetrievalReport, StageTime, evaluate_retrieval

__all__ = [
    "Comparison",
    "EvaluationQuery",
    "GoldSpan",
    "Interval",
    "RetrievalReport",
    "StageTime",
    "compare",
    "evaluate_retrieval",
    "paired_bootstrap",
    "read_queries",
]
