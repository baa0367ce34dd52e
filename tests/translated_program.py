"""A program that tests/test_site_python.py runs in Python and, translated, in JavaScript.

Every function without a parameter returns something that JSON can hold; both must return the same.
"""

import math
import re
from collections.abc import Iterator
from enum import IntEnum
from functools import cache, cached_property, lru_cache, reduce
from itertools import accumulate, chain, combinations, islice, pairwise, permutations, product, repeat
from typing import NamedTuple

NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    -7,
    10,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32 + 5,
    2**53 - 1,
    2**53,
    -(2**53),
    3**50,
    -(5**30),
)
WORDS = ["", "a", "abc", "x.y.z", "a,b,,c", "Hello World", "tab\tquote'\"", "naïve", "𝔘nicode", " pad "]


def sums() -> list[str]:
    return [str(a + b) for a in NUMBERS for b in NUMBERS]


def differences() -> list[str]:
    return [str(a - b) for a in NUMBERS for b in NUMBERS]


def products() -> list[str]:
    return [str(a * b) for a in NUMBERS for b in NUMBERS]


def quotients() -> list[str]:
    return [f"{a // b} {a % b} {divmod(a, b)[0]}" for a in NUMBERS for b in NUMBERS if b]


def bits() -> list[str]:
    return [f"{a & b} {a | b} {a ^ b} {~a}" for a in NUMBERS for b in NUMBERS]


def shifts() -> list[str]:
    return [f"{a << b} {a >> b}" for a in NUMBERS for b in (0, 1, 5, 31, 32, 52, 53, 64, 100)]


def powers() -> list[str]:
    return [f"{a**b} {pow(a, b, 1009)}" for a in NUMBERS for b in (0, 1, 2, 9)]


def orders() -> list[list[bool]]:
    return [[a < b, a <= b, a == b, a != b, a > b, a >= b] for a in NUMBERS for b in NUMBERS]


def numbers_of_one() -> list[list[str]]:
    return [[str(-a), str(+a), str(abs(a)), bin(a), str(a.bit_length()), str(bool(a))] for a in NUMBERS]


def truths() -> list[int]:
    values = (
        0,
        1,
        "",
        "0",
        [],
        [0],
        (),
        (0,),
        {},
        {0: 0},
        None,
        True,
        False,
        range(0),
        range(3),
        2**70,
    )
    return [1 if value else 0 for value in values]


def logic() -> list[object]:
    return [
        0 or "a",
        1 and "b",
        "" or None,
        [] or [1],
        not [],
        not 3,
        None and 1,
        1 < 2 < 3,
        3 > 2 > 2,
        1 if 0 else 2,
    ]


def slices() -> list[object]:
    ends = (None, 0, 1, 3, -1, -2, 9, -9)
    found: list[object] = []
    for text in ("abcdef", ""):
        for low in ends:
            for high in ends:
                found += [
                    text[low:high],
                    list(text)[low:high:2],
                    text[low:high:-1],
                    list(range(6))[low:high:-2],
                ]
    return found


def formats() -> list[str]:
    found = []
    for number in (0, 7, -7, 1234567, 2**60):
        found += [
            f"{number}",
            f"{number:5}",
            f"{number:<8}|",
            f"{number:^9}|",
            f"{number:,}",
            f"{number:08}",
            f"{number:b}",
            f"{number:x}",
            f"{number:+}",
        ]
    for word in WORDS:
        found += [
            f"{word}",
            f"{word:>8}",
            f"{word:<8}|",
            f"{word:*^9}",
            f"{word!r}",
            f"{word!s:>3}",
            f"{len(word):>{len(word)}}",
        ]
    return found


def reprs() -> list[str]:
    return [repr(one) for one in (*WORDS, None, True, 3, 2**80, [1, "a", None], "\n\\\x00\x7f é")]


