"""What pages and pictures need beside the package itself: the extra `report`."""

from __future__ import annotations

from importlib.util import find_spec

from scorer.errors import UsageError

_MODULES = {"altair": "altair", "jinja2": "Jinja2", "vl_convert": "vl-convert-python"}


def require_extra() -> None:
    """Raise UsageError, with what to install, where a package of the extra is missing."""
    missing = [name for module, name in _MODULES.items() if find_spec(module) is None]
    if missing:
        raise UsageError(f"pages and pictures need {' and '.join(missing)}: pip install 'scorer[report]'")
