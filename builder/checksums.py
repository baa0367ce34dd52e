"""SHA256SUMS: the checksums of table files, in the format of the `sha256sum` command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup.atomic import put_in_place, temporary_beside
from lookup.bundle import CHECKSUMS
from lookup.disk import file_digest
from lookup.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def checksums(digests: Mapping[str, str]) -> bytes:
    """The lines for files by name, as the `sha256sum` command writes and takes them."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode("ascii")


def write_checksums(paths: Iterable[Path], folder: Path) -> Path:
    """Write the checksums of files in a folder; leaves an identical list untouched.

    Raises:
        BuildError: the list cannot be written.
    """
    target = folder / CHECKSUMS
    try:
        content = checksums({path.name: file_digest(path) for path in paths})
        if not (target.is_file() and target.read_bytes() == content):
            with temporary_beside(target) as temporary:
                temporary.write_bytes(content)
                put_in_place(temporary, target)
    except OSError as error:
        raise BuildError(f"'{target}' cannot be written: {error.strerror or error}") from None
    return target