def texts() -> list[object]:
    found: list[object] = []
    for word in WORDS:
        found += [
            word.split("."),
            word.split(","),
            word.split(),
            word.replace("a", "$&b"),
            word.upper(),
            word.lower(),
            word[::-1],
        ]
        found += [
            word.count("a"),
            word.find("b"),
            word.strip(),
            word.startswith("a"),
            word.endswith(("c", "z")),
            len(word),
        ]
        found += [
            word.partition("."),
            word.rpartition("."),
            word.isdecimal(),
            word.isascii(),
            word.zfill(6),
            word.rjust(4, "-"),
        ]
        found += [
            "-".join(word),
            word.removeprefix("a"),
            word.split(".", 1),
            word * 2,
            "b" in word,
            word.ljust(3) + "|",
        ]
    return found


def translations() -> list[str]:
    table = str.maketrans("LW", "01")
    return [
        "LWWLx".translate(table),
        "{} and {name}: {0:>3}{{}}".replace("{0", "{").format("a", 5, name="b"),
    ]


def parsed() -> list[str]:
    return [
        str(int(one, base))
        for one, base in (("0", 10), ("-12", 10), ("1011", 2), ("zz", 36), ("9" * 30, 10), ("ff", 16))
    ]


def failures() -> list[str]:
    found = []
    for number in range(8):
        try:
            fail(number)
        except KeyError:
            found.append("key")
        except (IndexError, ZeroDivisionError) as error:
            found.append(type(error).__name__)
        except LookupError:
            found.append("lookup")
        except Exception as error:
            found.append(f"other {error}" if isinstance(error, Mistake) else "value")
        finally:
            found.append("finally")
    return found


class Mistake(ValueError):
    def __init__(self, what: str, how: int = 1) -> None:
        super().__init__(f"{what} {how}")
        self.what = what


def fail(number: int) -> None:
    if number == 0:
        {"a": 1}["b"]
    elif number == 1:
        [1][5]
    elif number == 2:
        int("x")
    elif number == 3:
        raise Mistake("oh", how=3)
    elif number == 4:
        raise LookupError
    elif number == 5:
        number //= 0
    elif number == 6:
        "abc".index("z")
    else:
        a, b = [1, 2, 3]


def collections() -> list[object]:
    known = {(1, 2): "a", "b": [1], 3: None}
    known[1, 2] += "c"
    known.setdefault(4, []).append(5)
    known["b"] += (2, 3)
    removed = known.pop(3)
    members = {1, 2, 3} & {2, 3, 4} | {9}
    members.add(2)
    members ^= {9, 10}
    pairs = dict(zip("abc", range(3), strict=True))
    pairs.update({"a": 7})
    del pairs["b"]
    return [
        list(known.items()),
        removed,
        (1, 2) in known,
        [1, 2] == [1, 2],
        sorted(members),
        list(pairs.items()),
        pairs.get("z", 5),
        {**pairs, "q": 1}["q"],
    ]


def lists() -> list[object]:
    values = [3, 1, 2]
    alias = values
    values += [9]
    values.sort(reverse=True)
    values.insert(1, 5)
    last, first = values.pop(), values.pop(0)
    values[0], values[-1] = values[-1], values[0]
    head, *rest = values
    (a, b), c = (1, 2), 3
    return [
        alias,
        last,
        first,
        head,
        rest,
        a + b + c,
        values.index(5),
        values.count(5),
        [0] * 3 + [1],
        list(reversed(values)),
        max(values),
        min([], default=4),
        max("abc", key=lambda one: -ord(one)),
        sum([1, 2], 10),
    ]


def loops() -> list[object]:
    found: list[object] = []
    for number in range(10, 0, -3):
        if number == 7:
            continue
        found.append(number)
    else:
        found.append("else")
    for number in (1, 2):
        if number == 2:
            break
    else:
        found.append("never")
    while len(found) < 7:
        found.append(len(found))
        if (size := len(found)) > 6:
            break
    else:
        found.append("while")
    makers = [lambda: number for number in range(3)]
    return [
        *found,
        size,
        [one() for one in makers],
        [(a, b) for a in range(3) for b in range(a) if a != 1],
    ]


