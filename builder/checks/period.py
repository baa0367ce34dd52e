"""A period must hold for every index of a table; the reader has seen that it goes on for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.solvers.solution import slices
from lookup.errors import VerificationError
from lookup.format import Period
from lookup.records import Layout, decode_records

if TYPE_CHECKING:
    from lookup.reader import TableReader

_SLICE = 1 << 14  # indices compared at a time with those a period further


def check(file: TableReader) -> None:
    """Compare every index with the one a period further; that they are enough the reader has seen.

    Raises:
        VerificationError: the period does not hold.
    """
    period, records = Period.from_text(file.info.period), decode_records(file)
    start, step = period.preperiod, period.period
    shown = f"'{file.path}' says that values repeat after {step} from index {start} on"
    shift = np.uint64(2 + Layout.of(file).grundy_bits)
    for low, high in slices(start, len(records) - step, _SLICE):
        one, other = (records[low + by : high + by].astype(np.uint64) for by in (0, step))
        # A remoteness that is less than before becomes a very large number.
        same = other - one == np.uint64(period.plies) << shift
        if not same.all():
            index = low + int(same.argmin())
            raise VerificationError(f"{shown}, but not those of index {index}")
