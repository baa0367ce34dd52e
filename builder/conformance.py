"""Does a game keep the contract of `lookup.games.base`? Checks that explain the first failure in words.

Each check takes a game and the indices to look at, and raises `GameError` with a sentence that names
the index, its text and what is wrong. `sample_indices` gives all indices of a small game and a seeded
sample of a large one.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from lookup.errors import EndtableError, GameError, InvalidPositionError
from lookup.games.heap_game import HeapGame
from lookup.games.step_game import StepGame
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lookup.games.base import Game, Neighbours

WHOLE = 1 << 16
SAMPLE = 1024
_HEAPS, _POSITIONS_OF_STEPS = 100, 8
HOSTILE_TEXTS = ("", " ", "\0", "?", "-1", "0" * 99, "\N{ARABIC-INDIC DIGIT ONE}", "a\nb")


def sample_indices(game: Game, whole: int = WHOLE, sample: int = SAMPLE) -> Sequence[int]:
    """All indices of a game of up to `whole`; else both ends and a random sample, always the same.

    Of heaps the smallest, and of games of steps a few: they have thousands of moves to list.
    """
    if isinstance(game, HeapGame):
        return range(min(game.size, sample, _HEAPS))
    if isinstance(game, StepGame):
        sample = min(sample, _POSITIONS_OF_STEPS)
    if game.size <= whole:
        return range(game.size)
    chosen = random.Random(0).sample(range(game.size), sample)  # noqa: S311 - not a secret
    return sorted({0, game.start, game.size - 1, *chosen})


def check_game(game: Game, indices: Sequence[int]) -> None:
    """Run all checks.

    Raises:
        GameError: the first that fails, in words; also if a function of the game raises something.
    """
    for check in CHECKS:
        try:
            check(game, indices)
        except EndtableError:
            raise
        except Exception as error:
            kind = type(error).__name__
            problem = f"a function of {game.table_name} failed in {check.__name__}: {kind}: {error}"
            raise GameError(problem) from error


def check_shape(game: Game, indices: Sequence[int]) -> None:  # noqa: ARG001 - as all checks
    """Sizes make sense, the start is a position, and parameters and names lead back to the game."""
    if game.size < 1 or not 0 <= game.start < game.size or not game.is_position(game.start):
        raise GameError(f"the start of {game.table_name}, index {game.start}, is not a position")
    if type(game).from_parameters(dict(game.parameters)) != game:
        raise GameError(f"the parameters of {game.table_name} do not lead back to it")
    if type(game).from_table_name(game.table_name) != game:
        raise GameError(f"the name {game.table_name!r} does not lead back to its game")


def check_texts(game: Game, indices: Sequence[int]) -> None:
    """`parse` undoes `format`, and is strict."""
    for index in _positions(game, indices):
        text = game.format(index)
        if (back := game.parse(text)) != index:
            raise GameError(f"index {index} formats as {text!r}, which parses as index {back}")
    text = game.format(game.start)
    for bad in (*HOSTILE_TEXTS, f" {text}", f"{text} ", f"{text}\n", f"{text}\0"):
        try:
            index = game.parse(bad)
        except InvalidPositionError:
            continue
        raise GameError(f"{bad!r} is not the text of a position, yet it parses as index {index}")


def check_successors(game: Game, indices: Sequence[int]) -> None:
    """Successors are distinct positions within bounds, and there are none once the game is over."""
    for index in _positions(game, indices):
        after = _neighbours(game, game.successors, index, game.max_moves, game.parts)
        end = game.terminal(index)
        if end < 0 or (end and not end & 3):
            raise GameError(f"terminal says {end} for {_name(game, index)}: expected an outcome's code")
        if end > Outcome.WIN:
            if game.solver != "ordered":
                raise GameError(f"{_name(game, index)} has plies left, which only 'ordered' can solve")
            if not all(step.end for step in game.moves(game.format(index))):
                raise GameError(f"{_name(game, index)} has plies left, yet no move that ends the game")
        if end and after:
            raise GameError(f"{_name(game, index)} is over, yet has {len(after)} moves")
        if not end and not after:
            raise GameError(f"{_name(game, index)} has no moves, yet terminal says it goes on")


def check_moves(game: Game, indices: Sequence[int]) -> None:
    """The moves of a text are the successors of its index, each with a name of its own."""
    for index in _positions(game, indices):
        steps = game.moves(game.format(index))
        after = {_in_play(game, step.after) for step in steps if step.end is None}
        listed = _neighbours(game, game.successors, index, game.max_moves, game.parts)
        if after != {_in_play(game, components) for components in listed}:
            raise GameError(f"the moves of {_name(game, index)} are not its successors")
        if len({step.text for step in steps}) != len(steps):
            raise GameError(f"two moves of {_name(game, index)} have the same name")
        for step in steps:
            if step.end is None and game.components(step.position) != step.after:
                raise GameError(f"move {step.text!r} of {_name(game, index)} shows another position")
        for step in (*steps[:1], *steps[-1:]):
            if game.play(game.format(index), step.text) != step:
                raise GameError(f"playing {step.text!r} in {_name(game, index)} is not that move")


def check_predecessors(game: Game, indices: Sequence[int]) -> None:
    """Predecessors mirror successors: seen from both ends of every move at the given indices."""
    if game.predecessors is None:
        return
    for index in _positions(game, indices):
        for (after,) in _neighbours(game, game.successors, index, game.max_moves):
            before = _neighbours(game, game.predecessors, after, game.max_predecessors)
            if (index,) not in before:
                raise GameError(
                    f"{_name(game, index)} moves to {_name(game, after)}, which lacks it as predecessor"
                )
        for (before_index,) in _neighbours(game, game.predecessors, index, game.max_predecessors):
            if (index,) not in _neighbours(game, game.successors, before_index, game.max_moves):
                raise GameError(
                    f"{_name(game, index)} has predecessor {_name(game, before_index)}, "
                    "which does not move to it"
                )


def check_order(game: Game, indices: Sequence[int]) -> None:
    """Where a solver goes by the order of the index, moves lead to smaller ones."""
    if isinstance(game, StepGame):
        for index in _positions(game, indices):
            once = _neighbours(game, game.steps, index, game.max_steps)
            leaps = _neighbours(game, game.leaps, index, game.max_steps)
            if leaps and not once:
                raise GameError(f"{_name(game, index)} has a leap, yet no step")
            if any(after >= index for (after,) in (*once, *leaps)):
                raise GameError(f"{_name(game, index)} does not move to smaller indices only")
    elif game.solver == "ordered":
        for index in _positions(game, indices):
            if any(after >= index for after in game.successors_of(index)):
                raise GameError(f"{_name(game, index)} does not move to smaller indices only")


def check_symmetries(game: Game, indices: Sequence[int]) -> None:
    """Symmetries are one to one, keep positions and ends, and map moves to moves."""
    for index in _positions(game, indices):
        if game.transform(index, 0) != index:
            raise GameError(f"symmetry 0 must be the identity, but moves {_name(game, index)}")
        for k in range(1, game.symmetries):
            image = game.transform(index, k)
            if not (0 <= image < game.size and game.is_position(image)):
                raise GameError(f"symmetry {k} maps {_name(game, index)} to {image}, not a position")
            if index not in {game.transform(image, back) for back in range(game.symmetries)}:
                raise GameError(f"no symmetry undoes symmetry {k} on {_name(game, index)}")
            if game.terminal(image) != game.terminal(index):
                raise GameError(f"symmetry {k} changes the end of {_name(game, index)}")
            mapped = {game.transform(after, k) for after in game.successors_of(index)}
            if mapped != set(game.successors_of(image)):
                raise GameError(f"symmetry {k} maps moves of {_name(game, index)} to illegal ones")


CHECKS: tuple[Callable[[Game, Sequence[int]], None], ...] = (
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


def _name(game: Game, index: int) -> str:
    return f"index {index} ({game.format(index)!r})" if game.is_position(index) else f"index {index}"


def _in_play(game: Game, components: tuple[int, ...]) -> tuple[int, ...]:
    """A position as a sum whose order, and components where play is over, do not matter."""
    if game.parts == 1:
        return components
    return tuple(sorted(index for index in components if not game.terminal(index)))


def _neighbours(
    game: Game, step: Neighbours, index: int, most: int, parts: int = 1
) -> list[tuple[int, ...]]:
    """What a step writes, after checking that it keeps to its bounds."""
    if isinstance(game, HeapGame):
        most = min(most, index * (index // 2 + 1) + 1)  # large heaps have room for millions
    out = [-1] * (most * parts + 1024)  # room to catch one that writes too much
    count = step(index, out)
    found = [tuple(out[at : at + parts]) for at in range(0, count * parts, parts)]
    if not 0 <= count <= most:
        raise GameError(f"{_name(game, index)} lists {count} neighbours: expected at most {most}")
    if any(extra != -1 for extra in out[most * parts :]):
        raise GameError(f"{_name(game, index)} writes beyond the {most} places that it may use")
    if len(set(found)) != count:
        raise GameError(f"{_name(game, index)} lists a neighbour twice")
    for other in (one for components in found for one in components):
        if not (0 <= other < game.size and game.is_position(other)):
            raise GameError(f"{_name(game, index)} lists {other}, which is not a position")
    return found
