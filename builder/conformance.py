"""Does a game keep the contract of `lookup.games.base`? Checks that explain the first failure in words.

Each check takes a game and the indices to look at, and raises `GameError` with a sentence that names
the index, its text and what is wrong. `sample_indices` gives all indices of a small game and a seeded
sample of a large one.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from builder.declarations import check_declarations
from lookup.errors import GameError, InvalidPositionError, quoted
from lookup.games.base import Game
from lookup.games.heap_game import HeapGame
from lookup.games.sources import explained
from lookup.games.step_game import StepGame
from lookup.values import Outcome

if TYPE_CHECKING:
    from lookup.games.base import Neighbours

Check: TypeAlias = Callable[["Game", Sequence[int]], None]
WHOLE = 1 << 16
SAMPLE = 1024
_HEAPS, _POSITIONS_OF_STEPS = 100, 8
_ROOM_BEYOND = 1024
_MOVES_NEAR = 4096  # near the start there are more moves than elsewhere
_PLAYED = 64  # positions of which moves are looked up by name
_UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of characters, ends of lines
_UNWRITTEN = -(1 << 62)  # what no rule writes
HOSTILE_TEXTS = ("", " ", "\0", "?", "-1", "0" * 99, "\N{ARABIC-INDIC DIGIT ONE}", "a\nb")


def sample_indices(game: Game, whole: int = WHOLE, sample: int = SAMPLE) -> Sequence[int]:
    """All indices of a game of up to `whole`; else both ends and a random sample, always the same.

    Some of the sample are near the start: in some games, few indices are positions. Of heaps the
    smallest, and of games of steps a few: they have thousands of moves to list.
    """
    if isinstance(game, HeapGame):
        return range(min(game.size, sample, _HEAPS))
    if isinstance(game, StepGame):
        sample = min(sample, _POSITIONS_OF_STEPS)
    if game.size <= max(whole, sample):
        return range(game.size)
    chosen = random.Random(0)  # noqa: S311 - not a secret
    near = _near_start(game, min(sample // 2, max(8, _MOVES_NEAR // max(1, game.max_moves))), chosen)
    anywhere = chosen.sample(range(game.size), sample - len(near))
    return sorted({0, game.start, game.size - 1, *near, *anywhere})


def _near_start(game: Game, count: int, chosen: random.Random) -> list[int]:
    """Up to so many positions that random play from the start leads to.

    Rules that break the contract end it: that is for the checks to explain.
    """
    found = {game.start: None}
    index = game.start
    try:
        for _ in range(4 * count):
            options = game.options_of(index)
            index = chosen.choice(chosen.choice(options)) if options else game.start
            if type(index) is not int or not 0 <= index < game.size:
                break
            found[index] = None
            if len(found) >= count:
                break
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a user's rule may raise anything
        return list(found)
    return list(found)


def check_game(game: Game, indices: Sequence[int], checks: Sequence[Check] | None = None) -> None:
    """Run all checks, or some.

    Raises:
        GameError: the first that fails, in words; also if a function of the game raises something.
    """
    for check in CHECKS if checks is None else checks:
        with explained():
            check(game, indices)


def check_index(game: Game, index: int) -> None:
    """Run all checks of rules at one index.

    Raises:
        GameError: the contract is broken there.
    """
    of_rules = (check_successors, check_predecessors, check_order, check_symmetries)
    check_game(game, [index], of_rules)


def broken_rule(game: Game, index: int) -> GameError:
    """What is wrong with a game whose compiled rules broke the contract at an index."""
    try:
        check_index(game, index)
    except GameError as error:
        return error
    return GameError(
        f"compiled, the rules of {game.table_name} break the contract at {named(game, index)}, and "
        "interpreted they do not: expected numbers below 2^63, and no use of what was never set"
    )


def check_shape(game: Game, indices: Sequence[int]) -> None:  # noqa: ARG001 - as all checks
    """Sizes make sense, the start is a position, and parameters and names lead back to the game."""
    check_declarations(game)
    if not game.is_position(game.start):
        raise GameError(f"the start of {game.table_name}, index {game.start}, is not a position")
    if type(game).from_parameters(dict(game.parameters)) != game:
        raise GameError(f"the parameters of {game.table_name} do not lead back to it")
    if type(game).from_table_name(game.table_name) != game:
        raise GameError(f"the name {game.table_name!r} does not lead back to its game")


def check_texts(game: Game, indices: Sequence[int]) -> None:
    """`parse` undoes `format`, and is strict."""
    for index in _positions(game, indices):
        text = game.format(index)
        if not isinstance(text, str):
            raise GameError(f"format returns {quoted(text)} for index {index}: expected a text")
        _check_printable(text, "format", f"index {index}")
        if (back := game.parse(text)) == index:
            continue
        if type(game).parse is Game.parse:
            raise GameError(f"index {index} and index {back} have the same text {quoted(text)}")
        raise GameError(f"index {index} formats as {quoted(text)}, which parses as index {back}")
    text = game.format(game.start)
    if not isinstance(board := game.board(text), str):
        raise GameError(f"board returns {quoted(board)} for {quoted(text)}: expected a text")
    for bad in (*HOSTILE_TEXTS, f" {text}", f"{text} ", f"{text}\n", f"{text}\0"):
        try:
            index = game.parse(bad)
        except InvalidPositionError:
            continue
        except ValueError as error:
            problem = f"parse raises {type(error).__name__} for {quoted(bad)}, which is no position"
            raise GameError(
                f"{problem}: expected InvalidPositionError(text, 'what was expected')"
            ) from None
        raise GameError(f"{quoted(bad)} is not the text of a position, yet it parses as index {index}")


def _check_printable(text: str, rule: str, where: str) -> None:
    """A text can be typed, printed and put into an address: it has no line breaks and the like."""
    if text.isprintable():
        return
    if odd := next((one for one in text if unicodedata.category(one) in _UNPRINTABLE), None):
        problem = f"{rule} returns {quoted(text)} for {where}, with the character {odd!r}"
        raise GameError(f"{problem}: expected a text that can be typed and printed")


def check_successors(game: Game, indices: Sequence[int]) -> None:
    """Ends are outcomes; successors are distinct positions within bounds."""
    for index in _positions(game, indices):
        end = game.terminal(index)
        if type(end) not in (int, Outcome) or end < 0 or (end and not end & 3):
            expected = "0, Outcome.WIN, Outcome.DRAW or Outcome.LOSS"
            raise GameError(
                f"terminal says {quoted(end)} for {named(game, index)}: expected {expected}"
            )
        if end > Outcome.WIN:
            if game.solver != "ordered":
                raise GameError(f"{named(game, index)} has plies left, which only 'ordered' can solve")
            if not all(step.end for step in game.moves(game.format(index))):
                raise GameError(f"{named(game, index)} has plies left, yet no move that ends the game")
        if end > Outcome.LOSS and game.solver == "grundy":
            problem = f"terminal says {end} for {named(game, index)}: expected 0 or a loss, since in"
            raise GameError(f"{problem} 'grundy' whoever cannot move loses")
        if not end:
            _neighbours(game, game.successors, index, game.max_moves, game.parts)


def check_moves(game: Game, indices: Sequence[int]) -> None:
    """The moves of a text are the successors of its index, each with a name of its own."""

    @cache
    def over(component: int) -> bool:
        return not game.options_of(component)

    def in_play(components: tuple[int, ...]) -> tuple[int, ...]:
        """A position as a sum whose order, and components where play is over, do not matter."""
        if not game.plays_sums:
            return components
        return tuple(sorted(component for component in components if not over(component)))

    for number, index in enumerate(_positions(game, indices)):
        steps = game.moves(game.format(index))
        after = {in_play(step.after) for step in steps if step.end is None}
        listed = game.options_of(index)
        if after != set(map(in_play, listed)):
            problem = f"the moves of {named(game, index)} are not its successors"
            raise GameError(f"{problem}: expected the same moves whenever they are asked for")
        if len({step.text for step in steps}) != len(steps):
            raise GameError(f"two moves of {named(game, index)} have the same name")
        for step in steps:
            _check_printable(step.text, "move_name", named(game, index))
            if step.end is None and game.components(step.position) != step.after:
                raise GameError(
                    f"move {quoted(step.text)} of {named(game, index)} shows another position"
                )
        for step in (*steps[:1], *steps[-1:]) if number < _PLAYED else ():
            if game.play(game.format(index), step.text) != step:
                raise GameError(f"playing {quoted(step.text)} in {named(game, index)} is not that move")


def check_predecessors(game: Game, indices: Sequence[int]) -> None:
    """Predecessors mirror successors: seen from both ends of every move at the given indices."""
    if game.predecessors is None:
        return
    for index in _positions(game, indices):
        for after in game.successors_of(index):
            before = _neighbours(game, game.predecessors, after, game.max_predecessors)
            if (index,) not in before:
                raise GameError(
                    f"{named(game, index)} moves to {named(game, after)}, which lacks it as predecessor"
                )
        for (before_index,) in _neighbours(game, game.predecessors, index, game.max_predecessors):
            if game.terminal(before_index):
                continue  # whoever asks skips it
            if index not in game.successors_of(before_index):
                raise GameError(
                    f"{named(game, index)} has predecessor {named(game, before_index)}, "
                    "which does not move to it"
                )


def check_order(game: Game, indices: Sequence[int]) -> None:
    """Where a solver goes by the order of the index, moves lead to smaller ones."""
    if isinstance(game, StepGame):
        for index in _positions(game, indices):
            once = _neighbours(game, game.steps, index, game.max_steps)
            leaps = _neighbours(game, game.leaps, index, game.max_steps)
            if leaps and not once:
                raise GameError(f"{named(game, index)} has a leap, yet no step")
            if any(after >= index for (after,) in (*once, *leaps)):
                raise GameError(f"{named(game, index)} does not move to smaller indices only")
    elif game.solver == "ordered":
        for index in _positions(game, indices):
            if any(after >= index for after in game.successors_of(index)):
                raise GameError(f"{named(game, index)} does not move to smaller indices only")


def check_symmetries(game: Game, indices: Sequence[int]) -> None:
    """Symmetries are one to one, keep positions and ends, and map moves to moves."""
    undo = list(range(game.symmetries))  # which one undid each of them last: it mostly does again
    for index in _positions(game, indices):
        if game.transform(index, 0) != index:
            raise GameError(f"symmetry 0 must be the identity, but moves {named(game, index)}")
        end, options = game.terminal(index), game.options_of(index) if game.symmetries > 1 else []
        for k in range(1, game.symmetries):
            image = game.transform(index, k)
            if not (0 <= image < game.size and game.is_position(image)):
                raise GameError(f"symmetry {k} maps {named(game, index)} to {image}, not a position")
            tried = (undo[k], *range(game.symmetries))
            undo[k] = next((back for back in tried if game.transform(image, back) == index), -1)
            if undo[k] < 0:
                raise GameError(f"no symmetry undoes symmetry {k} on {named(game, index)}")
            if game.terminal(image) != end:
                raise GameError(f"symmetry {k} changes the end of {named(game, index)}")
            mapped = {_turned(game, option, k) for option in options}
            if mapped != {tuple(sorted(option)) for option in game.options_of(image)}:
                raise GameError(f"symmetry {k} maps moves of {named(game, index)} to illegal ones")


def _turned(game: Game, option: tuple[int, ...], k: int) -> tuple[int, ...]:
    """What a move leads to under a symmetry; the order of a sum does not matter."""
    return tuple(sorted(game.transform(after, k) for after in option))


CHECKS: tuple[Check, ...] = (
    check_shape,
    check_texts,
    check_successors,
    check_moves,
    check_predecessors,
    check_order,
    check_symmetries,
)


def _positions(game: Game, indices: Sequence[int]) -> list[int]:
    return [index for index in indices if game.is_position(index)]


def named(game: Game, index: int) -> str:
    """An index as messages show it: with its text, if it is a position."""
    return (
        f"index {index} ({quoted(game.format(index))})" if game.is_position(index) else f"index {index}"
    )


def _neighbours(
    game: Game, step: Neighbours, index: int, most: int, parts: int = 1
) -> list[tuple[int, ...]]:
    """What a step writes, after checking that it keeps to its bounds."""
    if isinstance(game, HeapGame):
        most = min(most, index * (index // 2 + 1) + 1)  # large heaps have room for millions
    beyond = [_UNWRITTEN] * _ROOM_BEYOND  # to catch one that writes too much
    out = [_UNWRITTEN] * (most * parts) + beyond
    count = step(index, out)
    rule = f"{step.__name__} of {named(game, index)}"
    if type(count) is not int:
        problem = f"{rule} returns {quoted(count)}: expected how many it has listed"
        raise GameError(f"{problem} (is 'return' missing?)" if count is None else problem)
    if len(out) != most * parts + _ROOM_BEYOND:
        raise GameError(f"{rule} makes out longer or shorter: expected out[0] = ..., out[1] = ...")
    if not 0 <= count <= most:
        bound = "max_predecessors" if step == game.predecessors else "max_moves"
        raise GameError(f"{rule} lists {count}: expected at most {bound} = {most}")
    if out[most * parts :] != beyond:
        raise GameError(f"{rule} writes beyond the {most} places that it may use")
    found = [tuple(out[at : at + parts]) for at in range(0, count * parts, parts)]
    if len(set(found)) != count:
        twice = next(one for one in found if found.count(one) > 1)
        raise GameError(f"{rule} lists {' + '.join(map(str, twice))} twice: expected each once")
    for at, other in enumerate(one for components in found for one in components):
        if other == _UNWRITTEN:
            raise GameError(f"{rule} lists {count}, yet does not write out[{at}]")
        if type(other) is not int or not 0 <= other < game.size:
            expected = f"expected an index from 0 to {game.size - 1}"
            raise GameError(f"{rule} lists {quoted(other)}: {expected}")
        if not game.is_position(other):
            raise GameError(f"{rule} lists {other}, which is not a position")
    return found
