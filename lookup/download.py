"""Files over HTTP with the standard library: bounded in size and time, resumed, and plain sentences."""

from __future__ import annotations

import re
import socket
import ssl
import time
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Event, Timer
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from lookup import __version__
from lookup.errors import DownloadError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lookup.progress import Report

PATIENCE = 30.0
"""Seconds that a server may be silent, or take for the head of an answer."""

LEAST_BYTES = 1024
"""Bytes that must come within `PATIENCE`: a server that trickles is no better than a silent one."""

PAUSES = (1.0, 2.0, 5.0, 10.0)
"""Seconds before each further attempt, if the last ones brought nothing."""

GAIN = 1 << 20
"""Bytes that must have come for the pauses to begin anew."""

_BLOCK = 1 << 16
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)")


def is_address(place: str) -> bool:
    """Whether a text is meant to be an address rather than a path."""
    return _ADDRESS.match(place) is not None


def parts_of(address: str) -> SplitResult:
    """The parts of an http or https address.

    Raises:
        InvalidParameterError: it is none.
    """
    try:
        address.encode()  # fails for halves of characters, which no request can hold
        parts = urlsplit(address)
        host = (parts.hostname or "").encode("idna")  # fails for what cannot be a name
        sound = parts.scheme in ("http", "https") and host and parts.port != 0
        sound = sound and "@" not in parts.netloc
    except ValueError:
        sound = False
    if not sound:
        expected = "http:// or https://, a host, perhaps a port, and a path; no name and password"
        raise InvalidParameterError("an address", address, expected)
    return parts


def with_path(address: str, path: str) -> str:
    """The address with another path; what stands after a question mark is kept."""
    return urlunsplit(parts_of(address)._replace(path=path, fragment=""))


class Answer:
    """What a server sends: from which byte on, and how large the whole is, if it says so."""

    def __init__(self, address: str, response: HTTPResponse, start: int, size: int | None) -> None:
        self.start, self.size = start, size
        self._address, self._response = address, response

    def blocks(self, most: int) -> Iterator[bytes]:
        """The bytes as they come, until the server ends or what it has announced is there.

        Raises:
            DownloadError: nothing comes, or more than `most` bytes.
        """
        announced, done = self._response.length, 0
        since, before = time.monotonic(), 0
        while announced is None or done < announced:
            with _sentences(self._address):
                block = self._response.read1(_BLOCK)
            if not block:
                return
            done += len(block)
            if done > most:
                raise DownloadError(self._address, f"sends more than the {most:,} bytes that it may")
            yield block
            if time.monotonic() - since > PATIENCE:
                if done - before < LEAST_BYTES:
                    trickles = f"sent less than {LEAST_BYTES:,} bytes in {PATIENCE:.0f} seconds"
                    raise DownloadError(self._address, trickles, is_passing=True)
                since, before = time.monotonic(), done