def libraries() -> list[object]:
    return [
        list(combinations("abcd", 2)),
        list(permutations([1, 2, 3], 2)),
        list(product("ab", repeat=2)),
        list(pairwise([1, 2, 3])),
        list(islice(range(100), 3)),
        list(islice("abcdef", 1, 4)),
        list(chain([1], (2, 3))),
        list(accumulate([1, 2, 3])),
        list(repeat("a", 2)),
        reduce(lambda a, b: a * b, [1, 2, 3, 4], 1),
        math.comb(40, 20),
        math.gcd(12, 18),
        math.isqrt(10**12 + 1),
        math.prod([2, 3]),
        list(enumerate("ab", 1)),
        list(enumerate("ab", start=2)),
        list(map(str, [1, 2])),
        list(filter(None, [0, 1])),
        any([0, 1]),
        all([]),
        next(iter([]), 7),
        re.fullmatch(r"(\d+)(?:-(?P<b>x))?", "12").groups(),
        re.sub("a(.)", r"<\1>", "abac$"),
        bool(re.match("a+$", "aab")),
        re.escape("a-b.c"),
    ]


class Colour(IntEnum):
    RED = 1
    BLUE = 2

    def __str__(self) -> str:
        return "red" if self is Colour.RED else "blue"


class Side(IntEnum):
    LEFT = 0
    RIGHT = 1


class Point(NamedTuple):
    x: int
    y: int = 5

    @property
    def sum(self) -> int:
        return self.x + self.y

    def __neg__(self) -> "Point":
        return Point(-self.x, -self.y)


class Shape:
    sides = 3
    names = ("a", "b")
    doubled = sides * 2

    def __init__(self, size: int, *, colour: int = 4) -> None:
        self.size, self.colour = size, colour
        self.asked = 0

    @property
    def area(self) -> int:
        return self.size * self.sides

    @cached_property
    def costly(self) -> int:
        self.asked += 1
        return self.asked

    @staticmethod
    def twice(value: int) -> int:
        return 2 * value

    @classmethod
    def unit(cls) -> "Shape":
        return cls(1)

    @staticmethod
    @lru_cache(maxsize=None)
    def remembered(key: tuple[int, ...]) -> list[int]:
        return list(key)

    def walk(self, count: int = 2) -> Iterator[int]:
        for number in range(count):
            yield number * self.size
        yield from (100, 200)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: int) -> int:
        return at + self.size


class Square(Shape):
    sides = 4

    @property
    def area(self) -> int:
        return super().area if False else self.size**2

    def walk(self, count: int = 1) -> Iterator[int]:
        return super().walk(count + 1)


@cache
def fibonacci(number: int) -> int:
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


def classes() -> list[object]:
    shape, square = Shape(2), Square(3, colour=7)
    twice = square.twice
    return [
        shape.area,
        square.area,
        shape.costly,
        shape.costly,
        square.colour,
        Square.unit().size,
        shape.twice(4),
        Shape.twice(5),
        twice(6),
        list(shape.walk()),
        list(square.walk(count=2)),
        len(shape),
        shape[5],
        Shape.doubled,
        square.names,
        isinstance(square, Shape),
        isinstance(shape, Square),
        type(square) is Square,
        Shape.remembered((1, 2)) is Shape.remembered((1, 2)),
        str(fibonacci(90)),
        hasattr(shape, "size"),
        getattr(shape, "none", 3),
    ]


def tuples_with_names() -> list[object]:
    point = Point(3)
    x, y = point
    return [
        point.x,
        point.y,
        point[1],
        x + y,
        list(-point),
        list(point._replace(x=9)),
        point == (3, 5),
        list(Point(y=1, x=2)),
        point.sum,
        point._asdict()["y"],
        max([Point(1, 2), Point(1, 3)]).y,
    ]


def enumerations() -> list[object]:
    words = ("none", "one", "two")
    return [
        str(Colour.RED),
        f"{Colour(2)!s}",
        Colour.BLUE + 1,
        words[Colour.BLUE],
        Colour.RED < Colour.BLUE,
        Colour(1) is Colour.RED,
        [int(one) for one in Colour],
        Colour.RED == 1,
        f"{Side.LEFT} {Side.RIGHT!r} {[Side.LEFT]} {Side(1).name}",
    ]


