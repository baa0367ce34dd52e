"""The store of a cluster build, without a cluster: what is read was written, or an error says so."""

from __future__ import annotations

import errno
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given
from hypothesis import strategies as st

from builder.cluster import store as stores
from builder.cluster.objects import Stretch
from builder.cluster.store import LostObjectError, Store, StoreError
from builder.parts import encode_chunk
from lookup.errors import InvalidParameterError
from tests.cluster_here import new_store
from tests.conftest import ROOT

CHUNK = 512
TYPES = (np.uint8, np.int8, np.uint16, np.uint32, np.int64, np.uint64)


def numbers(length: int, dtype: Any = np.uint16, seed: int = 1) -> Any:
    return np.frombuffer(random.Random(seed).randbytes(length * np.dtype(dtype).itemsize), dtype)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return new_store(tmp_path / "store")


@pytest.fixture
def stored(store: Store) -> Store:
    """With one object of two arrays and several chunks."""
    store.write("solve/0", {"found": [1, 2]}, {"a": piece(900), "b": piece(700, np.int64, 40)})
    return store


def piece(length: int, dtype: Any = np.uint16, low: int = 0) -> Stretch:
    return Stretch(numbers(length, dtype), low, CHUNK)


def path_of(store: Store, name: str) -> Path:
    assert store.folder is not None
    return store.folder / name