class Web:
    """Asks servers for files."""

    def __init__(self) -> None:
        self._opener = OpenerDirector()
        # Not `build_opener`: it would follow a redirection to ftp as well.
        for handler in (
            ProxyHandler(), _HTTP(), _HTTPS(), _Redirections(), HTTPErrorProcessor(),
            HTTPDefaultErrorHandler(),
        ):  # fmt: skip
            self._opener.add_handler(handler)

    @contextmanager
    def open(self, address: str, start: int = 0) -> Iterator[Answer]:
        """Ask for a file from a byte on. The answer begins there or, if the server will not, at 0.

        Raises:
            DownloadError: there is no such file, or no server.
        """
        with closing(self._ask(address, start)) as response:
            if response.status == 200:
                yield Answer(address, response, 0, response.length)
                return
            found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if start and response.status == 206 and found and int(found[1]) == start:
                yield Answer(address, response, start, None if found[2] == "*" else int(found[2]))
                return
            if not start:
                raise DownloadError(address, f"is answered with {response.status} {response.reason}")
        with self.open(address) as answer:
            yield answer

    def _ask(self, address: str, start: int) -> HTTPResponse:
        parts = parts_of(address)
        # What a user typed may hold spaces and letters that no request may.
        ready = parts._replace(path=quote(parts.path or "/", safe="/%:@!$&'()*+,;=~"))
        ready = ready._replace(query=quote(parts.query, safe="/%:@!$&'()*+,;=~?"), fragment="")
        headers = {"User-Agent": f"endtable/{__version__}", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        request = Request(urlunsplit(ready), headers=headers)  # noqa: S310 - http or https: see above
        try:
            with _sentences(address):
                response = self._opener.open(request, timeout=PATIENCE)
        except _RangeRefusedError as error:
            if not start:
                raise _refusal(address, error.refusal) from None
            return self._ask(address, 0)
        assert isinstance(response, HTTPResponse)
        return response

    def read(self, address: str, most: int) -> bytes:
        """A small file.

        Raises:
            DownloadError: it cannot be had, or has more than `most` bytes.
        """
        with self.open(address) as answer:
            text = b"".join(answer.blocks(most))
        if answer.size not in (None, len(text)):
            raise DownloadError(address, "broke off", is_passing=True)
        return text

    def download(self, address: str, path: Path, size: int, report: Report) -> bool:
        """Bring a file to `size` bytes, going on after those it has; whether it came in several pieces.

        What has come stays when this fails, for the next time. Pieces may be of different files, if it
        was replaced in between: the caller knows by the hash, and may start again.

        Raises:
            DownloadError: the file cannot be had, or is not of this size.
        """
        have = path.stat().st_size if path.exists() else 0
        if have > size:
            path.unlink()
            have = 0
        is_pieced, furthest, pauses = have > 0, have, list(PAUSES)
        while have < size:
            try:
                self._go_on(address, path, have, size, report)
            except DownloadError as error:
                have = path.stat().st_size if path.exists() else 0
                if not error.is_passing or not pauses:
                    so_far = f"; {have:,} of {size:,} bytes are here, and the same command goes on"
                    raise DownloadError(address, error.problem + (so_far if have else "")) from None
                time.sleep(pauses.pop(0))
                is_pieced = is_pieced or have > 0
            else:
                have = size
            if have > furthest + GAIN:
                furthest, pauses = have, list(PAUSES)
        return is_pieced

    def _go_on(self, address: str, path: Path, have: int, size: int, report: Report) -> None:
        with self.open(address, have) as answer:
            if answer.size not in (None, size):
                problem = f"is {answer.size:,} bytes, where the manifest makes it {size:,}"
                raise DownloadError(address, problem)
            done = answer.start
            with path.open("r+b" if have else "wb") as file:
                file.truncate(done)
                file.seek(done)
                for block in answer.blocks(size - done):
                    file.write(block)
                    done += len(block)
                    report(done, size)
        if done < size:
            raise DownloadError(address, "broke off", is_passing=True)


# --- what goes wrong ------------------------------------------------------------------------------


class _RangeRefusedError(Exception):
    """The server has nothing from the byte on that was asked for."""

    def __init__(self, refusal: HTTPError) -> None:
        super().__init__(refusal)
        self.refusal = refusal


@contextmanager
def _sentences(address: str) -> Iterator[None]:
    """Whatever a network can do, as one sentence."""
    try:
        yield
    except HTTPError as error:
        error.close()
        if error.code == 416:
            raise _RangeRefusedError(error) from None
        raise _refusal(address, error) from None
    except (OSError, HTTPException) as error:  # URLError is an OSError
        reason = error.reason if isinstance(error, URLError) else error
        raise _failure(address, reason) from None
    except (ValueError, UnicodeError) as error:
        raise DownloadError(address, f"cannot be asked for: {error}") from None


def _refusal(address: str, error: HTTPError) -> DownloadError:
    said = " ".join(f"{error.code} {error.reason}".split())
    if error.code in (404, 410):
        return DownloadError(address, f"is not there: the server says {said}")
    if error.code in (401, 403, 407):
        return DownloadError(address, f"may not be read: the server says {said}")
    is_passing = error.code in (408, 429) or error.code >= 500
    return DownloadError(address, f"cannot be had: the server says {said}", is_passing=is_passing)


def _failure(address: str, reason: object) -> DownloadError:
    host = parts_of(address).hostname
    is_passing = True
    match reason:
        case ssl.SSLCertVerificationError():
            problem = f"is not trusted: {reason.verify_message or reason}"
            is_passing = False
        case ssl.SSLError():
            problem = f"cannot be reached over TLS: {reason.reason or reason}"
        case socket.gaierror():
            problem = (
                f"cannot be reached: no host {host!r} is known; is the name right, and the network up?"
            )
        case TimeoutError():
            problem = f"is silent: nothing of use came for {PATIENCE:.0f} seconds"
        case ConnectionRefusedError():
            problem = "cannot be reached: nothing listens there"
        case OSError():
            problem = f"cannot be reached: {reason.strerror or reason}"
        case _:
            problem = f"is answered by what is no web server: {type(reason).__name__} {reason}"
    return DownloadError(address, " ".join(problem.split()), is_passing=is_passing)


# --- connections ----------------------------------------------------------------------------------


class _Connection(HTTPConnection):
    """Waits for the head of an answer no longer than `PATIENCE`, however slowly it comes."""

    def getresponse(self) -> HTTPResponse:
        waited_for, is_over = self.sock, Event()

        def give_up() -> None:
            is_over.set()
            with suppress(OSError):
                # Not the method of a TLS socket, which is in use in another thread.
                socket.socket.shutdown(waited_for, socket.SHUT_RDWR)

        timer = Timer(PATIENCE, give_up)
        timer.daemon = True
        timer.start()
        try:
            response = super().getresponse()
        except (OSError, HTTPException):
            if is_over.is_set():
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()
        if is_over.is_set():  # a head that was cut off may pass for a whole one
            response.close()
            raise TimeoutError
        return response


class _SecureConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _HTTP(HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Connection, req)


class _HTTPS(HTTPSHandler):
    def https_open(self, req: Request) -> HTTPResponse:
        context = ssl.create_default_context()
        return self.do_open(_SecureConnection, req, context=context)


class _Redirections(HTTPRedirectHandler):
    """Follows to http and https, but never from https to http."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        allowed = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in allowed:
            problem = f"leads to '{newurl}', which is not {' or '.join(allowed)}"
            raise DownloadError(req.full_url, problem)
        fp.close()  # or else all that follows would be read, however much it is
        return super().redirect_request(req, fp, code, msg, headers, newurl)
