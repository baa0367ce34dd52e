"""Rules and kernels to machine code: numba when it is there and worth it, plain Python otherwise.

A *rule* is a function of a game (`successors`, `terminal`, ...); a *kernel* is a loop of ours that
calls rules. Both are plain Python functions and are compiled unchanged. Kernels take rules through
numba's first-class function types, so one compiled kernel serves every game, and both it and the
rules come from the disk cache at the second start. (A compiled function passed as an ordinary
argument would be compiled into the kernel again at every start.)

The cache lies in `cache_folder()`, in one folder for each fingerprint of a function and of all that
it uses. numba itself notices a changed file, but not a changed helper in another file.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from pathlib import Path
from threading import RLock
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from builder.binding import bound
from lookup.errors import BuildError, GameError
from lookup.games.rules_digest import Parts, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableSequence

    from numpy.typing import NDArray


class Engine(StrEnum):
    """What runs rules and kernels."""

    NUMBA = "numba"
    PYTHON = "python"


WORTH_COMPILING = 100_000
"""Below this many indices, starting numba takes longer than it saves (`scripts/bench engine`)."""

_LONG_TUPLE = 256
_SLACK = 1024

UNWRITTEN = -1
"""What is in a buffer where no rule has written; whoever reads a list puts it back."""
_compiling = RLock()  # numba's settings are global, and helpers are compiled inside their callers


def has_numba() -> bool:
    """Whether numba is installed; does not import it."""
    return importlib.util.find_spec("numba") is not None


def choose_engine(wanted: Engine | None, size: int) -> Engine:
    """The engine for a game of `size` indices.

    Raises:
        BuildError: numba was asked for and is not installed.
    """
    if wanted == Engine.NUMBA and not has_numba():
        raise BuildError("engine 'numba' is not installed: expected the extra 'fast' of endtable")
    if wanted is not None:
        return wanted
    return Engine.NUMBA if size >= WORTH_COMPILING and has_numba() else Engine.PYTHON


def cache_folder() -> Path | None:
    """Where compiled code is kept between runs; None for a user without a home."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given)
    if given := os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "endtable"
    try:
        return Path.home() / ".cache" / "endtable"
    except RuntimeError:
        return None


class Kernel:
    """A loop that runs compiled or as it is: `kernel(engine)` is the function to call.

    Arguments are integers, numpy arrays and rules that `rule` made for the same engine, of the same
    types in every call of that function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __call__(self, engine: Engine) -> Callable[..., Any]:
        """The kernel for an engine."""
        return _compiled_kernel(self.function) if engine == Engine.NUMBA else self.function


def rule(function: Callable[..., int], engine: Engine) -> Callable[..., int]:
    """A game's rule for an engine: itself, or compiled for 64-bit integers."""
    return _compiled_rule(function) if engine == Engine.NUMBA else function


def buffer(length: int, engine: Engine) -> MutableSequence[int]:
    """Room for what rules write; interpreted code is faster with a list.

    Compiled code does not notice where it ends: with some more room, whoever calls a rule that writes
    too much lives to say so.
    """
    if engine == Engine.NUMBA:
        return np.full(length + _SLACK, UNWRITTEN)  # type: ignore[return-value]  # all that rules need
    return [UNWRITTEN] * length


def views(engine: Engine, *arrays: NDArray[Any]) -> list[Any]:
    """Arrays as kernels want them: interpreted code is several times faster with memoryviews."""
    return list(arrays) if engine == Engine.NUMBA else [array.data for array in arrays]


