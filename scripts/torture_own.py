"""Games as no user would write them."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import TYPE_CHECKING

from torture_commands import check_command, run_command
from torture_wild import case, near_miss, require, require_sentence

from builder.thorough import check_thoroughly
from lookup import BuildError, EndtableError
from lookup.games.loading import load_game, with_settings
from lookup.progress import silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

BASE = {
    "size": "size = 5",
    "start": "start = 4",
    "max_moves": "max_moves = 2",
    "successors": """def successors(self, index, out):
        out[0] = index - 1
        return 1 if index else 0""",
}
"""A sound game, by what it says."""

NUMBERS = (
    *("10**30", "10**5000", "-5", "0", "5.0", "None", "'5'", "True", "()", "1 << 62", "1 << 40", "[]"),
    *("float('nan')", "Outcome.WIN", "object()", "lambda: 5", "range(5)"),
)
BODIES = (
    *("raise ValueError('boo')", "raise SystemExit(0)", "raise ValueError('x' * 10**5)", "return None"),
    *(
        "return 1.0",
        "return -1",
        "return 7",
        "return 'LOSS'",
        "return 10**30",
        "return 10**5000",
        "return True",
    ),
    *(
        "raise MemoryError",
        "raise StopIteration",
        "assert False",
        "return Outcome.NOT_A_POSITION",
        "return []",
    ),
    *(
        "yield 1",
        "raise ValueError('\\ud800\\n\\x1b[2J')",
        "return self",
        "pass",
        "return 1 // 0",
        "return '\\n'",
    ),
    *("raise type('Odd', (BaseException,), {})", "raise type('Odd', (Exception,), {'__str__': 5})"),
    *(
        "raise GeneratorExit",
        "return '../../x'",
        "return chr(0xD800)",
        "return ''",
        "return 'x' * 10**5",
    ),
)
WRITES = (
    *(
        "out[10] = 1; return 0",
        "out[10**7] = 1; return 0",
        "out[-1] = 3; return 0",
        "out.append(1); return 0",
    ),
    *(
        "out.clear(); return 0",
        "out[:] = []; return 0",
        "del out[0]; return 0",
        "out[0] = 1.0; return 1",
    ),
    *(
        "out[0] = 'a'; return 1",
        "out[0] = 10**30; return 1",
        "out[0] = -1; return 1",
        "out[0] = None; return 1",
    ),
    *(
        "out[0] = index; return 1",
        "out[0] = out[1] = 0; return 2",
        "return self.successors(index, out)",
    ),
    *(
        "import random; out[0] = random.randrange(5); return 1",
        "out[0] = out[1]; return 1",
        "return 1000",
    ),
    *("type(self).n = getattr(self, 'n', 0) + 1; out[0] = self.n % 5; return 1",),
)
FACTS = (
    "size",
    "start",
    "max_moves",
    "max_predecessors",
    "symmetries",
    "parts",
    "work",
    "name",
    "solver",
    "stuck",
    "misere",
    "rules",
    "notation",
    "indexing",
    "table_name",
    "format",
    "parse",
    "terminal",
    "parameters",
)
PROPERTIES = (
    "size",
    "start",
    "max_moves",
    "work",
    "stuck",
    "misere",
    "rules",
    "notation",
    "table_name",
    "terminal",
    "predecessors",
    "players",
    "closed_form",
    "filling",
    "stores_grundy",
    "parameters",
)
METHODS = {
    "terminal": "index",
    "is_position": "index",
    "format": "index",
    "parse": "text",
    "move_name": "index, after",
    "board": "text",
    "moves": "text",
    "play": "text, move",
    "components": "text",
    "successors": "index, out",
    "predecessors": "index, out",
    "transform": "index, k",
    "__init__": "",
    "__post_init__": "",
    "__eq__": "other",
    "__hash__": "",
    "__getattribute__": "name",
    "__repr__": "",
    "__init_subclass__": "",
    "__new__": "*_",
}
LINES = (
    *(
        "import sys; sys.exit()",
        "raise KeyError",
        "import no_such_module",
        "sys = 5; del sys",
        "import sys; sys.path = []",
    ),
    *(
        "import sys; sys.modules.pop(__name__)",
        "del __name__",
        "__name__ = 5",
        "print('hello')",
        "x = " + "+".join("1" * 30000),
    ),
    *(
        "(" * 300,
        "x = " + "[" * 150 + "]" * 150,
        "x = " + "9" * 10000,
        "\0",
        "é = 1",
        "\tx = 1",
        "class G(Game): pass",
        "Game = 5",
    ),
    *(
        "class O:\n    __class__ = property(lambda self: 1 / 0)\no = O()",
        "raise BaseException",
        "G = 5",
        "def",
        "return 1",
    ),
)
PARAMETERS = (
    "x: str = 'a'",
    "x: int = 'a'",
    "x: int = []",
    "x: 5 = 3",
    "x: int | None = 3",
    "name: int = 3",
    "parse: int = 3",
    "x: int = 10**5000",
    "x: bool = 1",
    "_x: int = 3",
    "é: int = 3",
    "size: int = 5",
    "table_name: int = 3",
    "x: int",
    "x: float = 1.0",
    "x: bool = True",
    "x: int = 3",
)
KINDS = (
    "'mask'",
    "'ordered'",
    "'grundy'",
    "'distance'",
    "'heaps'",
    "'steps'",
    "'foo'",
    "None",
    "5",
    "[]",
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "utf-7")


def own_source(random: Random) -> bytes:
    """The file of a game: a sound one with something odd in it."""
    parts = dict(BASE)
    extra: list[str] = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        how = random.randrange(9)
        if how == 0:
            parts.pop(random.choice(list(BASE)), None)
        elif how in (1, 2):
            name = random.choice(FACTS)
            value = random.choice(KINDS if name == "solver" else NUMBERS)
            parts[name] = f"{name} = {value}"
        elif how == 3:
            name = random.choice(PROPERTIES)
            parts[name] = f"@property\n    def {name}(self):\n        {random.choice(BODIES)}"
        elif how in (4, 5):
            name = random.choice(list(METHODS))
            parts[name] = f"def {name}(self, {METHODS[name]}):\n        {random.choice(BODIES)}"
        elif how == 6:
            name = random.choice(("successors", "successors", "predecessors"))
            parts[name] = f"def {name}(self, index, out):\n        {random.choice(WRITES)}"
        elif how == 7:
            parts[f"parameter {len(parts)}"] = random.choice(PARAMETERS)
        else:
            extra.append(random.choice(LINES))
    body = "\n    ".join(parts.values()) or "pass"
    lines = ["from lookup import Game, Outcome", f"class G(Game):\n    'd'\n    {body}"]
    for line in extra:
        lines.insert(random.randrange(len(lines) + 1), line)
    source = "\n".join(lines)
    if random.random() < 0.1:
        source = near_miss(random, source)
    encoding = random.choice(ENCODINGS) if random.random() < 0.1 else "utf-8"
    return source.encode(encoding, "replace")


class OwnGames:
    """Files of users' games, checked and built, by Python and by commands."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder

    def attempt(self, random: Random) -> str:
        """Load a game, check it, build it."""
        source = own_source(random)
        path = self._folder / "own.py"
        path.write_bytes(source)
        way = random.choice(("python", "check", "game", "probe"))
        with case(f"{way}, {source.decode('utf-8', 'replace')[:600]!r}"), _surroundings():
            if way == "python":
                return _checked_in_python(path)
            words = (
                ("build-tables", way, "own.py")
                if way != "probe"
                else ("lookup", "probe", "rota", "--game", "own.py")
            )
            ending = check_command(run_command(*words, cwd=self._folder))
            left = [one for one in self._folder.rglob("*") if one.is_file() and one != path]
            tables = [one for one in left if one.suffix == ".h5"]
            require(left == tables and not (tables and ending != "exit 0"), f"{ending}, left {left}")
            for table in tables:
                require(table.parent.name == "tables", f"built '{table}'")
                table.unlink()
            return f"{way}: {ending}"


def _checked_in_python(path: Path) -> str:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            check_thoroughly(with_settings(load_game(path), {}), silent)
    except EndtableError as error:
        require_sentence(error)
        require(not isinstance(error, BuildError) or "machine" in str(error), str(error))
        return f"python: {type(error).__name__}"
    return "python: sound"


@contextlib.contextmanager
def _surroundings() -> Iterator[None]:
    """What a user's file changes is put back."""
    path, inside, modules = sys.path, list(sys.path), set(sys.modules)
    try:
        yield
    finally:
        sys.path, sys.path[:] = path, inside
        for name in set(sys.modules) - modules:
            if name.startswith("endtable_game_"):
                del sys.modules[name]
