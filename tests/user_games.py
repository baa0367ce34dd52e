"""Games in the styles of those who write them: sources, for tests/test_site_rules.py."""

FILLING = r'''
import lookup
from lookup.games.mask_game import MaskGame
import math as m
from itertools import combinations as combos

W = H = 3
CELLS = [(r, c) for r in range(H) for c in range(W)]
NEIGHBOURS = {}
for r, c in CELLS:
    near = [(r + dr, c + dc) for dr in (-1, 0, 1) for dc in (-1, 0, 1) if dr or dc]
    NEIGHBOURS[r, c] = [cell for cell in near if cell in CELLS]

def bit(rc):
    r, c = rc
    return 1 << (r * W + c)

class Pairs(MaskGame):
    """Fill two neighbouring cells.

    Second paragraph </script> \u2028 "quotes" ${x} `y`.
    """
    cells = W * H
    masks = tuple(sorted({bit(a) | bit(b) for a in CELLS for b in NEIGHBOURS[a]}))

    def format(self, index):
        rows = []
        for r in range(H):
            row = ""
            for c in range(W):
                row += "X" if index & bit((r, c)) else "."
            rows.append(row)
        return "/".join(rows)

    def move_name(self, index, after):
        new = [i for i in range(self.cells) if (after ^ index) >> i & 1]
        return "-".join("abc"[i % W] + str(i // W + 1) for i in new)

    def board(self, text):
        lookup.Game.board(self, text)
        return text.replace("/", "\n") + f"\n{m.gcd(4, 6)} {list(combos('ab', 2))}"
'''

COUNTING = r'''
import lookup
from functools import cached_property, lru_cache

class Base(lookup.Game):
    """Common."""
    heaps: int = 3
    largest: int = 4
    solver = "ordered"

    @property
    def base(self): return self.largest + 1
    @property
    def size(self): return self.base ** self.heaps
    @property
    def start(self): return self.size - 1
    @cached_property
    def max_moves(self): return self.heaps * self.largest

    def digits(self, index):
        for _ in range(self.heaps):
            index, d = divmod(index, self.base)
            yield d

    def format(self, index):
        return ",".join(str(d) for d in self.digits(index))

    def parse(self, text):
        try:
            ds = [int(x) for x in text.split(",")]
        except ValueError:
            raise lookup.InvalidPositionError(text, "numbers") from None
        if len(ds) != self.heaps or not all(0 <= d <= self.largest for d in ds):
            raise lookup.InvalidPositionError(text, f"{self.heaps} numbers")
        index = 0
        for d in reversed(ds):
            index = index * self.base + d
        if self.format(index) != text:
            raise lookup.InvalidPositionError(text, "other numbers than " + repr(tuple(ds)))
        return index

class Nimlike(Base):
    """Nim with a twist: misere."""
    misere: bool = False

    @cached_property
    def successors(self):
        base, heaps = self.base, self.heaps
        powers = [base ** i for i in range(heaps)]

        def successors(index, out):
            n = 0
            for p in powers:
                d = index // p % base
                for k in range(1, d + 1):
                    out[n] = index - k * p
                    n += 1
            return n
        return successors

    @staticmethod
    @lru_cache(maxsize=None)
    def _letters(n): return tuple("abcdefgh"[:n])

    def move_name(self, index, after):
        before, then = list(self.digits(index)), list(self.digits(after))
        for letter, x, y in zip(self._letters(self.heaps), before, then):
            if x != y:
                return f"{letter}-{x - y:>2}{'!' if y == 0 else ''}"

    def board(self, text):
        self.components(text)
        width = max(map(len, (line := [("|" * int(d)) or "-" for d in text.split(",")])))
        return "\n".join(f"{chr(ord('A') + i)} {x:<{width}}#" for i, x in enumerate(line))

if __name__ == "__main__":
    print("hi")
'''