def _compiled_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel compiled for the types of its first call's arguments, rules being first-class functions.

    Finding these types takes as long as a thousand nodes, so it is done once.
    """
    import numba  # optional, and slow to import

    dispatcher: Any = None

    def call(*arguments: Any) -> Any:
        nonlocal dispatcher
        if dispatcher is None:
            types = (
                numba.types.FunctionType(argument.nopython_signatures[0])
                if isinstance(argument, numba.core.dispatcher.Dispatcher)
                else numba.typeof(argument)
                for argument in arguments
            )
            dispatcher = _dispatcher(function, tuple(types))
        return dispatcher(*arguments)

    return call


@cache
def _compiled_rule(function: Callable[..., int]) -> Callable[..., int]:
    from numba import types  # optional, and slow to import

    out = types.Array(types.int64, 1, "C")
    plain = bound(function)
    names = plain.__code__.co_varnames[: plain.__code__.co_argcount]
    parameters = [out if name == "out" else types.int64 for name in names]
    compiled: Callable[..., int] = _dispatcher(plain, types.int64(*parameters))
    return compiled


def _dispatcher(function: Callable[..., Any], signature: Any) -> Any:
    """The compiled form of a function, with its helpers compiled too; made once, whoever asks."""
    with _compiling:
        return _make_dispatcher(function, signature)


@cache
def _make_dispatcher(function: Callable[..., Any], signature: Any) -> Any:
    import numba  # optional, and slow to import

    def with_helpers(value: object) -> object:
        if isinstance(value, FunctionType):
            return _dispatcher(value, None)
        value = _as_tuple(value)
        # numba makes each item of a tuple a value of its own: a long one would take minutes.
        if isinstance(value, tuple) and len(value) > _LONG_TUPLE:
            return np.array(value, np.int64)
        return value

    assert isinstance(function, FunctionType)
    name = fingerprint(function)  # finds recursion, which would not end here
    used = {name: with_helpers(value) for name, value in _globals_used(function).items()}
    cells = tuple(CellType(with_helpers(cell.cell_contents)) for cell in function.__closure__ or ())
    clone = FunctionType(
        function.__code__,
        {**function.__globals__, **used},
        function.__name__,
        function.__defaults__,
        cells or None,
    )
    # A file in the cache names its function's module, and is of no use where that cannot be imported:
    # games from files are in modules that are called otherwise in another process.
    clone.__qualname__, clone.__module__ = f"{function.__qualname__}_{name}", __name__
    with _cache_for(name) as writable:
        # Users' code is not trusted to keep within bounds, nor never to divide by zero.
        ours = function.__module__.partition(".")[0] in ("lookup", "builder")
        safety = {"error_model": "numpy"} if ours else {"error_model": "python", "boundscheck": True}
        return numba.njit(signature, cache=writable, nogil=True, **safety)(clone)


def _as_tuple(value: object) -> object:
    """A list as numba takes it from outside a function: as a tuple."""
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


@contextmanager
def _cache_for(fingerprint: str) -> Iterator[bool]:
    """Let numba cache what is declared inside in a folder of its own; False if it cannot be written."""
    import numba  # optional, and slow to import

    root, before = cache_folder(), numba.config.CACHE_DIR
    writable = root is not None
    if root is not None:
        numba.config.CACHE_DIR = str(root / fingerprint)
        try:
            (root / fingerprint).mkdir(parents=True, exist_ok=True)
            writable = os.access(root / fingerprint, os.W_OK)
        except OSError:
            writable = False
    try:
        yield writable
    finally:
        numba.config.CACHE_DIR = before


def fingerprint(function: Callable[..., Any]) -> str:
    """A digest of a function's code, of its constants, and of every function that it uses.

    Of users' functions also of all else that their results may depend on: see `rules_digest`.

    Raises:
        GameError: a function calls itself.
    """
    digest = hashlib.sha256()
    inside: list[FunctionType] = []

    def add(value: object) -> None:
        if isinstance(value, FunctionType):
            if value in inside:
                raise GameError(f"{value.__qualname__} calls itself: expected rules without recursion")
            inside.append(value)
            add_code(value.__code__)
            for name, used in sorted(_globals_used(value).items()):
                digest.update(name.encode())
                add(used)
            for cell in value.__closure__ or ():
                add(cell.cell_contents)
            inside.pop()
        elif isinstance(value, np.ndarray):
            digest.update(value.tobytes())
        elif not isinstance(value, ModuleType):
            digest.update(repr(value).encode())

    def add_code(code: CodeType) -> None:
        digest.update(code.co_code)
        digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
        for constant in code.co_consts:
            add_code(constant) if isinstance(constant, CodeType) else add(constant)

    add(function)
    for part in Parts().of(function):
        digest.update(part.encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:24]


def _globals_used(function: Callable[..., Any]) -> dict[str, Any]:
    """The module-level names that a function's code mentions, with their values."""
    assert isinstance(function, FunctionType)
    known = function.__globals__
    return {name: known[name] for name in set(names_in(function.__code__)) if name in known}