# --- what is read is what was written -------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("chunks", [0, 1, 3])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_arrays_of_every_type_and_length(store: Store, dtype: Any, chunks: int, more: int) -> None:
    length = max(0, chunks * CHUNK // np.dtype(dtype).itemsize + more)
    store.write("solve/x", {"length": length}, {"a": piece(length, dtype, 7)})
    read = store.read("solve/x", "a")
    assert read.dtype == dtype
    assert read.tobytes() == numbers(length, dtype).tobytes()
    assert store.summary("solve/x") == {"length": length}


@given(st.data())
def test_any_stretch(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    store = Store(str(tmp_path_factory.mktemp("store")), "a build")
    length, low = data.draw(st.integers(0, 1000)), data.draw(st.integers(0, 10**12))
    store.write("solve/x", {}, {"a": piece(length, np.uint16, low), "b": piece(3)})
    first = data.draw(st.integers(0, length))
    end = data.draw(st.integers(first, length))
    read = store.read("solve/x", "a", low + first, low + end)
    assert read.tolist() == numbers(length)[first:end].tolist()


def test_more_chunks_than_are_read_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_RUN", 3 * CHUNK)
    monkeypatch.setattr(stores, "_TAIL_READ", 64)
    store.write("solve/x", {}, {"a": piece(20_000)})
    assert (store.read("solve/x", "a") == numbers(20_000)).all()
    assert (store.read("solve/x", "a", 700, 19_000) == numbers(20_000)[700:19_000]).all()


def test_chunks_as_the_table_stores_them(stored: Store) -> None:
    share = CHUNK // 2
    chunks = list(stored.chunks("solve/0", "a", 1, 4))
    expected = [(share, 2 * share), (2 * share, 3 * share), (3 * share, 900)]
    assert chunks == [encode_chunk(numbers(900), low, high, CHUNK, 1) for low, high in expected]


def test_an_object_is_replaced_whole(stored: Store) -> None:
    stored.write("solve/0", {"second": True}, {"a": Stretch(numbers(5, seed=2))})
    assert stored.summary("solve/0") == {"second": True}
    assert (stored.read("solve/0", "a") == numbers(5, seed=2)).all()
    assert stored.names("solve") == {"solve/0"}


def test_pickled_it_is_its_address(stored: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    again = pickle.loads(pickle.dumps(stored))
    assert again.summary("solve/0") == stored.summary("solve/0")
    assert again.traffic.read > 0 == again.traffic.written
    monkeypatch.chdir(Path(stored.url).parent)
    relative = pickle.dumps(Store("store", stored.label))
    monkeypatch.chdir("/")
    assert pickle.loads(relative).summary("solve/0"), "workers may stand in another folder"


# --- whatever is damaged is lost ------------------------------------------------------------------


def read_all(store: Store, name: str = "solve/0") -> list[bytes]:
    index = store.index(name)
    return [str(index.summary).encode(), *(store.read(name, array).tobytes() for array in index.arrays)]


def require_lost(store: Store, name: str = "solve/0") -> None:
    with pytest.raises(LostObjectError, match=f"'{name}' in '.*' ") as caught:
        read_all(store, name)
    assert caught.value.name == name
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.name, str(again)) == (name, str(caught.value))


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_no_flipped_byte_gives_a_wrong_value(stored: Store, mask: int) -> None:
    path, right = path_of(stored, "solve/0"), read_all(stored)
    whole = path.read_bytes()
    step = 53
    for at in [*range(mask % step, len(whole) - 200, step), *range(len(whole) - 200, len(whole))]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
        require_lost(stored)
    path.write_bytes(whole)
    assert read_all(stored) == right


def test_no_part_of_an_object_is_an_object(stored: Store) -> None:
    path = path_of(stored, "solve/0")
    whole = path.read_bytes()
    for length in (0, 1, 47, 48, *range(49, len(whole), 101), len(whole) - 1):
        path.write_bytes(whole[:length])
        require_lost(stored)
        path.write_bytes(whole[len(whole) - length :])
        require_lost(stored)
    path.write_bytes(whole + b"\0")
    require_lost(stored)
    path.write_bytes(whole + whole)
    require_lost(stored)


def test_neither_is_one_in_the_place_of_another(stored: Store) -> None:
    stored.write("solve/1", {"found": [3]}, {"a": piece(900)})
    one, other = (path_of(stored, name) for name in ("solve/0", "solve/1"))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    require_lost(stored)
    require_lost(stored, "solve/1")


def test_nor_one_of_another_build(stored: Store) -> None:
    other = Store(stored.url, "another build")
    with pytest.raises(LostObjectError, match="is an object of something else"):
        other.summary("solve/0")
    assert "solve/0" in other, "it is there"


def test_what_is_missing_is_lost(stored: Store) -> None:
    require_lost(stored, "solve/2")
    require_lost(stored, "elsewhere/0")
    assert "solve/2" not in stored
    for array, low, high in (("a", 0, 901), ("a", -1, 1), ("b", 0, 10), ("c", 0, 1)):
        with pytest.raises(LostObjectError, match=r"'solve/0' in .* has no (array|stretch)"):
            stored.read("solve/0", array, low, high)
    with pytest.raises(LostObjectError, match="has no stretch"):
        stored.read_into("solve/0", "a", 0, np.empty(5, np.uint8))


def test_one_that_vanishes_while_it_is_read(store: Store) -> None:
    store.write("solve/0", {}, {"a": piece(1 << 17)})
    index = store.index("solve/0")
    store.remove("solve/0")
    store.remove("solve/0")
    with pytest.raises(LostObjectError, match="is missing"):
        store.read_into("solve/0", "a", 0, np.empty(5, np.uint16), index)


def test_a_small_one_is_read_at_once(stored: Store) -> None:
    size = path_of(stored, "solve/0").stat().st_size
    before = stored.traffic.read
    stored.read("solve/0", "a")
    assert stored.traffic.read - before == size


# --- whole or not at all --------------------------------------------------------------------------

ENDLESS = """
import sys
import numpy as np
from builder.cluster.objects import Stretch
from builder.cluster.store import Store

store = Store(sys.argv[1], "a build")
elements = np.random.default_rng(1).integers(0, 256, 1 << 22, np.uint8)
print("ready", flush=True)
while True:
    store.write("solve/0", {"n": len(elements)}, {"a": Stretch(elements)})
"""


def test_who_is_killed_while_writing_leaves_no_half_object(store: Store) -> None:
    chance, leftovers = random.Random(5), 0
    for _ in range(2):
        command = [sys.executable, "-c", ENDLESS, store.url]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.02, 0.1))
            writer.send_signal(signal.SIGKILL)
        names = store.names("solve")
        assert names <= {"solve/0"}
        if names:
            assert len(store.read("solve/0", "a")) == store.summary("solve/0")["n"]
        leftovers = len(list(path_of(store, "solve").iterdir())) - len(names)
    assert leftovers, "none was killed while it wrote"
    store.clear()
    assert not Path(store.url).exists()


