"""Bundles that nobody would make, and servers that answer as none would."""

from __future__ import annotations

import io
import json
import socket
import tarfile
import threading
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self
from unittest import mock

from torture_wild import ODD, case, require, require_sentence, shown

from builder.build import build_table
from builder.bundle import write_bundle
from lookup.bundle import MANIFEST, Manifest
from lookup.errors import BundleError, DownloadError, FailureError, InvalidParameterError
from lookup.fetch import fetch
from lookup.games import find_game

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

TABLE = "winners-losers-3"
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1.5,
        10**30,
        1 << 60,
        "",
        "x",
        "../x",
        "/nowhere/x",
        "x\0",
        "\ud800",
        "a\nb",
        [],
        {},
    ),
    *(
        {"a": {}},
        [[]],
        "winners-losers-3",
        "Winners",
        "x" * 10**4,
        "0" * 64,
        "winners-losers-3.h5/../x",
    ),
)
OUTSIDE = "(outside)"
NAMES = (
    "../x.h5",
    OUTSIDE,
    "./x",
    "x/../../y",
    MANIFEST,
    f"a/{MANIFEST}",
    "",
    "\\x",
    f"{TABLE}.h5",
    "a\0b",
)
KINDS = (
    tarfile.REGTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.FIFOTYPE,
    tarfile.DIRTYPE,
)
HEADS = (
    *(
        "HTTP/1.1 200 OK",
        "HTTP/1.1 206 Partial",
        "HTTP/1.1 404 No",
        "HTTP/1.1 500 \xff",
        "HTTP/1.1 301 Go",
    ),
    *(
        "HTTP/1.1 204 Nothing",
        "HTTP/1.1 416 No",
        "HTTP/1.1 100 Go on",
        "HTTP/9.9 200",
        "ICY 200 OK",
        "\0\0",
    ),
    *("HTTP/1.1 99999 X", "HTTP/1.1 abc", "HTTP/1.1 304 Same", "HTTP/1.1 401 Who"),
)
FIELDS = (
    *(
        "Content-Length: 5",
        "Content-Length: -1",
        "Content-Length: 99999999999999999999",
        "Content-Length: x",
    ),
    *(
        "Transfer-Encoding: chunked",
        "Content-Range: bytes 0-1/2",
        "Content-Range: \xff",
        "Location: ftp://x/",
    ),
    *(
        "Location: http://[",
        "Location: \xff",
        "Location:",
        "Content-Encoding: gzip",
        "X: " + "y" * 70000,
    ),
    *("Location: file:///etc/passwd", ": x", "no colon", "Connection: keep-alive"),
)