# --- where the two languages differ without a word ------------------------------------------------

LINES = ((0, 1, 2), (3, 4, 5))
first = second = [1]
SQUARES = {}
for at in range(4):
    if at == 2:
        continue
    SQUARES[at] = at * at
LINES += ((6, 7, 8),)
null = (lambda: 7)()


def kinds_of_sequences() -> list[object]:
    before = LINES
    after = before
    after += ((9,),)
    return [
        str((1, 2)),
        f"{(1,)} {()} {[(1, 'a'), None]}",
        [1, 2] == (1, 2),
        (1, 2) == (1, 2),
        isinstance((1,), list),
        isinstance((1,), tuple),
        type([]) is list,
        type(()) is tuple,
        len(before),
        str((1, 2)[:1] + (3,) * 2),
        str(list(zip([1], "a", strict=True)) + list({2: 3}.items()) + list(enumerate("x"))),
        str({"a": (1, 2)}),
        str(Point(1, 2)),
        repr(range(3)),
        str(divmod(7, 2)) + str("a-b".partition("-")) + str(list(product("ab"))),
        str(rest(1, 2, 3)),
        (1, 2) in [[1, 2]],
        first is second,
        list(SQUARES.items()),
        null,
    ]


def rest(_: int, *others: int) -> tuple[int, ...]:
    return others


def iterators() -> list[object]:
    values = iter([1, 2, 3, 4, 5])
    found: list[object] = [next(values), next(values)]
    for value in values:
        if value == 3:
            break
    found.append(list(values))
    letters = iter("abcdef")
    found.append(list(zip(letters, letters, strict=True)))
    walk = (number for number in range(9))
    found += [3 in walk, next(walk), list(islice(walk, 2)), sum(walk)]
    backwards = reversed([1, 2, 3])
    found += [next(backwards), next(backwards), list(permutations(one for one in "ab"))]
    found += [list(zip("ab", repeat(0), strict=False)), list(islice("abcdefg", 1, 6, 2))]
    found += [list(chain.from_iterable([[1], (2, 3)])), all(one < 2 for one in [3, None])]
    try:
        list(zip([1], [1, 2], strict=True))
    except ValueError:
        found.append("lengths")
    return found


def nested_breaks() -> list[object]:
    found: list[object] = []
    for outer in range(3):
        for inner in range(3):
            if inner == 1:
                break
            found.append((outer, inner, "break;"))
    else:
        found.append("else")
    for outer in range(3):
        for inner in range(3):
            if inner == outer:
                break
        else:
            break
        while True:
            break
        else:
            found.append("never")
    else:
        found.append("also")
    return found


def defaults() -> list[object]:
    makers = [lambda by, at=at: at * by for at in range(3)]

    def remember(value: int, known: list[int] = []) -> list[int]:  # noqa: B006 - as people do
        known.append(value)
        return known

    remember(1)
    return [[one(10) for one in makers], remember(2), defaulted(), defaulted(new=3)]


def defaulted(new: int = len(LINES), *, this: int = 1) -> list[int]:
    return [new, this]


def words_of_javascript() -> list[object]:
    new, var, this, arguments, let, function = 1, 2, 3, 4, 5, 6
    typeof = {"constructor": 1, "__proto__": 2, "length": 3}
    length = name = prototype = constructor = toString = 0
    undefined = [
        new,
        var,
        this,
        arguments,
        let,
        function,
        length,
        name,
        prototype,
        constructor,
        toString,
    ]
    new_ = 9
    return [undefined, sorted(typeof), "toString" in typeof, typeof.get("valueOf"), new, new_]


def shadowed() -> list[object]:
    min, range, list, index, map, len = 1, 2, 3, 4, 5, 6  # noqa: A001 - as people do
    return [min, range, list, index, map, len]


def lazy() -> list[object]:
    asked: list[int] = []

    def ask(value: int) -> int:
        asked.append(value)
        return value

    tests = [ask(5) < ask(3) < ask(9), 1 < ask(2) <= 2 < ask(4), 0 <= -1 < [][0] if asked else 0]
    return [tests, asked, 1 < 2 in [2], {1} <= {1, 2}, {1} < {1}, {1, 2} >= {2}, {1} <= {2}, {1} > {2}]


