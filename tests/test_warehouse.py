"""The warehouse: named queries, checked parameters, functions in SQL, and the locked session."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.dataset as ds
import pytest
from scipy import stats

from scorer import assets, tables
from scorer.errors import QueryError, UsageError
from scorer.warehouse import Warehouse, open_locked, query_names


@pytest.fixture
def sql_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of queries in place of the project's own."""
    monkeypatch.setattr(assets, "sql_folder", lambda: tmp_path)
    return tmp_path


def test_tables_that_are_not_given_are_there_empty_and_typed(sql_folder: Path) -> None:
    for name, table in tables.TABLES.items():
        (sql_folder / f"{name}.sql").write_text(f"select * from {name}")
        with Warehouse() as warehouse:
            rows = warehouse.query(name)
        assert rows.height == 0
        assert rows.schema == table.schema


def test_a_table_may_be_a_frame_an_arrow_table_a_dataset_or_parquet_files(sql_folder: Path, tmp_path: Path) -> None:
    (sql_folder / "total.sql").write_text("select sum(x)::bigint as total from numbers")
    frame = pl.DataFrame({"x": [1, 2, None]})
    paths = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for path in paths:
        frame.write_parquet(path)
    given = {
        "frame": (frame, 3),
        "arrow": (frame.to_arrow(), 3),
        "dataset": (ds.dataset(frame.to_arrow()), 3),
        "path": (paths[0], 3),
        "text": (str(paths[0]), 3),
        "paths": (paths, 6),
    }
    totals = {}
    for name, (source, _) in given.items():
        with Warehouse({"numbers": source}) as warehouse:
            totals[name] = warehouse.query("total")["total"][0]
    assert totals == {name: total for name, (_, total) in given.items()}


def test_one_query_reads_what_another_gave(sql_folder: Path) -> None:
    (sql_folder / "first.sql").write_text("select unnest(range(3)) as x")
    (sql_folder / "second.sql").write_text("select sum(x)::bigint as total from numbers")
    with Warehouse() as warehouse:
        warehouse.register("numbers", warehouse.query("first"))
        assert warehouse.query("second")["total"].to_list() == [3]
        warehouse.register("numbers", pl.DataFrame({"x": [40, 2]}))
        assert warehouse.query("second")["total"].to_list() == [42]


def test_parameters_are_checked_and_named(sql_folder: Path) -> None:
    (sql_folder / "both.sql").write_text("select $level as level, $names as names")
    with Warehouse() as warehouse:
        assert warehouse.query("both", level=0.5, names=["a", "b"]).row(0) == (0.5, ["a", "b"])
        with pytest.raises(UsageError) as error:
            warehouse.query("both", levle=0.5)
    message = str(error.value)
    assert "$level is missing" in message
    assert "$names is missing" in message
    assert "$levle is unknown; did you mean 'level'?" in message


def test_a_parameter_is_a_value_never_sql(sql_folder: Path) -> None:
    (sql_folder / "echo.sql").write_text("select $text as text")
    text = "'; drop table scores; --"
    with Warehouse() as warehouse:
        assert warehouse.query("echo", text=text)["text"].to_list() == [text]


def test_an_unknown_query_names_the_nearest() -> None:
    with Warehouse() as warehouse, pytest.raises(UsageError, match="no query 'sumary'; did you mean 'summary'"):
        warehouse.query("sumary")


@pytest.mark.parametrize(
    "sql", ["select no_such_column from scores", "selekt 1", "select 1; select 2", "select 'x'::int"]
)
def test_a_query_that_fails_shows_its_file_and_its_sql(sql_folder: Path, sql: str) -> None:
    (sql_folder / "broken.sql").write_text(f"-- Grain: none.\n{sql}")
    with Warehouse() as warehouse, pytest.raises(QueryError) as error:
        warehouse.query("broken")
    assert "sql/broken.sql failed" in str(error.value)
    assert f"-- Grain: none.\n{sql}" in str(error.value)


def test_python_variables_are_not_tables(sql_folder: Path) -> None:
    (sql_folder / "variable.sql").write_text("select * from sneaky")
    sneaky = pl.DataFrame({"x": [1]})
    with Warehouse() as warehouse, pytest.raises(QueryError, match="sneaky"):
        warehouse.query("variable")
    assert sneaky.height == 1


def test_functions_are_there_for_the_queries_that_name_them(sql_folder: Path) -> None:
    (sql_folder / "tails.sql").write_text(
        """
        select
            t_quantile(0.975, x) as t_quantile,
            t_two_sided(x, 3) as t_two_sided,
            normal_quantile(x / 10) as normal_quantile,
            normal_cdf(x) as normal_cdf,
            chi2_upper(x, 1) as chi2_upper,
            beta_quantile(0.3, x, 2) as beta_quantile
        from numbers
        """
    )
    xs = np.array([2.0, 5.0, 9.0])
    with Warehouse({"numbers": pl.DataFrame({"x": [*xs.tolist(), None]})}) as warehouse:
        rows = warehouse.query("tails")
        again = warehouse.query("tails")
    expected = {
        "t_quantile": stats.t.ppf(0.975, xs),
        "t_two_sided": 2 * stats.t.sf(xs, 3),
        "normal_quantile": stats.norm.ppf(xs / 10),
        "normal_cdf": stats.norm.cdf(xs),
        "chi2_upper": stats.chi2.sf(xs, 1),
        "beta_quantile": stats.beta.ppf(0.3, xs, 2),
    }
    assert rows.equals(again)
    for name, values in expected.items():
        assert rows[name].to_list()[:3] == pytest.approx(values.tolist(), rel=1e-12), name
        assert rows[name].to_list()[3] is None, "null in, null out"


