"""Where tables are looked for, what is found there, and which file is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lookup.disk import bytes_at
from lookup.errors import MissingTableError
from lookup.folder import folder_of, is_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lookup.tablebase import SearchedFolder


def folder_fields(folders: Iterable[SearchedFolder]) -> list[dict[str, Any]]:
    """What there is in folders that are searched in this order, as JSON.

    A table that an earlier folder has, too, is not used: `shadowed_by` is the file that is.
    """
    used: dict[str, str] = {}
    fields = []
    for folder in folders:
        tables = []
        for name, path in folder.tables().items():
            tables.append({**_file_fields(name, path), "shadowed_by": used.get(name)})
            used.setdefault(name, str(path))
        is_there = os.path.isdir(folder.path)  # noqa: PTH112 - Path.is_dir raises if it may not look
        fields.append(
            {
                "folder": str(folder.path),
                "origin": folder.origin,
                "exists": is_there,
                "tables": tables,
            }
        )
    return fields


def table_fields(table: str, path: Path, folders: Iterable[SearchedFolder]) -> dict[str, Any]:
    """Which file is used for a table, and which others are not, as JSON; `path` is the one that is.

    Raises:
        MissingTableError: there is no such file.
    """
    found = [(folder, place) for folder in folders if (place := folder.tables().get(table))]
    path = folder_of(path)
    if not os.path.isfile(path) and not is_folder(path):  # noqa: PTH113 - as above
        raise MissingTableError(path.name or str(path), [path.parent])
    return {
        **_file_fields(table if found else path.stem, path),
        "origin": found[0][0].origin if found else "path",
        "shadows": [str(place) for _, place in found[1:]],
    }


def _file_fields(name: str, path: Path) -> dict[str, Any]:
    return {"table": name, "file": str(path), "bytes": bytes_at(path)}
