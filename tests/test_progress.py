"""What long work shows: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from lookup.progress import SHARDS, Progress, short
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (0, "0"),
        (0.246, "0.25"),
        (9.6, "9.6"),
        (950, "950"),
        (12_345, "12.3 k"),
        (5e6, "5 M"),
        (1.854e9, "1.85 G"),
    ],
)
def test_rates_in_three_figures(rate: float, shown: str) -> None:
    assert short(rate) == shown


def test_lines_come_a_minute_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    lines: list[str] = []
    with Progress(log=lines.append).stage("t: solve") as report:
        for minute in range(0, 200, 10):
            now = 1000.0 + minute
            report(minute * 10**6, 400 * 10**6)
    assert lines == [
        "t: solve: 15%, 1 M positions/s, 5:40 left",
        "t: solve: 30%, 1 M positions/s, 4:40 left",
        "t: solve: 45%, 1 M positions/s, 3:40 left",
    ]


def test_what_an_earlier_run_has_done_does_not_count_as_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    lines: list[str] = []
    with Progress(log=lines.append).stage("t: write", "bytes") as report:
        report(900, 1000)
        now = 100.0
        report(950, 1000)
    assert lines == ["t: write: 95%, 0.5 bytes/s, 1:40 left"]


def test_shards_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    lines: list[str] = []
    with Progress(log=lines.append).stage("t: solve", SHARDS) as report:
        report(100, 4096)
        now = 92.0
        report(123, 4096)
    assert lines == ["t: solve: 3%, 123 of 4,096 shards, 0.25 shards/s, 264:52 left"]


def test_nothing_is_shown_of_what_is_over_soon(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(bars=True).stage("t: solve") as report:
        report(1, 2)
        report(2, 2)
    assert capsys.readouterr() == ("", "")


SLOW = """
from lookup import progress
progress.PATIENCE = progress.LOG_EVERY = 0
with progress.Progress.on_terminal().stage("t: verify") as report:
    for done in range(5):
        report(done * 1000, 4000)
"""


def test_without_a_terminal_there_are_lines(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SLOW], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 5
    assert re.fullmatch(r"t: verify: 100%, [\d.]+ ?[kMG]? positions/s, 0:00 left", lines[-1])


def test_on_a_terminal_there_is_a_bar_with_rate_and_time_left() -> None:
    pty = pytest.importorskip(
        "pty", reason="terminals are made by the operating system: not on Windows"
    )
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    with subprocess.Popen(
        [sys.executable, "-c", SLOW], cwd=ROOT, stderr=follower, env=environment
    ) as child:
        os.close(follower)
        shown = b""
        try:
            while some := os.read(leader, 4096):
                shown += some
        except OSError:  # Linux says so when the other end is closed
            pass
        os.close(leader)
    assert child.returncode == 0
    for words in (b"t: verify", b"positions/s", b"left", b"100%"):
        assert words in shown
