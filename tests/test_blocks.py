"""Chunks: packing, compression and checksums, each against somebody else's code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lookup import blocks


@given(st.sampled_from(blocks.PACKED_BITS), st.data())
def test_pack_and_unpack_are_inverse(bits: int, data: st.DataObject) -> None:
    items = data.draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=50))
    array = np.array(items, blocks.dtype_of(bits))
    packed = blocks.pack(array, bits)
    assert len(packed) == blocks.packed_length(len(items), bits)
    assert blocks.unpack(packed, bits, len(items)).tolist() == items


def test_the_first_item_is_in_the_lowest_bits() -> None:
    assert blocks.pack(np.array([1, 0, 0, 0, 0, 0, 0, 0, 1], np.uint8), 1).tolist() == [1, 1]
    assert blocks.pack(np.array([3, 0, 1, 2, 3], np.uint8), 2).tolist() == [0b10_01_00_11, 3]
    assert blocks.pack(np.array([0xA, 0xB, 0xC], np.uint8), 4).tolist() == [0xBA, 0x0C]


@pytest.mark.parametrize(
    ("largest", "bits"), [(0, 1), (1, 1), (2, 2), (15, 4), (16, 8), (256, 16), (65536, 32)]
)
def test_smallest_bits(largest: int, bits: int) -> None:
    assert blocks.smallest_bits(largest) == bits


@given(st.binary(min_size=1, max_size=3000))
def test_fletcher32_is_the_one_of_hdf5(data: bytes) -> None:
    with h5py.File.in_memory() as file:
        dataset = file.create_dataset(
            "d", data=np.frombuffer(data, np.uint8), chunks=(len(data),), fletcher32=True
        )
        stored = dataset.id.read_direct_chunk((0,))[1]
    assert stored[:-4] == data
    assert int.from_bytes(stored[-4:], "little") == blocks.fletcher32(data)


@pytest.mark.parametrize(
    "data",
    [b"\xff\xff", b"\xff\xff" * 2, b"\xff" * 65536, b"\xff" * 721, b"\0" * 9, b"\xff\xfe" * 135_001],
)
def test_fletcher32_where_sums_wrap(data: bytes) -> None:
    with h5py.File.in_memory() as file:
        dataset = file.create_dataset(
            "d", data=np.frombuffer(data, np.uint8), chunks=(len(data),), fletcher32=True
        )
        stored = dataset.id.read_direct_chunk((0,))[1]
    assert int.from_bytes(stored[-4:], "little") == blocks.fletcher32(data)


@given(st.binary(max_size=500), st.integers(1, 19))
def test_encode_and_decode_are_inverse(data: bytes, level: int) -> None:
    assert blocks.decode(blocks.encode(data, level), len(data)) == data


def with_checksum(frame: bytes) -> bytes:
    return frame + blocks.fletcher32(frame).to_bytes(4, "little")


def test_every_damaged_byte_is_noticed() -> None:
    stored = blocks.encode(bytes(range(200)), 3)
    for at in range(len(stored)):
        damaged = stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]
        with pytest.raises(blocks.BlockError, match="Fletcher-32"):
            blocks.decode(damaged, 200)
        if at < len(stored) - 4:  # a damaged frame whose outer checksum was made to match
            with pytest.raises(blocks.BlockError):
                blocks.decode(with_checksum(damaged[:-4]), 200)


def test_a_frame_of_another_size_is_refused_before_it_is_decoded() -> None:
    bomb = with_checksum(zstandard.ZstdCompressor().compress(bytes(1 << 26)))
    assert len(bomb) < 10_000
    with pytest.raises(blocks.BlockError, match="holds 67108864 bytes, not 100"):
        blocks.decode(bomb, 100)
    untold = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 26))
    with pytest.raises(blocks.BlockError):
        blocks.decode(with_checksum(untold), 100)


def test_threads_decode_at_once_and_go_on_after_a_damaged_chunk() -> None:
    chunks = [bytes([seed]) * 30_000 + bytes(range(seed, 200)) * 300 for seed in range(40)]
    stored = [blocks.encode(chunk, 3) for chunk in chunks]
    damaged = with_checksum(stored[0][:-9] + b"\0" * 5)

    def work(seed: int) -> bool:
        with pytest.raises(blocks.BlockError, match="Zstandard"):
            blocks.decode(damaged, len(chunks[0]))
        return blocks.decode(stored[seed], len(chunks[seed])) == chunks[seed]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, [*range(40)] * 5))


@pytest.mark.parametrize("stored", [b"", b"abc", b"abcd", b"\0" * 12])
def test_what_is_no_chunk_is_refused(stored: bytes) -> None:
    with pytest.raises(blocks.BlockError):
        blocks.decode(stored, 8)
