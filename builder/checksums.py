"""SHA256SUMS: the checksums of table files, in the format of the `sha256sum` command."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from lookup.atomic import put_in_place, temporary_beside
from lookup.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE_NAME = "SHA256SUMS"


def write_checksums(paths: Iterable[Path], folder: Path) -> Path:
    """Write the checksums of files in a folder; leaves an identical list untouched.

    Raises:
        BuildError: the list cannot be written.
    """
    lines = [f"{file_digest(path)}  {path.name}\n" for path in sorted(paths)]
    target = folder / FILE_NAME
    content = "".join(lines).encode("ascii")
    try:
        if not (target.is_file() and target.read_bytes() == content):
            with temporary_beside(target) as temporary:
                temporary.write_bytes(content)
                put_in_place(temporary, target)
    except OSError as error:
        raise BuildError(f"'{target}' cannot be written: {error.strerror or error}") from None
    return target


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
