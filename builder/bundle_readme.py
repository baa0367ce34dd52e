"""The README of a bundle: what is in it, and how to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup.bundle import CHECKSUMS, MANIFEST, SPECIFICATION

if TYPE_CHECKING:
    from lookup.bundle import Manifest

_TEXT = """\
# Tables of solved games

{count} made by {builder}: each holds the value of every position of a game under perfect play.

| table | game | positions | bytes |
|---|---|---|---|
{rows}

`{manifest}` says of each file its game, parameters, size, SHA-256, and the digest of the table in it.

## Check the files

```sh
sha256sum -c {checksums}
```

(on macOS `shasum -a 256 -c {checksums}`). It notices damage. Whoever could replace files could
replace `{checksums}` too: if that matters, get the SHA-256 of `{manifest}` from whoever made this, by
another way.

## Use them with Endtable

```sh
lookup fetch .                             # from this folder, or from an archive of it, or from
lookup fetch https://example.org/tables/   # wherever a web server offers it
lookup fetch . --sha256 HEX                # only if the manifest is the one that you were told of
lookup probe {example}
```

`lookup fetch` verifies every table before it puts any into your folder of tables; a download that
breaks off is gone on with by the same command. `lookup where` shows what was found, and which file is
used. The folder can be used as it is, too: `lookup.open_tablebase("FOLDER")` in Python, or `--tables
FOLDER` on the command line.

## Use them with anything else

A table is one HDF5 file; its columns are compressed with Zstandard (the registered filter 32015), and
its attributes say in words what the numbers mean: `h5dump -A {file}`. To read the columns, HDF5 tools
need the filter's plugin, such as the one in the Python package hdf5plugin.{specification}
"""

_SPECIFICATION = f"""

`{SPECIFICATION}` is the specification: layout, codes, the index of every game with examples, and
how to check integrity. A program in any language needs nothing else."""


def readme(manifest: Manifest, has_specification: bool) -> str:
    """The text for a bundle."""
    tables = sorted(manifest.tables)
    rows = [
        f"| `{entry.name}` | {entry.game} | {entry.positions:,} | {entry.size:,} |" for entry in tables
    ]
    example = tables[0].name if tables else "TABLE"
    return _TEXT.format(
        count=f"{len(tables)} table{'s' if len(tables) != 1 else ''}",
        builder=manifest.builder,
        rows="\n".join(rows),
        manifest=MANIFEST,
        checksums=CHECKSUMS,
        example=example,
        file=f"{example}.h5",
        specification=_SPECIFICATION if has_specification else "",
    )
