"""Statistics over scores: summaries with honest intervals, paired comparisons, repeats, judges' agreement.

Every function takes a `Data` (scores, and by key what explains them) and gives Polars frames. The queries are in sql/.
"""

from scorer.aggregate.compare import Comparison, compare
from scorer.aggregate.data import Data
from scorer.aggregate.mcnemar import RISK_INTERVALS
from scorer.aggregate.sources import open_scores
from scorer.aggregate.summary import INTERVALS, summary

__all__ = ["INTERVALS", "RISK_INTERVALS", "Comparison", "Data", "compare", "open_scores", "summary"]
