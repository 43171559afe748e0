"""Where sql/ and datasets/ are: inside the package in a wheel, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _folder(name: str) -> Path:
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def sql_folder() -> Path:
    """Return the folder of the named queries, one `.sql` file each."""
    return _folder("sql")


def datasets_folder() -> Path:
    """Return the folder of the built-in packs, one subfolder each."""
    return _folder("datasets")
