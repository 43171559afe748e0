"""Which of the gold's sources a response mentions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scorer.metrics.base import MetricKind
from scorer.parameters import GoldList, Share, Words
from scorer.reference import Answer, Attempt, Judged, ascii_shape, overlap, tokens, words

_CENTURY = re.compile(r"\b(19|20)[0-9]{2}\b", re.ASCII)


@dataclass(frozen=True)
class SourceJudged:
    """Evidence: one source of the gold, and what of it the response holds."""

    source: str
    mentioned: bool
    shared_tokens: tuple[str, ...]
    overlap: float
    names_held: tuple[str, ...]
    centuries_held: tuple[str, ...]


@dataclass(frozen=True)
class SourceRecall(MetricKind):
    """The share of the gold's sources that are mentioned; 1 where the gold list is empty."""

    gold: GoldList
    overlap: Share
    """The overlap of response and source from which the source counts as mentioned."""
    no_names: Words
    """Words of a source that are nobody's name."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        judged = tuple(
            self._judge(attempt.answer, source) for source in attempt.gold.get(self.gold, ()) if source.strip()
        )
        value = sum(each.mentioned for each in judged) / len(judged) if judged else 1.0
        return Judged(value, judged)

    def _judge(self, answer: Answer, source: str) -> SourceJudged:
        wanted = tokens(source)
        share = overlap(answer.tokens, wanted)
        names = tuple(name for name in sorted(words(source) - set(self.no_names)) if name in answer.lowered)
        centuries = tuple(century for century in sorted(set(find_centuries(source))) if century in answer.text)
        mentioned = share >= self.overlap or bool(names and centuries)
        return SourceJudged(source, mentioned, tuple(sorted(answer.tokens & wanted)), share, names, centuries)


def find_centuries(source: str) -> list[str]:
    """Return `19` or `20` for each year of those centuries in the source."""
    return _CENTURY.findall(ascii_shape(source))
