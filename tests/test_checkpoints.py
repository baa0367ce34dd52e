"""A build that was stopped goes on, and gives the same bytes as one that was not."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builder import build, checkpoints, writer
from builder.build import build_table
from builder.checkpoints import Checkpoints
from builder.compile import Engine
from builder.parts import Encoded, Part, PartWriter, encode_chunk
from builder.solvers import mask, ordered, retrograde, steps
from lookup.errors import VerificationError
from lookup.games.clock import Clock
from lookup.games.rota import Rota
from lookup.games.sticks_heaps import SticksAny, SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers
from lookup.reader import TableFile

if TYPE_CHECKING:
    from pathlib import Path

    from builder.solvers.plan import Plan, Shard

BOARD = Tactics(2, 11)
"""64 shards of 8 KiB of bits; see `small_boards`."""
SHARDED = [
    Tactics(2, 9), BOARD, Rota(), SticksRun(1, 3, 1000), SticksRun(1, 2), SticksSpecial(30),
    WinnersLosers(16),
]  # fmt: skip
EVERY_KIND = [*SHARDED, SticksAny(1, 3), Clock(4, 5)]


@pytest.fixture(autouse=True)
def small_boards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards in shards, and without remoteness, of a sixteenth of the positions it takes otherwise."""
    monkeypatch.setattr(mask, "REMOTENESS_CELLS", 20)
    monkeypatch.setattr(mask, "_WHOLE_SCORES", 17)
    monkeypatch.setattr(mask, "_WHOLE_BITS", 20)


@pytest.fixture
def short_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small games in several shards too."""
    for solver in (ordered, steps):
        monkeypatch.setattr(solver, "_SLICE", 1 << 12)
    monkeypatch.setattr(steps, "_COMPILED_SLICE", 1 << 10)
    monkeypatch.setattr(retrograde, "_SLICE", 1 << 6)


@pytest.fixture(autouse=True)
def unverified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes are compared with those of a whole build; to check each, and rules, would take minutes."""

    def opened(temporary: Path, *arguments: Any) -> TableFile:
        file = TableFile(temporary)
        file.close()
        return file

    monkeypatch.setattr(build, "verified", opened)
    monkeypatch.setattr(build, "check_game", lambda *arguments: None)


class Stopped(Exception):  # noqa: N818 - what happens to a build, and no error of ours
    """The plug was pulled."""


def stop_after(monkeypatch: pytest.MonkeyPatch, game: Any, shards: int) -> list[Shard]:
    """Let builds of a game stop before their plan runs one more shard; lists those that ran."""
    right = build.solver_of(game)
    ran: list[Shard] = []

    def plan(game: Any, engine: Engine) -> Plan:
        made = right.plan(game, engine)
        run = made.run

        def counted(shard: Shard) -> None:
            if len(ran) >= shards:
                raise Stopped
            run(shard)
            ran.append(shard)

        made.run = counted  # type: ignore[method-assign]  # of this plan alone
        return made

    monkeypatch.setattr(build, "solver_of", lambda game: right._replace(plan=plan))
    monkeypatch.setattr(checkpoints, "SHARE", float("inf"))  # everything is kept at once
    return ran


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.part") if path.is_file()]


