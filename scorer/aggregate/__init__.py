"""Statistics over scores: summaries with honest intervals, paired comparisons, repeats, judges' agreement.

Every function takes a `Data` (scores, and by key what explains them) and gives Polars frames. The queries are in sql/.
"""

from scorer.aggregate.data import Data
from scorer.aggregate.summary import INTERVALS, summary

__all__ = ["INTERVALS", "Data", "summary"]
