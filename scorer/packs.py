"""A benchmark as data: `pack.toml` and `lexicon.toml` read into frozen dataclasses, every mistake reported at once."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from scorer import assets
from scorer.errors import PackError, Problem, UsageError, nearest
from scorer.metrics import KINDS, MetricKind
from scorer.metrics.rubric import Criterion, Rubric, Terms
from scorer.parameters import Between, Checked, OneOf, Refers
from scorer.reference import READINGS, ReadingKind
from scorer.text import any_of_lowered

Made = TypeVar("Made")

_TYPE_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Tasks:
    """How the benchmark's file of questions maps to the tables tasks and strata."""

    id: str
    """The field that names the task."""
    prompt: str | None = None
    """The field that holds the question's text."""
    language: str | None = None
    strata: tuple[str, ...] = ()
    """The fields by which results are reported apart."""


@dataclass(frozen=True)
class Golds:
    """The form of one gold annotation."""

    id: str = "id"
    """The field that names the task; where it is absent, what `*` stands for in the file's name does."""
    files: str = "*.json"
    """The pattern of the files' names, with one `*`."""
    lists: tuple[str, ...] = ()
    """Fields that hold a list of texts."""
    texts: tuple[str, ...] = ()
    """Fields that hold one text."""
    separator: str | None = None
    """Where given, a list may be written as one text with this between its items, and an item as a number or a truth
    value; golds in CSV have no other way to write a list."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """The benchmark's own name -> the list field that it adds to, after what the field's own name gives."""


@dataclass(frozen=True)
class Reading:
    """Something that is read out of a response: a field of the table extracts."""

    name: str
    kind: str
    params: ReadingKind


@dataclass(frozen=True)
class Metric:
    """One metric of a pack: what computes it, and how its values are to be understood."""

    name: str
    kind: str
    params: MetricKind
    label: str
    """A short name for tables."""
    low: float
    high: float
    higher_is_better: bool
    decimals: int | None
    """Places that values are rounded to, half to even on the exact binary value; null for no rounding."""
    primary: bool


@dataclass(frozen=True)
class Pack:
    """One benchmark under one ruleset."""

    name: str
    title: str
    ruleset: str
    fields: Mapping[str, str]
    """The benchmark's own column name -> ours."""
    tasks: Tasks | None
    golds: Golds
    readings: tuple[Reading, ...]
    metrics: tuple[Metric, ...]
    rubric: Rubric | None = None
    """What a judge gives points for; a pack has metrics, a rubric, or both."""

    @property
    def scorer(self) -> str:
        """What stands as `scorer` in every row that this pack makes: pack and ruleset."""
        return f"{self.name}/{self.ruleset}"

    @property
    def strata(self) -> tuple[str, ...]:
        """The names of the strata; empty where the pack has none."""
        return self.tasks.strata if self.tasks else ()

    @property
    def text_rules(self) -> dict[str, dict[str, Any]]:
        """Normalisation steps and tokenizer of each metric that takes any, as JSON has them: for signatures."""
        rules: dict[str, dict[str, Any]] = {}
        for metric in self.metrics:
            for key in ("normalize", "tokenizer"):
                value = getattr(metric.params, key, None)
                if value is not None:
                    rules.setdefault(metric.name, {})[key] = list(value) if isinstance(value, tuple) else value
        return rules

    @property
    def hash(self) -> str:
        """SHA-256 of what the pack and its word lists say, independent of paths, comments and other rulesets."""
        content = json.dumps(asdict(self), ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()


def available() -> list[str]:
    """Return the names of the built-in packs, sorted."""
    return sorted(path.parent.name for path in assets.datasets_folder().glob("*/pack.toml"))


TEMPLATE = "qa"
"""The built-in pack that a new one starts as."""

_NEW_HEAD = """# Say here what is asked, and of whom. What your benchmark has no use for can go.
# `scorer packs DIR` shows what the pack computes, `scorer check DIR` what is wrong with it; SOURCE.md names sources.

name = {name}
title = {name}
default_ruleset = "v1"

# The names that columns have in your files, and what scorer calls them; scorer's own names always work.
"""

_NEW_SOURCE = """# Where this pack comes from

Say here where questions, references and word lists come from, under which licence, and which of the attempts that lie
beside the pack are simulated.

The sample is that of the pack `qa` until you put your own in its place: made up and **simulated**.
"""


def create(folder: Path) -> list[Path]:
    """Make a pack in `folder`, a copy of `qa` with its sample under the folder's name, and return its files.

    Raises UsageError where something stands there already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is there already; name a new or an empty folder")
    template = assets.datasets_folder() / TEMPLATE
    name = folder.resolve().name
    shutil.copytree(template, folder, dirs_exist_ok=True)
    text = (template / "pack.toml").read_text(encoding="utf-8")
    rules = text[text.index("[fields]") :].replace(f"{TEMPLATE}-v1", "v1")
    (folder / "pack.toml").write_text(_NEW_HEAD.format(name=json.dumps(name, ensure_ascii=False)) + rules, "utf-8")
    (folder / "SOURCE.md").write_text(_NEW_SOURCE, "utf-8")
    return sorted(path for path in folder.rglob("*") if path.is_file())


def word_lists(name_or_path: str | Path) -> Mapping[str, Any]:
    """Return a pack's word lists and word tables by name, as lexicon.toml has them."""
    path = _folder(name_or_path) / "lexicon.toml"
    return _read_toml(path, []) if path.exists() else {}


def load(name_or_path: str | Path, ruleset: str | None = None) -> Pack:
    """Load a built-in pack by name, or any pack by the path of its folder, under `ruleset` or the pack's default.

    Raises UsageError where there is no such pack or ruleset, PackError with every mistake where it does not load.
    """
    folder = _folder(name_or_path)
    problems: list[Problem] = []
    content = _read_toml(folder / "pack.toml", problems)
    lexicon = _read_toml(folder / "lexicon.toml", problems) if (folder / "lexicon.toml").exists() else {}
    if problems:
        raise PackError(problems)
    pack = _PackReader(content, lexicon, str(folder / "pack.toml"), problems).pack(ruleset)
    problems += _lexicon_problems(lexicon, str(folder / "lexicon.toml"))
    if problems or pack is None:
        raise PackError(problems)
    return pack


def rulesets(name_or_path: str | Path) -> list[str]:
    """Return the names of a pack's rulesets in the order of its file; none where it has a rubric only."""
    return list(_read_toml(_folder(name_or_path) / "pack.toml", []).get("rulesets", {}))


def _folder(name_or_path: str | Path) -> Path:
    built_in = assets.datasets_folder() / str(name_or_path)
    if str(name_or_path) in available():
        return built_in
    if (Path(name_or_path) / "pack.toml").is_file():
        return Path(name_or_path)
    hint = nearest(str(name_or_path), available())
    raise UsageError(f"no pack {str(name_or_path)!r}: neither built in nor a folder with a pack.toml{hint}")


def _read_toml(path: Path, problems: list[Problem]) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problems.append(Problem(str(path), "", f"cannot be read as TOML: {error}"))
        return {}


def _lexicon_problems(lexicon: Mapping[str, Any], source: str) -> list[Problem]:
    problems = []
    for key, value in lexicon.items():
        lists = value.items() if isinstance(value, dict) else [("", value)]
        for inner, words in lists:
            place = f"{key}.{inner}" if inner else key
            if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
                problems.append(Problem(source, place, "must be a list of texts, none of them empty"))
            elif not words and not inner:
                problems.append(Problem(source, place, "is empty; leave it out"))
            elif len(set(words)) < len(words):
                problems.append(Problem(source, place, "holds the same text twice"))
    return problems


class _PackReader:
    """Reads one parsed pack.toml, collecting what is wrong with it instead of stopping at the first mistake."""

    def __init__(
        self, content: dict[str, Any], lexicon: Mapping[str, Any], source: str, problems: list[Problem]
    ) -> None:
        self.content = content
        self.source = source
        self.problems = problems
        self.names: dict[str, Sequence[str]] = {
            "list": [key for key, value in lexicon.items() if isinstance(value, list)],
            "table": [key for key, value in lexicon.items() if isinstance(value, dict)],
        }
        self.lexicon = lexicon
        self.metrics: dict[str, MetricKind] = {}
        """The metrics read so far: later ones may refer to them."""

    def pack(self, ruleset: str | None) -> Pack | None:
        """Return the pack under `ruleset`; None only where a problem was added."""
        top = self.content
        self._unknown("", top, ["name", "title", "default_ruleset", "fields", "tasks", "golds", "rulesets", "rubric"])
        name, title = (self._value(key, top.get(key), str) for key in ("name", "title"))
        rubric = self._rubric(top["rubric"]) if "rubric" in top else None
        rulesets = self._table("rulesets", top.get("rulesets", {} if rubric else None))
        chosen = self._ruleset(rulesets, ruleset, top.get("default_ruleset")) if rulesets or not rubric else ""
        aliases = self._value("fields", top.get("fields", {}), Mapping[str, str])
        tasks = self._build("tasks", top["tasks"], Tasks) if "tasks" in top else None
        golds = self._build("golds", top.get("golds", {}), Golds) or Golds()
        if golds.files.count("*") != 1:
            self._problem("golds.files", "must hold exactly one `*`, which stands for the task's id")
        if golds.separator == "":
            self._problem("golds.separator", "must not be empty; leave it out where lists are lists")
        for column, target in golds.columns.items():
            if target not in golds.lists:
                self._problem(
                    f"golds.columns.{column}", f"{target!r} is no list of the golds{nearest(target, golds.lists)}"
                )
        self.names["gold list"] = golds.lists

        rules = self._table(f"rulesets.{chosen}", rulesets.get(chosen, {}))
        self._unknown(f"rulesets.{chosen}", rules, ["reads", "metrics"])
        readings = self._readings(f"rulesets.{chosen}.reads", rules.get("reads", {}))
        reads = rules.get("reads", {})
        self.names["reading"] = list(reads) if isinstance(reads, dict) else []
        metrics = self._metrics(f"rulesets.{chosen}.metrics", rules.get("metrics", []))
        if self.problems:
            return None
        return Pack(name, title, chosen, aliases, tasks, golds, readings, metrics, rubric)

    def _ruleset(self, rulesets: Mapping[str, Any], asked: str | None, default: Any) -> str:
        known = list(rulesets)
        if asked is not None:
            if asked not in known:
                raise UsageError(f"no ruleset {asked!r} in {self.source}{nearest(asked, known)}")
            return asked
        if default not in known:
            self._problem("default_ruleset", f"{default!r} is no ruleset of this pack{nearest(str(default), known)}")
        return str(default)

    def _rubric(self, table: Any) -> Rubric | None:
        table = self._table("rubric", table)
        terms = self._build("rubric", {key: value for key, value in table.items() if key != "criteria"}, Terms)
        tables = table.get("criteria")
        if not isinstance(tables, list) or not tables:
            self._problem("rubric.criteria", "must be an array of tables: [[rubric.criteria]]")
            return None
        criteria = [self._build(f"rubric.criteria[{at}]", entry, Criterion) for at, entry in enumerate(tables)]
        if terms is None or None in criteria:
            return None
        rubric = Rubric(terms, tuple(criterion for criterion in criteria if criterion))
        for key, message in rubric.mistakes():
            self._problem(f"rubric.{key}", message)
        return rubric

    def _readings(self, place: str, tables: Any) -> tuple[Reading, ...]:
        readings = []
        for name, table in self._table(place, tables).items():
            at = f"{place}.{name}"
            kind, params = self._kind(at, self._table(at, table), READINGS, shared=())
            if params is not None:
                readings.append(Reading(name, kind, params))
        return tuple(readings)

    def _metrics(self, place: str, tables: Any) -> tuple[Metric, ...]:
        if not isinstance(tables, list):
            self._problem(place, "must be an array of tables: [[…metrics]]")
            return ()
        metrics: list[Metric] = []
        for position, table in enumerate(tables):
            self.metrics = {metric.name: metric.params for metric in metrics}
            metric = self._metric(f"{place}[{position}]", self._table(f"{place}[{position}]", table))
            if metric is not None and metric.name in {other.name for other in metrics}:
                self._problem(f"{place}[{position}].name", f"there are two metrics {metric.name!r}; rename one")
            elif metric is not None:
                metrics.append(metric)
        if sum(metric.primary for metric in metrics) > 1:
            self._problem(place, "only one metric may be the primary one")
        return tuple(metrics)

    def _metric(self, at: str, table: dict[str, Any]) -> Metric | None:
        name = self._value(f"{at}.name", table.get("name"), str)
        shared = ("name", "label", "range", "higher_is_better", "decimals", "primary")
        kind, params = self._kind(at, table, KINDS, shared)
        low, high = self._range(f"{at}.range", table.get("range"))
        label = self._value(f"{at}.label", table.get("label", name), str)
        higher = self._value(f"{at}.higher_is_better", table.get("higher_is_better", True), bool)
        primary = self._value(f"{at}.primary", table.get("primary", False), bool)
        decimals = self._value(f"{at}.decimals", table.get("decimals"), int | None)
        if params is None:
            return None
        return Metric(name, kind, params, label, low, high, higher, decimals, primary)

    def _range(self, place: str, value: Any) -> tuple[float, float]:
        numbers = [float(item) for item in value if _is(item, float)] if isinstance(value, list) else []
        if len(numbers) != 2 or not numbers[0] < numbers[1]:
            self._problem(place, "must be the lowest and the highest value that the metric takes: [0, 1]")
            return 0.0, 1.0
        return numbers[0], numbers[1]

    def _kind(
        self, at: str, table: dict[str, Any], kinds: Mapping[str, type[Made]], shared: Sequence[str]
    ) -> tuple[str, Made | None]:
        """Return the table's kind and its parameters, built from the keys that are not `shared` by all kinds."""
        kind = str(table.get("kind"))
        if kind not in kinds:
            self._problem(f"{at}.kind", f"{kind!r} is no kind{nearest(kind, list(kinds))}")
            return kind, None
        others = {key: value for key, value in table.items() if key not in ("kind", *shared)}
        params = self._build(at, others, kinds[kind], also_known=("kind", *shared))
        for key, message in params.mistakes() if isinstance(params, Checked) else ():
            self._problem(f"{at}.{key}", message)
        return kind, params

    def _build(self, at: str, table: Any, made: type[Made], also_known: Sequence[str] = ()) -> Made | None:
        """Return dataclass `made` from a TOML table, each value checked against the annotation of its field."""
        table = self._table(at, table)
        hints = get_type_hints(made, include_extras=True)
        before = len(self.problems)
        self._unknown(at, table, [*hints, *also_known])
        values = {}
        for each in fields(made):  # type: ignore[arg-type]  # always a dataclass
            if each.name in table:
                values[each.name] = self._value(f"{at}.{each.name}", table[each.name], hints[each.name])
            elif each.default is MISSING and each.default_factory is MISSING:
                self._problem(f"{at}.{each.name}", "is missing")
        return made(**values) if len(self.problems) == before else None

    def _value(self, place: str, value: Any, annotation: Any) -> Any:
        """Return `value` as `annotation` wants it, or add a problem. A reference into the lexicon returns its words."""
        wanted, *marks = get_args(annotation) if hasattr(annotation, "__metadata__") else [annotation]
        for mark in marks:
            if isinstance(mark, Refers):
                return self._reference(place, value, mark)
        if get_origin(wanted) in (Union, UnionType):
            return None if value is None else self._value(place, value, get_args(wanted)[0])
        if get_origin(wanted) is tuple:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                self._problem(place, "must be a list of texts")
                return ()
            self._known_names(place, value, marks)
            return tuple(value)
        if get_origin(wanted) is Mapping:
            table = self._table(place, value)
            return {key: self._value(f"{place}.{key}", inner, str) for key, inner in table.items()}
        if not _is(value, wanted):
            self._problem(place, "is missing" if value is None else f"must be {_TYPE_NAMES[wanted]}, not {value!r}")
        else:
            self._known_names(place, [value], marks)
        for mark in marks:
            if isinstance(mark, Between) and _is(value, wanted) and not mark.low <= value <= mark.high:
                self._problem(place, f"must lie between {mark.low} and {mark.high}, not {value!r}")
        return value

    def _known_names(self, place: str, values: Iterable[Any], marks: Iterable[Any]) -> None:
        for known in (mark.names for mark in marks if isinstance(mark, OneOf)):
            for value in values:
                if value not in known:
                    self._problem(place, f"{value!r} is none of the names{nearest(value, known)}")

    def _reference(self, place: str, value: Any, mark: Refers) -> Any:
        if mark.to == "metrics":
            return self._earlier_metrics(place, value)
        known = self.names[mark.to]
        if value not in known:
            where = " of lexicon.toml" if mark.to in ("list", "table") else ""
            self._problem(place, f"{value!r} names no {mark.to}{where}{nearest(str(value), known)}")
            return value
        if mark.to == "list":
            words = tuple(self.lexicon[value])
            self._fitting(place, words, mark)
            return words
        if mark.to == "table":
            spellings = self.lexicon[value].items()
            terms = {name: tuple(words) if isinstance(words, list) else () for name, words in spellings}
            self._fitting(place, tuple(terms), mark)
            return terms
        return value

    def _earlier_metrics(self, place: str, value: Any) -> tuple[MetricKind, ...]:
        if not isinstance(value, list) or not value:
            self._problem(place, "must be a list of names of metrics that stand before this one")
            return ()
        for name in value:
            if name not in self.metrics:
                self._problem(place, f"{name!r} is no metric before this one{nearest(str(name), list(self.metrics))}")
        return tuple(self.metrics[name] for name in value if name in self.metrics)

    def _fitting(self, place: str, words: tuple[str, ...], mark: Refers) -> None:
        """Add a problem for each word that cannot do what it is there for."""
        for word in words if all(isinstance(word, str) for word in words) else ():
            if mark.longest is not None and len(word) > mark.longest:
                self._problem(place, f"{word!r} of lexicon.toml is longer than {mark.longest}")
            try:
                if mark.lowered:
                    any_of_lowered([word])
            except ValueError as error:
                self._problem(place, f"lexicon.toml: {error}")

    def _table(self, place: str, value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        self._problem(place, "must be a table" if value is not None else "is missing")
        return {}

    def _unknown(self, place: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
        known = list(known)
        for key in table:
            if key not in known:
                at = f"{place}.{key}" if place else key
                self._problem(at, f"is no key here{nearest(key, known)}")

    def _problem(self, place: str, message: str) -> None:
        self.problems.append(Problem(self.source, place, message))


def _is(value: Any, wanted: type) -> bool:
    """Tell whether a TOML value is of the type: a whole number is a number, a boolean is neither."""
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, (int, float) if wanted is float else wanted)