@pytest.mark.usefixtures("short_shards")
@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("game", SHARDED, ids=str)
def test_a_build_goes_on_where_it_was_stopped(
    game: Any, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if game.size > 1 << 17 and engine == Engine.PYTHON:
        monkeypatch.setattr(mask, "_WHOLE_SCORES", 11)
        monkeypatch.setattr(mask, "_WHOLE_BITS", 11)
        monkeypatch.setattr(mask, "REMOTENESS_CELLS", 14)
        monkeypatch.setattr(mask, "_SHARDS_BITS", 3)
        game = Tactics(2, 7) if game.cells == 18 else Tactics(3, 5)
    whole = build_table(game, tmp_path / "whole", engine=engine, patience=1e9).path.read_bytes()
    with monkeypatch.context() as patch:
        all_of_them = stop_after(patch, game, 10**9)
        build_table(game, tmp_path / "counted", engine=engine, patience=0)
    stops = sorted({1, len(all_of_them) // 2, len(all_of_them) - 1} - {0, len(all_of_them)})
    assert stops
    for stop in stops:
        folder = tmp_path / str(stop)
        with monkeypatch.context() as patch:
            stop_after(patch, game, stop)
            with pytest.raises(Stopped):
                build_table(game, folder, engine=engine, patience=0)
        assert not (folder / f"{game.table_name}.h5").exists()
        has_kept = bool(kept(folder))
        with monkeypatch.context() as patch:
            ran = stop_after(patch, game, 10**9)
            built = build_table(game, folder, engine=engine, patience=0)
        assert built.path.read_bytes() == whole
        assert len(ran) < len(all_of_them) if has_kept else len(ran) == len(all_of_them)
        assert [path.name for path in folder.iterdir()] == [built.path.name]


def test_what_is_over_soon_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*arguments: Any) -> None:
        pytest.fail("a checkpoint of a build that takes no time")

    monkeypatch.setattr(checkpoints, "PartWriter", unexpected)
    for game in EVERY_KIND:
        build_table(game, tmp_path, engine=Engine.NUMBA)


@pytest.fixture
def half_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which 20 of 64 shards of a board were kept."""
    with monkeypatch.context() as patch:
        stop_after(patch, BOARD, 20)
        with pytest.raises(Stopped):
            build_table(BOARD, tmp_path, patience=0)
    # Shards that ran when the plug was pulled were run to their end.
    assert 20 <= len(kept(tmp_path)) <= 22
    return tmp_path


def finish(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[int, bytes]:
    """How many shards the rest of the build runs, and what it makes."""
    with monkeypatch.context() as patch:
        ran = stop_after(patch, BOARD, 10**9)
        built = build_table(BOARD, folder, **{"patience": 0, **options})
    return len(ran), built.path.read_bytes()


@pytest.fixture
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return build_table(BOARD, tmp_path_factory.mktemp("whole")).path.read_bytes()


def test_damaged_parts_are_done_again(
    half_built: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = sorted(kept(half_built))
    count = len(parts)
    content = parts[0].read_bytes()
    parts[0].write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    parts[1].write_bytes(parts[1].read_bytes()[:-1])
    parts[2].write_bytes(b"")
    shutil.copy(parts[4], parts[3])  # a part in the place of another
    ran, result = finish(half_built, monkeypatch)
    assert (ran, result) == (64 - count + 4, whole)


@pytest.mark.parametrize("game", [*EVERY_KIND, Tactics(4, 7)], ids=str)
def test_what_was_compressed_is_not_compressed_again(
    game: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that was stopped after its table was written writes it from what was kept."""
    monkeypatch.setattr(checkpoints, "SHARE", float("inf"))
    whole = build_table(game, tmp_path / "whole").path.read_bytes()
    encoded: list[int] = []

    def counted(elements: Any, low: int, *rest: int) -> Encoded:
        encoded.append(low)
        return encode_chunk(elements, low, *rest)

    def stopped(*arguments: Any) -> None:
        raise Stopped

    monkeypatch.setattr(writer, "encode_chunk", counted)
    monkeypatch.setattr(checkpoints, "encode_chunk", counted)
    folder = tmp_path / "stopped"
    with monkeypatch.context() as patch:
        patch.setattr(build, "verified", stopped)
        with pytest.raises(Stopped):
            build_table(game, folder, patience=0)
    first = len(encoded)
    parts = kept(folder)
    encoded.clear()
    with monkeypatch.context() as patch:
        patch.setattr(build, "verified", stopped)
        with pytest.raises(Stopped):
            build_table(game, folder, patience=1e9)
    if game == BOARD:
        assert len(encoded) <= 2 < first  # its shards are smaller than the two chunks of the table
        return
    assert encoded == []
    # One of those that the table is made of is damaged: that one is encoded again.
    of_table = sorted(path for path in parts if path.name.startswith(("stored_", "outcome-")))
    content = of_table[-1].read_bytes()
    of_table[-1].write_bytes(bytes([content[0] ^ 8]) + content[1:])
    assert build_table(game, folder, patience=1e9).path.read_bytes() == whole
    assert 0 < len(encoded) <= first / 2 or first <= 3


@pytest.mark.usefixtures("short_shards")
def test_a_damaged_snapshot_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build_table(Rota(), tmp_path / "whole").path.read_bytes()
    with monkeypatch.context() as patch:
        every = stop_after(patch, Rota(), 10**9)
        build_table(Rota(), tmp_path / "counted", patience=0)
        stop_after(patch, Rota(), len(every) - 1)
        with pytest.raises(Stopped):
            build_table(Rota(), tmp_path, patience=0)
    (part,) = (tmp_path / ".rota.h5.build").rglob("snapshot-*/remoteness-*.part")
    content = part.read_bytes()
    part.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
    assert build_table(Rota(), tmp_path, patience=1e9).path.read_bytes() == whole


def test_what_does_not_verify_is_not_kept(
    half_built: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuted(*arguments: Any) -> TableFile:
        raise VerificationError("the new table is wrong")

    with monkeypatch.context() as patch:
        patch.setattr(build, "verified", refuted)
        with pytest.raises(VerificationError, match="is wrong"):
            build_table(BOARD, half_built)
    assert list(half_built.iterdir()) == []
    assert finish(half_built, monkeypatch) == (64, whole)


def test_other_code_makes_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    game, key = Tactics(3, 3), build._key(Tactics(3, 3), Engine.PYTHON)
    assert build._key(game, Engine.PYTHON) == key
    assert build._key(game, Engine.NUMBA) != key
    assert build._key(Tactics(3, 3, normal=True), Engine.PYTHON) != key
    typed_in = type("TypedIn", (Tactics,), {"__module__": "__main__"})(3, 3)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    assert build._key(typed_in, Engine.PYTHON) != build._key(typed_in, Engine.PYTHON)
    monkeypatch.setattr(build, "code_digest", lambda: "changed")
    assert build._key(game, Engine.PYTHON) != key


def test_checkpoints_of_other_rules_are_not_used(
    half_built: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "__version__", "99")
    ran, result = finish(half_built, monkeypatch)
    assert ran == 64
    assert result != whole  # another builder, in the attributes


def test_a_checkpoint_that_is_in_use_is_left_alone(
    half_built: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, engine = BOARD, Engine.NUMBA
    path = half_built / f"{game.table_name}.h5"
    other = checkpoints.Checkpoints(path, build._key(game, engine), 0)
    plan = build.solver_of(game).plan(game, engine)
    assert len(other.restore(plan)[0]) == len(kept(half_built))
    ran, result = finish(half_built, monkeypatch)
    assert (ran, result) == (64, whole)
    assert kept(half_built)
    other.close()


@pytest.mark.parametrize("room", [0, 30, 63])
@pytest.mark.parametrize("game", [Tactics(2, 13), Clock(6, 9)], ids=str)
def test_a_full_disk_ends_the_keeping_and_not_the_build(
    game: Any, room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of the solve, or of the write."""
    whole = build_table(game, tmp_path / "whole").path.read_bytes()
    room = min(room, 8) if game.name == "clock" else room
    add = PartWriter.add
    calls = 0

    def fails(writer: PartWriter, encoded: Encoded) -> None:
        nonlocal calls
        calls += 1
        if calls > room:
            raise OSError(errno.ENOSPC, "No space left on device")
        add(writer, encoded)

    monkeypatch.setattr(PartWriter, "add", fails)
    built = build_table(game, tmp_path / "full", patience=0)
    assert built.path.read_bytes() == whole
    assert calls > room
    assert [path.name for path in built.path.parent.iterdir()] == [built.path.name]


def test_a_disk_that_takes_no_key_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fails)
    built = build_table(Tactics(2, 9), tmp_path, patience=0)
    assert [path.name for path in tmp_path.iterdir()] == [built.path.name]


def test_what_was_discarded_does_not_take_the_checkpoints_of_another_with_it(tmp_path: Path) -> None:
    one = Checkpoints(tmp_path / "x.h5", "key", patience=0)
    assert one.is_active
    one.discard()  # as when the disk is full; the build goes on
    other = Checkpoints(tmp_path / "x.h5", "key", patience=0)
    assert other.is_active
    one.close()
    assert (other.folder / "key").exists()
    other.discard()
    other.folder.mkdir()  # a thread was about to write
    (other.folder / "late.tmp").touch()
    other.close()
    assert list(tmp_path.iterdir()) == []


def test_another_begins_in_the_folder_once_all_that_was_discarded_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {f"x-{low}-{low + 1}.part" for low in range(100)}
    one = Checkpoints(tmp_path / "x.h5", "key", patience=0)
    other = Checkpoints(tmp_path / "x.h5", "key", patience=0)
    unlink = os.unlink

    def meanwhile(path: str | Path, **named: Any) -> None:
        unlink(path, **named)
        if str(path).endswith("lock"):
            assert other.is_active
            for name in names:
                (other.folder / name).touch()

    assert one.is_active
    for name in names:
        (one.folder / name).touch()
    monkeypatch.setattr(os, "unlink", meanwhile)
    one.discard()
    one.close()
    monkeypatch.undo()
    assert {path.name for path in other.folder.iterdir()} == names | {"key", "lock"}
    other.close()


def test_a_part_gives_back_what_was_put_in(tmp_path: Path) -> None:
    array = np.arange(1000, dtype=np.uint16)
    path = tmp_path / "x-0-1000.part"
    writer = PartWriter(path, "x", 512, 3)
    for low in range(0, 1000, 256):
        writer.add(encode_chunk(array, low, min(low + 256, 1000), 512, 3))
    assert not path.exists()
    writer.close()
    part = Part.open(path, "x")
    assert (part.chunk, part.level, len(part.sizes)) == (512, 3, 4)
    target = np.zeros(1000, np.uint16)
    part.read_into(target)
    assert (target == array).all()
    for length in (768, 1025):
        with pytest.raises(ValueError, match="of another length"):
            part.read_into(np.zeros(length, np.uint16))
    content = path.read_bytes()
    for cut in range(0, len(content), 7):
        path.write_bytes(content[:cut])
        with pytest.raises(ValueError, match="part"):
            Part.open(path, "x")
    path.write_bytes(content)
    with pytest.raises(ValueError, match="one of something else"):
        Part.open(path, "y")
    for at in range(0, len(content), 5):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with pytest.raises(ValueError, match="part"):
            Part.open(path, "x").read_into(target)
