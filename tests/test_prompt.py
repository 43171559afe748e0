"""The prompt of `scorer sql STORE`, at a real pseudo-terminal; and SQL on standard input where there is none."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from scorer import pipeline
from scorer.cli.prompt import MOST_CHARACTERS, MOST_ROWS, SqlCompleter, is_complete
from scorer.errors import ExitCode
from scorer.pipeline import stored
from scorer.tables import TABLES
from tests.conftest import REPO, SAMPLE, run_scorer

PATIENCE = 60.0
PROMPT_ENDS = "\x1b[?2004l"
"""What a prompt says to the terminal when it gives it back."""
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|[()][A-Z0-9]|[=>78])|\r")
ENDLESS = "select count(*) from range(10000000000000) t(x) where x % 7 = 3"
# The child makes the pseudo-terminal its controlling one, so that Ctrl-C reaches it as from a keyboard.
AT_A_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "scorer", *sys.argv[1:]])
"""


class Terminal:
    """A program at a pseudo-terminal of 40 lines: what a person types goes in, what they see comes out."""

    def __init__(self, folder: Path, *arguments: object, **environment: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        os.set_blocking(self.master, False)
        settings = {
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "XDG_STATE_HOME": str(folder / "state"),
            "PYTHONPATH": str(REPO),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", AT_A_TERMINAL, *map(str, arguments)],
            cwd=REPO,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=os.environ | settings | environment,
        )
        os.close(slave)
        self.seen = ""

    def wait_for(self, words: str) -> str:
        """Return what came since the last wait, up to `words`; fail where they do not come."""
        end = time.monotonic() + PATIENCE
        while words not in (plain := ESCAPES.sub("", self.seen)):
            assert time.monotonic() < end, f"no {words!r} in:\n{plain}"
            assert self.look() or words in ESCAPES.sub("", self.seen), f"ended without {words!r}:\n{plain}"
        before, _, rest = plain.partition(words)
        self.seen = rest
        return before + words

    def look(self) -> bool:
        """Take in what is on the screen now; false once the program has ended."""
        ready, _, _ = select.select([self.master], [], [], 0.2)
        try:
            self.seen += os.read(self.master, 65536).decode(errors="replace") if ready else ""
        except OSError:
            return False
        return True

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def ask(self, text: str, answer: str, prompt: str = "sql>") -> str:
        """Type a line, wait for `answer` and the next prompt, and return what was seen up to the answer."""
        self.type(f"{text}\r")
        seen = self.wait_for(answer)
        self.wait_for(prompt)
        return seen

    def ended(self) -> int:
        """Return the exit code, reading on meanwhile: a program does not end before its words are taken."""
        while self.look():
            pass
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("prompt") / "store"
    pipeline.score([SAMPLE], "eduevidence", store)
    return store


@pytest.fixture
def terminal(store: Path, tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, "sql", store)
    terminal.wait_for("sql>")
    yield terminal
    terminal.close()


def test_statements_commands_and_errors_at_the_prompt(terminal: Terminal) -> None:
    """Every command answers, a wrong statement is told and the prompt goes on, .quit ends it well."""
    assert "108" in terminal.ask("select count(*) as n from attempts;", "1 row\n")
    tables = terminal.ask(".tables", f"{len(TABLES)} rows\n")
    assert "scores" in tables
    assert "one row is" in tables
    schema = terminal.ask(".schema scores", "9 rows\n")
    assert re.search(r"scores +attempt_id +VARCHAR +key", schema)
    assert re.search(r"scores +value +DOUBLE +may be null", schema)
    assert "no table scors; did you mean 'scores'?" in terminal.ask(".schema scors", "'scores'?")
    assert ".schema" in terminal.ask(".help", "4 rows\n")
    assert "no command .tabels; did you mean '.tables'?" in terminal.ask(".tabels", "'.tables'?")
    assert "valu" in terminal.ask("select valu from scores;", "Candidate bindings")
    assert "error:" in terminal.ask("copy scores to '/tmp/no.csv';", "disabled")
    assert "42" in terminal.ask("select 6 * 7 as answer;", "1 row\n")
    terminal.type(".quit\r")
    assert terminal.ended() == ExitCode.DONE


def test_a_statement_goes_on_over_lines_until_its_semicolon(terminal: Terminal) -> None:
    terminal.type("select 40 +\r")
    terminal.wait_for("->")
    assert "42" in terminal.ask("2 as sum;", "1 row\n")


def test_tab_completes_tables_and_columns(terminal: Terminal) -> None:
    """Table, column and keyword are completed as they are typed, and the statement so made runs."""
    for typed, completed in (("select count(laten\t", "latency_s"), (") as n from attem\t", "attempts")):
        terminal.type(typed)
        terminal.wait_for(completed)
    terminal.type(";\r")
    assert "error" not in terminal.wait_for("1 row\n")


def test_the_history_outlives_the_session(store: Path, tmp_path: Path) -> None:
    first = Terminal(tmp_path, "sql", store)
    first.wait_for("sql>")
    first.ask("select 'in memory of' as me;", "1 row\n")
    first.type("\x04")
    assert first.ended() == ExitCode.DONE
    first.close()
    second = Terminal(tmp_path, "sql", store)
    second.wait_for("sql>")
    second.type("\x1b[A\r")
    assert "in memory of" in second.wait_for("1 row\n")
    second.close()


def test_a_history_that_cannot_be_kept_does_not_matter(store: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the way")
    terminal = Terminal(tmp_path, "sql", store)
    terminal.wait_for("sql>")
    assert "42" in terminal.ask("select 6 * 7 as answer;", "1 row\n")
    terminal.close()


def test_ctrl_c_stops_a_long_query_and_the_prompt_goes_on(terminal: Terminal) -> None:
    terminal.type(f"{ENDLESS};\r")
    while PROMPT_ENDS not in terminal.seen:
        assert terminal.look()
    time.sleep(1)
    terminal.type("\x03")
    terminal.wait_for("interrupted")
    terminal.wait_for("sql>")
    assert "42" in terminal.ask("select 6 * 7 as answer;", "1 row\n")


def test_long_results_go_through_the_pager_and_are_cut_with_a_word_on_it(store: Path, tmp_path: Path) -> None:
    """Over a screen of lines the person's pager gets the text; over the limit of rows the text says so."""
    paged = tmp_path / "paged"
    terminal = Terminal(tmp_path, "sql", store, PAGER=f"tee {paged} | tail -n 1")
    terminal.wait_for("sql>")
    terminal.ask("select range as r, repeat('x', 1000) as long from range(1500);", "takes all")
    text = paged.read_text()
    assert f"the first {MOST_ROWS:,} of 1,500 rows; LIMIT and OFFSET show others, --to FILE takes all" in text
    assert "[…800 more]" in text.replace(" ", "").replace("\n", "").replace("…800more", "…800 more")
    assert text.count("x") == MOST_ROWS * MOST_CHARACTERS
    paged.unlink()
    terminal.ask("select 1 as one;", "1 row\n")
    assert not paged.exists()
    terminal.close()


def test_what_a_terminal_would_obey_is_written_out(tmp_path: Path) -> None:
    """An answer that holds control characters moves no cursor when it is selected."""
    rows, golds = tmp_path / "a.jsonl", tmp_path / "g.jsonl"
    rows.write_text(json.dumps({"task_id": "t", "system": "s", "response": "\x1b[2Jwiped"}))
    golds.write_text(json.dumps({"id": "t"}))
    pipeline.score([rows], "eduevidence", tmp_path / "store", golds=golds)
    terminal = Terminal(tmp_path, "sql", tmp_path / "store")
    terminal.wait_for("sql>")
    assert "\\x1b[2Jwiped" in terminal.ask("select response from attempts;", "1 row\n")
    terminal.close()


# --- without a terminal -----------------------------------------------------------------------------------------------


def test_sql_is_read_from_standard_input_where_it_is_no_terminal(store: Path) -> None:
    ended = run_scorer("sql", store, "--format", "csv", stdin=b"select count(*) as n\nfrom attempts;")
    assert (ended.code, ended.out) == (ExitCode.DONE, "n\n108\n")
    nothing = run_scorer("sql", store)
    assert nothing.code == ExitCode.USAGE
    assert "holds no SQL" in nothing.err
    assert run_scorer("sql", store, stdin=b"select '\xff'").code == ExitCode.USAGE


def test_a_prompt_whose_output_is_no_terminal_is_refused(store: Path, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "scorer", "sql", str(store)]
    ended = subprocess.run(command, cwd=REPO, stdin=slave, capture_output=True, check=False)
    os.close(master)
    os.close(slave)
    assert ended.returncode == ExitCode.USAGE
    assert b"a prompt needs a terminal" in ended.stderr


# --- what is offered --------------------------------------------------------------------------------------------------


def offered(text: str) -> list[str]:
    completer = SqlCompleter(
        {"scores": ["run_id", "value"], "attempts": ["run_id", "response", "cost_usd"]}, ["select", "from", "real"]
    )
    return [each.text for each in completer.get_completions(Document(text), CompleteEvent())]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("select * from sc", ["scores"]),
        ("select re", ["response", "real"]),
        ("select a.c from scores where v", ["value"]),
        ("select * from s", ["scores"]),
        ("select * from scores join ", ["scores", "attempts"]),
        ("select attempts.r", ["run_id", "response"]),
        ("select attempts.", ["run_id", "response", "cost_usd"]),
        ("select nothing.", []),
        ("SEL", ["SELECT"]),
        ("sel", ["select"]),
        (".", [".tables", ".schema", ".help", ".quit"]),
        (".sch", [".schema"]),
        (".schema at", ["attempts"]),
        ("", []),
    ],
)
def test_completion(text: str, names: list[str]) -> None:
    assert offered(text) == names


def test_when_enter_runs_what_was_typed() -> None:
    assert [is_complete(text) for text in ("", "select 1", "select 1;", "select 1 ; ", ".tables", " ")] == [
        True,
        False,
        True,
        True,
        True,
        True,
    ]


@pytest.mark.usefixtures("ctrl_c_heard")
def test_ctrl_c_during_a_query_is_an_interruption_and_no_fault(store: Path) -> None:
    """What DuckDB makes of the signal comes out as KeyboardInterrupt, and the session can be used again."""
    with stored.sql_session(store) as session:
        main = threading.main_thread().ident
        assert main is not None
        # Python drops an interrupt that meets a finalizer at work; people press the keys again.
        presses = [threading.Timer(seconds, signal.pthread_kill, [main, signal.SIGINT]) for seconds in (0.5, 5, 10)]
        for press in presses:
            press.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(ENDLESS)
        for press in presses:
            press.cancel()
        assert session.run("select 42 as answer").item() == 42
