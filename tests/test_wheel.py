"""The wheel holds what git holds, and runs outside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPO

PACKAGED = {"scorer": "scorer", "sql": "scorer/sql", "datasets": "scorer/datasets"}
"""Where the folders of the checkout stand in the wheel."""

pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from what git knows of the checkout."""
    place = tmp_path_factory.mktemp("wheel")
    checkout = place / "checkout"
    for name in tracked():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_bytes((REPO / name).read_bytes())
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place / "dist", checkout]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = (place / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that the wheel is installed in, without its dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder, wheel]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def tracked() -> list[str]:
    """Return the names of the files that git knows and that are still there."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (REPO / name).is_file()]


def run_installed(installed: Path, *arguments: object, cwd: Path) -> str:
    """Run the installed command line in `cwd` and return what it prints."""
    ended = subprocess.run(
        [sys.executable, "-m", "scorer", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_wheel_holds_the_package_the_queries_and_the_packs_and_nothing_else(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tops = {name: name.split("/", 1) for name in tracked()}
    expected = {f"{PACKAGED[top]}/{rest[0]}" for top, *rest in tops.values() if top in PACKAGED}
    assert held == expected


def test_the_installed_tool_runs_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    where = "import scorer, scorer.assets as a; print(scorer.__file__, a.sql_folder(), a.datasets_folder())"
    paths = subprocess.run(
        [sys.executable, "-c", where],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    assert all(Path(path).is_relative_to(installed) for path in paths), paths
    sample = installed / "scorer" / "datasets" / "eduevidence" / "sample"
    run_installed(installed, "score", sample, "--pack", "eduevidence", "--out", "store", cwd=tmp_path)
    assert "SIMULATED" in run_installed(installed, "report", "store", cwd=tmp_path)
    assert "eduevidence" in run_installed(installed, "packs", cwd=tmp_path)
