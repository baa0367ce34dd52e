"""Read a table as a stranger would: h5py, hdf5plugin and numpy, and none of our code.

Run in a process of its own, because a registered plugin changes what HDF5 writes: it would store the
plugin's name with the filter.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import h5py
import hdf5plugin
import numpy as np


def items(dataset: Any) -> Any:
    """The numbers of a column."""
    bits, count = int(dataset.attrs["bits"]), int(dataset.attrs["items"])
    packed = dataset[...]
    if bits < 8:
        places = np.arange(0, 8, bits, dtype=np.uint8)
        packed = (packed[:, None] >> places & ((1 << bits) - 1)).ravel()
    return packed[:count]


def plain(attributes: Any) -> dict[str, Any]:
    return {
        key: value.decode() if isinstance(value, bytes) else int(value) for key, value in attributes
    }


def main(path: str, out: str) -> None:
    assert hdf5plugin.get_filters("zstd")
    with h5py.File(path, "r") as file:
        names = sorted(set(file) - {"sha256"})
        columns = {name: items(file[name]) for name in names}
        outcome, remoteness = columns["outcome"], columns["remoteness"]
        if file["outcome"].attrs["bits"] == 1:
            outcome = np.where(outcome, 3, 1)
        if "classes" in columns:
            outcome, remoteness = outcome[columns["classes"]], remoteness[columns["classes"]]
        table = plain(file.attrs.items())
        stored = table.pop("digest")
        described = {name: plain(file[name].attrs.items()) for name in names}
        metadata = json.dumps(
            {"table": table, "columns": described}, sort_keys=True, separators=(",", ":")
        )
        digest = hashlib.sha256(metadata.encode())
        for name in names:
            data = file[name][...].tobytes()
            size = file[name].chunks[0] * file[name].dtype.itemsize
            for at in range(0, len(data), size):
                digest.update(hashlib.sha256(data[at : at + size].ljust(size, b"\0")).digest())
        assert digest.hexdigest() == stored, "the digest is not the one that the format describes"
    np.savez(out, outcome=outcome, remoteness=remoteness)


if __name__ == "__main__":
    main(*sys.argv[1:])