def test_a_folder_that_vanished_is_not_made_again(stored: Store) -> None:
    shutil.rmtree(stored.url)
    with pytest.raises(StoreError, match="cannot be written: No such file or directory"):
        stored.write("solve/1", {})
    assert not Path(stored.url).exists()
    stored.clear()


def test_emptied_it_can_be_used_again(stored: Store) -> None:
    path_of(stored, "lock").touch()
    stored.empty()
    assert stored.names("solve") == set()
    assert path_of(stored, "lock").exists(), "who builds holds it"
    stored.write("solve/0", {"n": 1})
    assert stored.summary("solve/0") == {"n": 1}


def test_a_full_disk_is_one_sentence_and_leaves_nothing(stored: Store) -> None:
    """As far as a limit of the size of files is one: `write` fails in the same way."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(StoreError, match=r"^the store '.*' cannot be written: File too large$"):
            stored.write("solve/1", {}, {"a": Stretch(numbers(200_000))})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert [one.name for one in path_of(stored, "solve").iterdir()] == ["0"]
    assert read_all(stored), "what was there is untouched"


# --- object storage -------------------------------------------------------------------------------


@pytest.fixture
def remote() -> Store:
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    return Store("memory://bucket/table.store", "a build")


def test_object_storage(remote: Store) -> None:
    assert (remote.folder, remote.names("solve"), "solve/0" in remote) == (None, set(), False)
    remote.write("solve/0", {"n": 1}, {"a": piece(900, low=8)})
    remote.write("solve/1", {"n": 2})
    assert remote.names("solve") == {"solve/0", "solve/1"}
    assert (remote.read("solve/0", "a", 10, 800) == numbers(900)[2:792]).all()
    remote.remove("solve/1")
    assert "solve/1" not in remote
    require_lost(remote, "solve/1")
    system = fsspec.filesystem("memory")
    system.pipe("/bucket/table.store/solve/0", system.cat("/bucket/table.store/solve/0")[:-9])
    require_lost(remote)
    remote.clear()
    assert remote.names("solve") == set()
    remote.clear()


class FaultError(Exception):
    """As libraries of object storage raise: of no class that we could know."""


@pytest.mark.parametrize(
    ("error", "words"),
    [(OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
     (FaultError("the bucket is on fire"), "the bucket is on fire"), (FaultError(), "FaultError")],
)  # fmt: skip
def test_storage_that_fails(
    remote: Store, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    remote.write("solve/0", {})

    def fail(*_: object, **__: object) -> None:
        raise error

    for method in ("open", "info", "ls", "cat_file", "rm_file", "rm"):
        monkeypatch.setattr(MemoryFileSystem, method, fail)
    with pytest.raises(StoreError, match=f"^the store 'memory://.*' cannot be written: {words}$"):
        remote.write("solve/1", {})
    for call in (remote.summary, remote.names, remote.__contains__):
        with pytest.raises(StoreError, match=f"cannot be read: {words}") as caught:
            call("solve/0")
        assert not isinstance(caught.value, LostObjectError), "nothing is known to be lost"
    with pytest.raises(StoreError, match=f"cannot be written: {words}"):
        remote.remove("solve/0")


def test_a_url_that_nobody_knows() -> None:
    with pytest.raises(
        InvalidParameterError, match=r"store cannot be 'nosuch.*expected a folder, or a"
    ):
        Store("nosuch://bucket/folder", "a build")
