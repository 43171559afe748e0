"""scorer: batch scoring of stored model and agent answers, with honest statistics.

    scorer.score(places, pack, out)     attempts scored into a store
    scorer.compare(source)              systems compared, paired by question
    scorer.open(store)                  a store's tables as lazy frames, reports, SQL

What they need is imported when one of them is asked for, so `import scorer` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorer.api import Comparison, Data, OpenStore, compare, score
    from scorer.api import open_store as open  # noqa: A004

__version__ = "0.1.0"

__all__ = ["Comparison", "Data", "OpenStore", "__version__", "compare", "open", "score"]

_NAMES_IN_API = {"Comparison": "Comparison", "Data": "Data", "OpenStore": "OpenStore"} | {
    "compare": "compare",
    "open": "open_store",
}


def __getattr__(name: str) -> Any:
    if name not in _NAMES_IN_API:
        raise AttributeError(f"module 'scorer' has no attribute {name!r}")
    return getattr(import_module("scorer.api"), _NAMES_IN_API[name])


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """The class of this package: its function `score` stands where Python would put the module of that name."""

    @property
    def score(self) -> Any:
        """Score attempts into a store: see `scorer.pipeline.score`."""
        return import_module("scorer.api").score

    @score.setter
    def score(self, module: ModuleType) -> None:
        """Leave the module to `from scorer.score import …`."""


sys.modules[__name__].__class__ = _Package
