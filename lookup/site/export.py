"""Write the explorer as a folder of files that any web server can host."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lookup import __version__
from lookup.site.rules import rules_module

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lookup.games.base import Game

SCRIPTS = Path(__file__).parent / "static"


def write_scripts(folder: Path, games: Iterable[type[Game]]) -> None:
    """What a page needs to answer by itself: the rules of our games and of those given.

    Raises:
        UntranslatableError: a game is written in Python that has no translation.
    """
    for script in SCRIPTS.iterdir():
        (folder / script.name).write_bytes(script.read_bytes())
    (folder / "rules.js").write_text(rules_module(__version__, games), encoding="utf-8")