class Bundles:
    """A sound bundle, and what can be made of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        build_table(find_game(TABLE), folder / "tables")
        write_bundle(folder / "bundle", [folder / "tables" / f"{TABLE}.h5"])
        self.files = {path.name: path.read_bytes() for path in sorted((folder / "bundle").iterdir())}
        self._manifest = json.loads(self.files[MANIFEST])

    def manifest(self, random: Random) -> bytes:
        """A manifest with something odd in it."""
        fields: Any = json.loads(json.dumps(self._manifest))
        for _ in range(random.choice((0, 1, 1, 2))):
            entry = fields["tables"][0] if random.random() < 0.7 and _has_entry(fields) else fields
            key = random.choice([*entry, "more"])
            if random.random() < 0.2:
                entry.pop(key, None)
            else:
                entry[key] = random.choice(VALUES)
        if random.random() < 0.05 and _has_entry(fields):
            fields["tables"] *= 2
        if random.random() < 0.05:
            deep: Any = {}
            for _ in range(random.choice((200, 900, 950, 5000))):
                deep = {"a": deep}
            (fields["tables"][0] if _has_entry(fields) else fields)["parameters"] = deep
        try:
            text = json.dumps(fields, indent=2).encode() + b"\n"
        except RecursionError:
            text = b'{"tables":' * 5000
        if random.random() < 0.2:
            at = random.randrange(len(text))
            text = text[:at] + random.choice(ODD).encode("utf-8", "surrogatepass") + text[at + 1 :]
        return text

    def attempt_manifest(self, random: Random) -> str:
        """Read a manifest."""
        text = self.manifest(random)
        with case(shown(text)):
            try:
                manifest = Manifest.from_bytes(text, "a bundle")
            except BundleError as error:
                require_sentence(error)
                return "refused"
            for entry in manifest.tables:
                require(entry.file == f"{entry.name}.h5" and entry.name.isascii(), f"{entry}")
                require(not set(entry.name) & set("/\\.\0"), f"{entry}")
            return "read"

    def attempt_bundle(self, random: Random) -> str:
        """Fetch from a folder or an archive."""
        files = {**self.files, MANIFEST: self.manifest(random)}
        if random.random() < 0.3:
            name = random.choice(list(files))
            content = files[name]
            files[name] = content[: random.randrange(len(content))] + random.choice(
                (b"", b"\0", content)
            )
        kind = random.choice(("tar", "zip", "folder"))
        place, target = self._folder / f"wild.{kind}", self._folder / "in" / "target"
        with case(f"{kind}, {shown(files[MANIFEST])}"):
            _write(random, kind, place, files)
            outside = _listed(self._folder)
            ending = fetched(str(place), target)
            inside = _listed(self._folder) - outside
            require(all("in/target/" in one for one in inside), f"wrote {inside}")
            if ending != "fetched":
                left = [one for one in inside if "/.fetch/" not in one]
                require(not left, f"{ending}, and left {left}")
            _remove(place)
            _remove(self._folder / "in")
            return f"{kind}: {ending}"


def _has_entry(fields: Any) -> bool:
    tables = fields.get("tables")
    return isinstance(tables, list) and bool(tables) and isinstance(tables[0], dict)


def _listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        for one in place.iterdir():
            _remove(one)
        place.rmdir()
    elif place.exists() or place.is_symlink():
        place.unlink()


def _write(random: Random, kind: str, place: Path, files: dict[str, bytes]) -> None:
    """A folder or an archive of files; an archive may have odd members, and be cut."""
    if kind == "folder":
        place.mkdir()
        for name, content in files.items():
            (place / name).write_bytes(content)
        return
    members = [(name, content, tarfile.REGTYPE) for name, content in files.items()]
    for _ in range(random.choice((0, 0, 1, 2))):
        name = random.choice(NAMES).replace(OUTSIDE, f"{place.parent}/outside.h5")
        odd = name, random.randbytes(20), random.choice(KINDS)
        members.insert(random.randrange(len(members) + 1), odd)
    buffer = io.BytesIO()
    if kind == "tar":
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, content, type_ in members:
                info = tarfile.TarInfo(name.replace("\0", "0"))
                info.type, info.size, info.linkname = type_, len(content), f"{place.parent}/outside"
                tar.addfile(info, io.BytesIO(content))
    else:
        with zipfile.ZipFile(
            buffer, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        ) as zipped:
            for name in dict.fromkeys(name for name, *_ in members):
                content = next(content for other, content, _ in members if other == name)
                zipped.writestr(zipfile.ZipInfo(name.replace("\0", "0") or "x"), content)
    raw = buffer.getvalue()
    if random.random() < 0.2:
        at = random.randrange(len(raw))
        raw = raw[:at] + random.choice((b"", random.randbytes(4) + raw[at + 4 :]))
    place.write_bytes(raw)


def fetched(place: str, target: Path) -> str:
    """Fetch a bundle; how it ends.

    Raises:
        BrokenError: as it may not.
    """
    try:
        tables = fetch(place, target)
    except (BundleError, DownloadError, InvalidParameterError, FailureError) as error:
        require_sentence(error)
        return type(error).__name__
    for table in tables:
        require(table.path.parent == target and table.path.is_file(), f"{table}")
    return "fetched"


class Servers:
    """A server that answers each request with whatever it is told to."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._bundles = Bundles(folder / "made")
        self._target = folder / "target"
        self._answer = b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(2)
                connection.recv(1 << 16)
                connection.sendall(self._answer)

    def attempt(self, random: Random) -> str:
        """Fetch from a server."""
        body = self._bundles.manifest(random) if random.random() < 0.7 else random.randbytes(50)
        head = [random.choice(HEADS) if random.random() < 0.5 else "HTTP/1.1 200 OK"]
        head += random.sample(FIELDS, random.choice((0, 0, 1, 2)))
        head += [f"Content-Length: {len(body)}"] if random.random() < 0.5 else []
        self._answer = "\r\n".join([*head, "", ""]).encode("latin-1") + body
        if random.random() < 0.1:
            self._answer = self._answer[: random.randrange(len(self._answer))]
        port = self._socket.getsockname()[1]
        path = random.choice(("", "x.tar", "x.zip", MANIFEST, "a b/\xe9", "%zz?x=\xe9#y"))
        quick = mock.patch.multiple("lookup.download", PAUSES=(), PATIENCE=3.0)
        with case(f"{path!r}, {shown(self._answer)}"), quick:
            ending = fetched(f"http://127.0.0.1:{port}/{path}", self._target)
            require(ending != "fetched" or not list(self._target.glob("*.h5")), "is fetched")
        return ending
