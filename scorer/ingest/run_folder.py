"""A run folder: manifest.json and one response artifact an attempt. A fault of one artifact is that attempt's alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scorer.errors import InputError, Problem
from scorer.ingest.sources import FAULT, Names, Piece, Rows, RunFacts
from scorer.ingest.text import UnreadableError, keep_surrogates, parse_json, type_name

MANIFEST = "manifest.json"
_COMPLETED = "completed"


class RunFolder:
    """The attempts that a manifest lists, in its order, each with the response of its first artifact."""

    def __init__(self, folder: Path, names: Names) -> None:
        """Read the manifest. Raises InputError with everything wrong in it."""
        self.folder, self.names = folder, names
        self.name = str(folder / MANIFEST)
        manifest = _read_manifest(folder / MANIFEST)
        self.attempts: list[Any] = manifest["attempts"]
        self.facts = RunFacts(
            run_id=manifest.get("run_id"),
            mode=manifest.get("run_mode"),
            created_at=manifest.get("created_at"),
            environment=manifest.get("environment"),
            notes=manifest.get("notes"),
            systems=tuple(manifest["baselines"]) if "baselines" in manifest else None,
            folder=folder,
        )

    def pieces(self) -> Iterator[Piece]:
        """Yield the attempts in the manifest's order."""
        rows = Rows(self.name, self.names)
        inside = self.folder.resolve()
        for number, entry in enumerate(self.attempts, 1):
            found = self._artifact(entry, inside, rows.problems) if isinstance(entry, dict) else {}
            rows.add(f"attempts[{number - 1}]", entry, found)
            if rows.full:
                yield rows.take()
        yield rows.take()

    def _artifact(self, entry: Mapping[str, Any], inside: Path, problems: list[Problem]) -> dict[str, str | None]:
        """Return the response of a completed attempt, or the fault that keeps it from being read."""
        if entry.get("status", _COMPLETED) != _COMPLETED:
            return {}
        artifacts = entry.get("artifacts")
        first = artifacts[0] if isinstance(artifacts, list) and artifacts else None
        if not first:
            return {FAULT: "no artifact"}
        if not isinstance(first, str):
            return {FAULT: f"the artifact's path is no text but {type_name(first)}"}
        path = keep_surrogates(first)
        try:
            artifact = _read_artifact(self.folder / first, inside)
        except UnreadableError as error:
            return {FAULT: f"artifact {path} {error}", "output_path": path}
        self._check_id(entry, artifact, first, problems)
        response = artifact.get("response")
        if not isinstance(response, str | None):
            return {FAULT: f"the response is no text but {type_name(response)}", "output_path": path}
        return {"response": keep_surrogates(response or ""), "output_path": path}

    def _check_id(
        self, entry: Mapping[str, Any], artifact: Mapping[str, Any], path: str, problems: list[Problem]
    ) -> None:
        said, expected = artifact.get("attempt_id"), entry.get("attempt_id")
        if said is not None and said != expected:
            message = f"belongs to attempt {said!r}, the manifest gives it to {expected!r}; correct one of them"
            problems.append(Problem(str(self.folder / path), "attempt_id", message))


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = parse_json(path.read_bytes())
    except UnreadableError as error:
        raise InputError([Problem(str(path), "", str(error))]) from None
    except OSError as error:
        raise InputError([Problem(str(path), "", f"cannot be read: {error.strerror}")]) from None
    if not isinstance(manifest, dict):
        raise InputError([Problem(str(path), "", f"must be a JSON object, this is {type_name(manifest)}")])
    if problems := list(_manifest_problems(str(path), manifest)):
        raise InputError(problems)
    return manifest


def _manifest_problems(source: str, manifest: Mapping[str, Any]) -> Iterator[Problem]:
    attempts = manifest.get("attempts")
    if not isinstance(attempts, list):
        yield Problem(source, "attempts", f"must be the list of attempts, this is {type_name(attempts)}")
    for key in ("run_id", "run_mode", "created_at", "notes"):
        if not isinstance(manifest.get(key), str | None):
            yield Problem(source, key, f"must be text, this is {type_name(manifest[key])}")
    if not isinstance(manifest.get("environment"), dict | None):
        yield Problem(source, "environment", f"must be an object, this is {type_name(manifest['environment'])}")
    systems = manifest.get("baselines", [])
    if not isinstance(systems, list) or not all(isinstance(name, str) for name in systems):
        yield Problem(source, "baselines", "must be a list of texts")


def _read_artifact(path: Path, inside: Path) -> dict[str, Any]:
    """Return the artifact's object; raise UnreadableError for whatever is wrong with the file, links out included."""
    try:
        resolved = path.resolve()
        if not resolved.is_relative_to(inside):
            raise UnreadableError("lies outside the run folder")
        if not resolved.exists():
            raise UnreadableError("is missing")
        if not resolved.is_file():
            raise UnreadableError("is no file")
        value = parse_json(resolved.read_bytes())
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror}") from None
    except UnreadableError:
        raise
    except (ValueError, RuntimeError):  # a NUL or a lone surrogate in the path; links in a circle
        raise UnreadableError("has a path that no file can have") from None
    if not isinstance(value, dict):
        raise UnreadableError(f"is no JSON object but {type_name(value)}")
    return value