ALONE = r'''
"""One player: lights out on a 3x3 board, big masks."""
from lookup import Game, Outcome, InvalidPositionError, parameter

BIG = 1 << 60
class Lights(Game):
    """Press to toggle."""
    n: int = parameter(default=3, least=2, most=3, help="x")
    solver = "distance"

    def _mask(self, r, c):
        mask = 0
        for dr, dc in ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)):
            rr, cc = r + dr, c + dc
            if 0 <= rr < self.n and 0 <= cc < self.n:
                mask |= 1 << rr * self.n + cc
        return mask

    @property
    def size(self): return 1 << self.n ** 2
    @property
    def start(self): return self.size - 1
    @property
    def max_moves(self): return self.n ** 2
    def successors(self, index, out):
        k = 0
        for r in range(self.n):
            for c in range(self.n):
                out[k] = (index | BIG) ^ self._mask(r, c) ^ BIG
                k += 1
        return k
    def terminal(self, index): return Outcome.WIN if not index else 0
    def format(self, index):
        return bin(index)[2:].zfill(self.n ** 2).translate(str.maketrans("01", ".*"))
    def parse(self, text, *, strict=True):
        if len(text) != self.n * self.n or not set(text) <= {".", "*"}:
            raise InvalidPositionError(text, f"{self.n * self.n} lamps")
        return int(text.replace(".", "0").replace("*", "1"), 2)
    def move_name(self, index, after):
        diff = index ^ after
        for r in range(self.n):
            for c in range(self.n):
                if self._mask(r, c) == diff:
                    return str((r, c))
        assert False
    def board(self, text):
        index = self.parse(text, strict=False)
        rows = [text[i:i + self.n] for i in range(0, len(text), self.n)]
        said = {(0, 1): [index], "k": None, True: -7 // 2, 3: -7 % 5}
        return "\n".join(reversed(rows)) + f" {said}"
'''

SPLITTING = r"""
from lookup import Game
class Grundy(Game):
    "Split a heap into two unequal ones."
    solver = "grundy"
    parts = 2
    largest: int = 20
    @property
    def size(self): return self.largest + 1
    @property
    def start(self): return self.largest
    @property
    def max_moves(self): return self.largest
    def successors(self, index, out):
        n = 0
        a = 1
        while a < index - a:
            out[2 * n], out[2 * n + 1] = a, index - a
            n += 1
            a += 1
        else:
            n += 0
        return n
    def board(self, text):
        self.components(text)
        lens = sorted((int(x) for x in text.split(" + ")), key=lambda x, sign=-1: sign * x)
        return " ".join("o" * x for x in lens) or "empty"
"""

STEPPING = r'''
from lookup import StepGame, InvalidPositionError, Outcome
from enum import IntEnum
class Side(IntEnum):
    LEFT = 0
    RIGHT = 1
    @property
    def other(self): return Side(1 - self)

class Counter:
    count = 0
    def __init__(self, start=0): self.count = start
    def up(self, by=1):
        self.count += by
        return self

class Walk(StepGame):
    """Step 1 or 2, leap 5."""
    room: int = 25
    stores_values = True
    max_steps = 3
    @property
    def size(self): return self.room
    @property
    def start(self): return self.room - 1
    def steps(self, index, out):
        n = Counter()
        for by in (1, 2):
            if index >= by:
                out[n.count] = index - by
                n.up()
        return n.count
    def leaps(self, index, out):
        if index < 5: return 0
        out[0] = index - 5
        return 1
    def format(self, index): return f"{index:0{len(str(self.room))}d}"
    def parse(self, text):
        for i in range(self.size):
            if self.format(i) == text: break
        else:
            raise InvalidPositionError(text, "a place")
        return i
    def board(self, text):
        at = self.parse(text)
        side = Side(at % 2)
        words = [*map(str, [side, None, True, (1,)])]
        return f"{side.name}{side!r}{side.other.value} {Outcome.WIN} {words}"
'''

SOURCES = {
    "Pairs": FILLING,
    "Nimlike": COUNTING,
    "Lights": ALONE,
    "Grundy": SPLITTING,
    "Walk": STEPPING,
}
"""By the names of their classes."""
