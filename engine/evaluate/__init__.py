"""Measuring retrieval against questions whose gold is known."""

from .compare import Comparison, Interval, compare, paired_bootstrap
from .judgements import read_judgements
from .queries import EvaluationQuery, GoldSpan, read_queries
from .retrieval import RetrievalReport, Searcher, StageTime, evaluate_retrieval

__all__ = [
    "Comparison",
    "EvaluationQuery",
    "GoldSpan",
    "Interval",
    "RetrievalReport",
    "Searcher",
    "StageTime",
    "compare",
    "evaluate_retrieval",
    "paired_bootstrap",
    "read_judgements",
    "read_queries",
]
