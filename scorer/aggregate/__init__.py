"""Statistics over scores: summaries with honest intervals, paired comparisons, repeats, judges' agreement.

Every function takes a `Data` (scores, and by key what explains them) and gives Polars frames. The queries are in sql/.
"""

from scorer.aggregate.agreement import against_labels, agreement
from scorer.aggregate.compare import Comparison, compare
from scorer.aggregate.data import Data
from scorer.aggregate.gate import Gate, gate
from scorer.aggregate.mcnemar import RISK_INTERVALS
from scorer.aggregate.planning import Aim, Plan, plan
from scorer.aggregate.repeats import reliability, variance
from scorer.aggregate.sources import open_scores
from scorer.aggregate.summary import INTERVALS, summary

__all__ = [
    "INTERVALS",
    "RISK_INTERVALS",
    "Aim",
    "Comparison",
    "Data",
    "Gate",
    "Plan",
    "against_labels",
    "agreement",
    "compare",
    "gate",
    "open_scores",
    "plan",
    "reliability",
    "summary",
    "variance",
]
