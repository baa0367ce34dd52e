"""Columns as arrays for numpy, in one file of the kind npz."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from lookup.errors import CorruptTableError
from lookup.progress import silent

if TYPE_CHECKING:
    from typing import IO

    from numpy.typing import NDArray

    from lookup.progress import Report
    from lookup.table import Table


def write_npz(table: Table, file: IO[bytes], *, report: Report = silent) -> None:
    """As `numpy.savez_compressed` writes it, but array by array and stretch by stretch.

    Raises:
        CorruptTableError: the table holds fewer or more of them than it says.
    """
    info = table.info
    columns: dict[str, Any] = {"index": np.int64, "outcome": np.uint8}
    if info.longest_remoteness >= 0:
        columns["remoteness"] = np.min_scalar_type(info.longest_remoteness)
    if info.largest_grundy >= 0:
        columns["grundy"] = np.min_scalar_type(info.largest_grundy)
    with ZipFile(file, "w") as archive:
        for number, (name, dtype) in enumerate(columns.items()):
            # Without a date of its own, the same table gives the same bytes.
            member = ZipInfo(f"{name}.npy")
            member.compress_type = ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as array:

                def scanned(done: int, size: int, before: int = number) -> None:
                    report(before * size + done, len(columns) * size)

                _write_array(table, name, np.dtype(dtype), array, scanned)


def _write_array(
    table: Table, name: str, dtype: np.dtype[Any], file: IO[bytes], report: Report
) -> None:
    wanted, size = table.info.positions, table.info.size
    header = {"descr": dtype.str, "fortran_order": False, "shape": (wanted,)}
    np.lib.format.write_array_header_1_0(file, header)
    for first, values in table.scan():
        at = np.flatnonzero(values.outcome)
        column: NDArray[Any] = first + at if name == "index" else getattr(values, name)[at]
        file.write(column.astype(dtype).tobytes())
        wanted -= len(at)
        report(first + len(values.outcome), size)
    if wanted:
        # The header was written before anything was counted.
        raise CorruptTableError(table.path, "does not hold as many positions as it says")