def test_a_function_gives_null_where_it_has_no_value(sql_folder: Path) -> None:
    (sql_folder / "edges.sql").write_text(
        "select beta_quantile(0.5, 0, 3) as a, t_quantile(0.975, 0) as b, detectable_effect(1, 0.05, 0.8) as c"
    )
    with Warehouse() as warehouse:
        assert warehouse.query("edges").row(0) == (None, None, None)


def test_every_query_says_its_grain_first() -> None:
    for name in query_names():
        first = (assets.sql_folder() / f"{name}.sql").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("-- Grain: "), name


# --- the locked session -----------------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with files that a query must neither read nor change."""
    pl.DataFrame({"x": [1, 2]}).write_parquet(tmp_path / "scores.parquet")
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    return tmp_path


READING = (
    "select * from read_csv('{0}/secret.csv')",
    "from '{0}/secret.csv'",
    "from '{0}/scores.parquet'",
    "select * from read_parquet('{0}/*.parquet')",
    "select * from read_json('{0}/secret.csv')",
    "select * from read_text('{0}/secret.csv')",
    "select * from read_blob('{0}/secret.csv')",
    "select * from read_text('/proc/self/environ')",
    "select * from glob('{0}/*')",
    "select * from sniff_csv('{0}/secret.csv')",
    "select * from parquet_metadata('{0}/scores.parquet')",
    "select * from query('from ''{0}/secret.csv''')",
    "select * from query_table('{0}/secret.csv')",
    "create table mine as from '{0}/secret.csv'",
    "create table mine (x int); copy mine from '{0}/secret.csv'",
    "import database '{0}'",
    "attach '{0}/scores.parquet' as other",
    "select getenv('HOME')",
    "select * from duckdb_secrets()",
    "select * from read_csv('https://example.com/x.csv')",
    "select * from read_parquet('s3://bucket/x.parquet')",
    "from outside",
)

WRITING = (
    "copy scores to '{0}/out.csv'",
    "copy scores to '{0}/scores.parquet'",
    "copy (select 1) to '{0}/out' (format parquet)",
    "copy (select 1) to '/dev/stdout' (format csv)",
    "explain analyze copy scores to '{0}/out.csv'",
    "prepare p as copy scores to '{0}/out.csv'",
    "select 1; copy scores to '{0}/out.csv'",
    "export database '{0}/out'",
    "attach '{0}/out.db' as other",
    "with new as (select 3 as x) insert into scores select x from new",
    "insert into scores values (3)",
    "update scores set x = 3",
    "delete from scores",
    "truncate scores",
    "alter table scores add column y int",
    "create secret s (type http, bearer_token 'x')",
    "create persistent secret s (type http, bearer_token 'x')",
    "call enable_logging(storage = 'file', storage_config = {{'path': '{0}/log'}})",
    "pragma profiling_output = '{0}/profile'",
    "set profiling_output = '{0}/profile'",
)

UNLOCKING = (
    "set enable_external_access = true",
    "set lock_configuration = false",
    "reset lock_configuration",
    "reset enable_external_access",
    "set temp_directory = '{0}'",
    "set threads = 1",
    "pragma threads = 1",
    "set python_enable_replacements = true",
    "set allowed_directories = ['{0}']",
    "install httpfs",
    "force install httpfs",
    "load httpfs",
    "load '{0}/x.duckdb_extension'",
    "update extensions",
)


@pytest.mark.parametrize("sql", [*READING, *WRITING, *UNLOCKING])
def test_every_way_out_is_shut(sql: str, outside: Path) -> None:
    files = {path.name: path.read_bytes() for path in outside.iterdir()}
    with open_locked({"scores": outside / "scores.parquet"}) as session:
        with pytest.raises(QueryError):
            session.run(sql.format(outside))
        assert session.run("select sum(x)::bigint as total from scores")["total"].to_list() == [3]
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == files


def test_the_locked_session_answers_questions_and_keeps_its_own_tables(outside: Path) -> None:
    with open_locked({"scores": outside / "scores.parquet"}) as session:
        assert session.run("select 1; select x from scores order by x desc")["x"].to_list() == [2, 1]
        session.run("create table mine as select x * 2 as x from scores")
        assert session.run("select max(x) as x from mine")["x"].to_list() == [4]
        assert session.run("select count(*) as n from golds")["n"].to_list() == [0]
        assert session.run("").height == 0


def test_a_view_that_a_query_replaces_changes_nothing_stored(outside: Path) -> None:
    before = (outside / "scores.parquet").read_bytes()
    with open_locked({"scores": outside / "scores.parquet"}) as session:
        session.run("create or replace view scores as select 9 as x")
    assert (outside / "scores.parquet").read_bytes() == before


def test_the_private_folder_is_gone_afterwards(outside: Path) -> None:
    with open_locked({"scores": outside / "scores.parquet"}) as session:
        folder = Path(session.run("select current_setting('temp_directory') as folder")["folder"][0])
        assert folder.is_dir()
        session.run(f"copy scores to '{folder}/spilled.csv'")
    assert not folder.exists()


def test_allowing_external_access_allows_it(outside: Path) -> None:
    with open_locked({}, allow_external=True) as session:
        assert session.run(f"select a, b from '{outside}/secret.csv'").rows() == [(1, 2)]
        session.run(f"copy (select 1 as x) to '{outside}/out.csv'")
    assert (outside / "out.csv").read_text() == "x\n1\n"
