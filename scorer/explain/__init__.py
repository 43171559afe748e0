"""Why an attempt has the values that it has: what was read out of it, what decided each metric, and where it stands."""

from scorer.explain.data import Explanation, MetricExplained, ReadOut, ScorerExplained
from scorer.explain.explainer import Explainer
from scorer.explain.judgements import Criterion, Judgement
from scorer.explain.marks import Mark
from scorer.explain.reasons import Reason

__all__ = [
    "Criterion",
    "Explainer",
    "Explanation",
    "Judgement",
    "Mark",
    "MetricExplained",
    "ReadOut",
    "Reason",
    "ScorerExplained",
]
