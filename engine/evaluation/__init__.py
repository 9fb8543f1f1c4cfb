"""Measuring retrieval against questions whose gold is known."""

from .datasets import EvaluationQuery, GoldSpan, read_judgements, read_queries
from .retrieval import (
    Comparison,
    Interval,
    RetrievalReport,
    Searcher,
    StageTime,
    compare_evaluations,
    evaluate_retrieval,
    paired_bootstrap,
)

__all__ = [
    "Comparison",
    "EvaluationQuery",
    "GoldSpan",
    "Interval",
    "RetrievalReport",
    "Searcher",
    "StageTime",
    "compare_evaluations",
    "evaluate_retrieval",
    "paired_bootstrap",
    "read_judgements",
    "read_queries",
]
