"""What is wild: texts that nobody would write, and what must hold of all that is made of them."""

# ruff: noqa: RUF001 - letters that look like others are what this is about
from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

LONGEST_MESSAGE = 2000
"""Characters: a message quotes what is long by its ends, and lists a few dozen moves."""

LOOKALIKES = {
    "0": "O٠０⁰۰",
    "1": "l١１¹Ⅰ",
    "2": "²٢２",
    "3": "³٣３",
    "4": "٤４",
    "8": "８",
    "x": "ⅹхＸX",
    "X": "ХＸⅩx",
    "o": "оｏ0O",
    ".": "․．·,",
    "|": "ǀ｜∣I",
    "/": "⁄∕／\\",
    " ": "\u00a0\u2003\u3000\t",
    "+": "＋﹢",
    "-": "‐－−",
    "W": "Ԝｗw",
    "L": "Ⅼｌl",
    ",": "，٫،",
    "a": "аａA",
    "K": "KК",
}
ODD = [
    *"\0\a\t\n\r\x0b\x0c\x1b\x7f\x85\xa0\xad",
    *"\u2028\u2029\u200b\u200d\u202e\ufeff\ufffd\uffff\ud800\udfff",
    *"٣²½Ⅷ𝟙𝔁İıßſ",
    "\U0001f480",
    "\U0010ffff",
]
WHOLE = [
    *(
        "",
        " ",
        "\n",
        "\0",
        "-",
        "+",
        ".",
        "/",
        "0",
        "-0",
        "+0",
        "-1",
        "00",
        "1e3",
        "1_000",
        "0x10",
        "1.0",
    ),
    *(
        "nan",
        "None",
        "True",
        "٣",
        "²",
        "..",
        "../..",
        "%s%n",
        "{0}",
        "<b>",
        "' OR 1=1",
        "[]",
        "\\",
        "''",
    ),
    *("9" * 20, "9" * 5000, "1" + "0" * 30, "(" * 500, "0 + " * 500 + "0", " + ", "1 + ", " + 1"),
]
"""Some that are tried on all games."""


class BrokenError(Exception):
    """An answer that nobody may get."""


def wild_text(random: Random, alphabet: str) -> str:
    """Any text: of the characters of a game, odd ones, or both."""
    kind = random.random()
    if kind < 0.15:
        return random.choice(WHOLE)
    known = [*alphabet, *(one for sign in alphabet for one in LOOKALIKES.get(sign, ""))]
    pool = known if kind < 0.6 else [*known, *ODD] if kind < 0.9 else ODD
    length = random.choice((1, 2, 3, 8, 20, 40)) if random.random() < 0.99 else 10**5
    return "".join(random.choices(pool or ODD, k=random.randint(0, length)))


def near_miss(random: Random, text: str) -> str:
    """A text with something changed, swapped, dropped, doubled or put in; mostly no position."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(text) + 1)
        sign = text[at : at + 1]
        how = random.randrange(9)
        if how == 0:
            put = random.choice(LOOKALIKES.get(sign, "?"))
            text = text[:at] + put + text[at + 1 :]
        elif how == 1:
            text = text[:at] + random.choice(ODD) + text[at + 1 :]
        elif how == 2:
            text = text[:at] + text[at + 1 :]
        elif how == 3:
            text = text[:at] + sign + text[at:]
        elif how == 4:
            other = random.randrange(len(text) + 1)
            low, high = min(at, other), max(at, other)
            text = (
                text[:low]
                + text[high : high + 1]
                + text[low + 1 : high]
                + text[low : low + 1]
                + text[high + 1 :]
            )
        elif how == 5:
            text = text[:at] + (random.choice(text) if text else "0") + text[at + 1 :]
        elif how == 6:
            text = (
                random.choice(
                    (
                        "{}\n",
                        "\n{}",
                        " {}",
                        "{} ",
                        "{}\0",
                        "\ufeff{}",
                        "{0}{0}",
                        "0{}",
                        "+{}",
                        "{} + {}",
                    )
                )
                .replace("{0}", "{}")
                .replace("{}", text)
            )
        elif how == 7:
            text = text.swapcase() if random.random() < 0.5 else text[::-1]
        else:
            text = text[:at] + random.choice(ODD) + text[at:]
    return text


def require(is_so: object, problem: str) -> None:
    """Complain unless it is so.

    Raises:
        BrokenError: it is not.
    """
    if not is_so:
        raise BrokenError(problem)


def require_sentence(error: Exception) -> None:
    """A message is one line that can be printed, and not long.

    Raises:
        BrokenError: it is not.
    """
    said = str(error)
    require(len(said.splitlines()) == 1, f"a message of several lines: {said[:300]!r}")
    require(len(said) <= LONGEST_MESSAGE, f"a message of {len(said)} characters: {said[:300]!r}")
    require(not any(0xD800 <= ord(one) < 0xE000 for one in said), f"not to be printed: {said!r}")


def shown(text: object) -> str:
    """An input as a failure shows it."""
    quote = ascii(text)
    if len(quote) <= 1200:
        return quote
    return f"{quote[:900]}...{quote[-200:]} ({len(quote)} characters)"


@contextmanager
def case(what: str) -> Iterator[None]:
    """Say of whatever goes wrong inside what it was about.

    Raises:
        BrokenError: it went wrong.
    """
    try:
        yield
    except BrokenError as error:
        raise BrokenError(f"{what}: {error}") from error
    except Exception as error:
        raise BrokenError(f"{what}: {type(error).__name__}: {str(error)[:500]}") from error