def sets_as_keys() -> list[object]:
    seen = {frozenset((1, 2)): "a", (1, frozenset("x")): "b"}
    one, other = Shape(1), Shape(1)
    shapes = {(one, 1): "one", (other, 1): "other"}
    members = alias = {1, 2, 3}
    members &= {2, 3}
    members -= {3}
    numbers = again = [1]
    numbers *= 3
    numbers += numbers
    return [
        seen[frozenset((2, 1))],
        seen[1, frozenset("x")],
        shapes[one, 1],
        len(shapes),
        sorted(alias),
        again,
        {1: None}.get(1, 5),
        sorted({1, 2, 3}.intersection([1, 2], {2, 3})),
        {1}.issuperset([1]),
        {1}.isdisjoint({2}),
        sorted({1}.copy() | {2}),
        list(Point(1, 2)._replace(y=None)),  # type: ignore[arg-type] # None is a value, too
        getattr(Point(1), "z", None),
    ]


def texts_in_part() -> list[object]:
    text = "ab-ab-𝔘-ab"
    return [
        text.find("ab", 1),
        text.find("ab", 4),
        text.rfind("ab"),
        text.index("-", -4),
        text.find("ab", 1, 4),
        text.startswith("ab", 3),
        text.endswith("b", 0, 2),
        text.count("ab", 1),
        "abc".count(""),
        text.split("-", maxsplit=1),
        text.rsplit("-", 1),
        "".splitlines(),
        "a\rb\n\nc\n".splitlines(),
        "abc".center(6, "*") + "ab".center(5, "*"),
        "aBc".capitalize() + "aBc".swapcase(),
        "a1".isalnum(),
        " \t".isspace(),
        "{!r} {0:>3}".replace("{0", "{").format("a", 5),
        "abc".translate(str.maketrans({"a": "x", "b": None, "c": 100})),
        "abc".translate(str.maketrans("a", "z", "c")),
        f"{5:#b} {255:#06x} {12345678:_b} {'a':04} {'abc':.2}",
        re.findall("(a)(b)?", "aba"),
        re.findall("a(b)?", "aba"),
        bool(re.search(r"\Aa{,2}\Z", "aa")),
        int("1_000"),
        [1, 2, 1].index(1, 1),
        True.bit_count() + (255).bit_count(),
        str(math.isqrt(10**40 + 1)) + str(math.isqrt(2**64 - 1)) + str(math.isqrt(0)),
        math.gcd(12, 18, 9),
    ]


def doubled(owner: "Tree", value: int) -> int:
    return value * owner.branches


class Tree:
    fields = 3
    branches = height = 2
    grow = doubled
    shrink = lambda self, by=1: self.height - by  # noqa: E731 - as people do
    first = first

    def __init__(this, size: int) -> None:  # noqa: N805 - as people do
        this.size, this.length = size, 99

    def __len__(self) -> int:
        return 0

    def of(self) -> int:
        return self.size

    @cache  # noqa: B019 - as people do
    def count(self, depth: int) -> int:
        return 1 if depth == 0 else self.count(depth - 1) + self.count(depth - 1) + self.size

    @classmethod
    def planted(klass, size: int = 4) -> "Tree":
        return klass(size)


class Oak(Tree):
    def of(self) -> int:
        return Tree.of(self) + 1


def members() -> list[object]:
    oak = Oak(5)
    return [
        Tree.fields,
        oak.height,
        oak.grow(7),
        oak.shrink(),
        oak.shrink(by=2),
        oak.of(),
        Tree.of(oak),
        len(oak),
        bool(oak),
        oak.length,
        str(oak.count(60)),
        Tree(1).count(2),
        Oak.planted().size,
        Tree.first,
        hasattr(oak, "bark"),
        hasattr(Oak, "of"),
    ]


def asserted() -> str:
    try:
        assert [], "nothing"
    except AssertionError as error:
        return str(error)
    return "fine"


if __name__ == "__main__":
    print("not translated")  # noqa: T201 - nor is this run
