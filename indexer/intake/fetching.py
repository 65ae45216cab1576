"""Fetch an address politely and safely.

A fetcher obeys robots.txt, waits between two requests to a host, follows at most five redirects,
and limits the time and the size of an answer. It connects only to an IP address that it has checked
itself, so that a name which changes its address between the check and the connection leads
nowhere.
"""

from __future__ import annotations

import logging
import re
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from socket import SHUT_RDWR
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit
from urllib.request import getproxies_environment, proxy_bypass
from uuid import uuid4

from ... import __version__
from ..settings import FetchSettings
from .addresses import AddressError, parse_address, port_of, resolve

if TYPE_CHECKING:
    from protego import Protego

AGENT = "factseek"
"""The name by which robots.txt may address this program."""
MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_LONGEST_WAIT = 60.0
"""The most seconds to wait because a server asks for it; if it asks for more, its pages fail."""
_OUR_VERSION = re.compile(r"(?im)^([ \t]*user-agent[ \t]*:[ \t]*factseek)/[^\s#]*")
_LEAST_SECONDS = 0.1
"""The seconds that a redirect may take if those before it took all the time."""
_ROBOTS_BYTES = 512_000
"""The most bytes of a robots.txt, as RFC 9309 requires at least 500 KiB."""
_PIECE = 1 << 16

Headers = tuple[tuple[str, str], ...]


class FetchError(Exception):
    """An address could not be fetched, for the reason that the message gives."""


class Fetched(NamedTuple):
    """The answer to a request, after redirects.

    ``body`` is unpacked, ``raw`` is as it came. ``moment`` is the time of the request, in UTC.
    ``record_id`` identifies the answer in every archive. An answer with the status 304 has no body:
    nothing has changed.
    """

    address: str
    status: int
    reason: str
    headers: Headers
    body: bytes
    raw: bytes
    moment: datetime
    record_id: str

    def header(self, name: str) -> str:
        """Return the first header of this name, or ``""``."""
        return next((value for each, value in self.headers if each.lower() == name), "")


class Fetcher:
    """Fetches addresses one after the other; it is not safe for threads."""

    def __init__(
        self,
        settings: FetchSettings,
        *,
        allow_private: bool = False,
        proxies: bool = False,
        keep: Callable[[Fetched], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Fetch as the settings say; ``keep`` receives every answer that has content.

        ``proxies`` uses the proxies that environment variables name. Nobody can check to which
        addresses these connect.
        """
        self._settings = settings
        self._allow_private = allow_private
        self._proxies = getproxies_environment() if proxies else {}
        self._keep = keep
        self._clock, self._sleep = clock, sleep
        self._robots: dict[str, Protego | str] = {}
        self._next_request: dict[str, float] = {}
        self._resting: dict[str, str] = {}
        self._spent = 0.0  # the seconds of the answers to one address, without pauses
        self._tls = ssl.create_default_context()

    def fetch(self, address: str, *, etag: str = "", modified: str = "") -> Fetched:
        """Return the answer of an address: of status 200, or 304 if it has not changed.

        ``etag`` and ``modified`` are the headers ETag and Last-Modified of an earlier answer.
        Raises FetchError for every other status, and if the address may not or cannot be fetched.
        """
        conditions = {}
        if etag:
            conditions["If-None-Match"] = etag
        if modified:
            conditions["If-Modified-Since"] = modified
        self._spent = 0.0
        try:
            parts = parse_address(address)
            for _ in range(MOST_REDIRECTS + 1):
                self._check_robots(parts)
                answer = self._request_patiently(parts, conditions)
                target = _target_of(answer)
                if target is None:
                    break
                parts = target
            else:
                raise FetchError(f"is redirected more than {MOST_REDIRECTS} times")
        except AddressError as error:
            raise FetchError(str(error)) from None
        if answer.status not in (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED):
            raise FetchError(f"has the status {answer.status} {answer.reason}".rstrip())
        return answer

    def _check_robots(self, parts: SplitResult) -> None:
        """Raise FetchError if robots.txt of the host does not admit the address."""
        host = f"{parts.scheme}://{parts.netloc}"
        if host not in self._robots:
            self._robots[host] = self._read_robots(parts)
        rules = self._robots[host]
        if isinstance(rules, str):
            raise FetchError(f"is not fetched: {host}/robots.txt {rules}")
        if not rules.can_fetch(urlunsplit(parts), AGENT):
            raise FetchError(f"is not fetched: {host}/robots.txt excludes it")

    def _read_robots(self, parts: SplitResult) -> Protego | str:
        """Return the rules of a host, or why they cannot be had, which excludes every address.

        As RFC 9309 says, a file that does not exist admits every address.
        """
        from protego import Protego

        host = parts.netloc
        parts = parts._replace(path="/robots.txt", query="")
        try:
            for _ in range(MOST_REDIRECTS + 1):
                answer = self._request_patiently(parts, {}, most_bytes=_ROBOTS_BYTES)
                target = _target_of(answer)
                if target is None:
                    break
                parts = target
            else:
                return Protego.parse("")
        except FetchError as error:
            return str(error)
        except AddressError as error:
            if parts.netloc == host:  # then its pages cannot be fetched either
                raise
            return f"is redirected to {urlunsplit(parts)}, which {error}"
        is_busy = answer.status in _BUSY
        if is_busy or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return f"has the status {answer.status} {answer.reason}".rstrip()
        is_there = answer.status == HTTPStatus.OK
        text = answer.body.decode("utf-8-sig", "replace") if is_there else ""
        # A version behind our name is no part of the name (RFC 9309, 2.2.1).
        return Protego.parse(_OUR_VERSION.sub(r"\1", text))

    def _request_patiently(
        self, parts: SplitResult, conditions: dict[str, str], *, most_bytes: int = 0
    ) -> Fetched:
        """Return the answer to a request; wait and ask again once if the server asks for it.

        With ``most_bytes``, an answer that is longer is cut.
        """
        if reason := self._resting.get(parts.netloc):
            raise FetchError(reason)
        answer = self._request(parts, conditions, most_bytes=most_bytes)
        if answer.status not in _BUSY:
            return answer
        seconds = _seconds_to_wait(answer)
        if seconds is not None and seconds <= _LONGEST_WAIT:
            self._sleep(seconds)
            answer = self._request(parts, conditions, most_bytes=most_bytes)
        if answer.status in _BUSY:
            # Whoever asks for a pause gets it: nothing more is asked of this host in this run.
            self._resting[parts.netloc] = (
                f"is not fetched: its host answered {answer.status} before"
            )
        return answer

    def _request(
        self,
        parts: SplitResult,
        conditions: dict[str, str],
        *,
        most_bytes: int = 0,
    ) -> Fetched:
        """Return the answer to one request, without following redirects.

        With ``most_bytes``, an answer that is longer is cut; else one that is too long is refused.
        """
        import urllib3

        # urllib3 warns of heads that it repairs.
        logging.getLogger("urllib3").setLevel(logging.ERROR)
        self._wait_for_turn(parts)
        limit = most_bytes or self._settings.max_bytes
        cut = most_bytes > 0
        headers = {
            "Host": parts.netloc,
            "User-Agent": f"{AGENT}/{__version__}",
            "Accept-Encoding": "gzip",
            "Accept": "*/*",
            **conditions,
        }
        seconds = max(_LEAST_SECONDS, self._settings.seconds - self._spent)
        timeout = urllib3.Timeout(connect=seconds, read=seconds)
        pool, target = self._pool(parts, timeout)
        began = self._clock()
        moment = datetime.now(UTC)
        with _time_limited(pool, seconds) as is_late, pool:
            try:
                response = pool.urlopen(
                    "GET",
                    target,
                    headers=headers,
                    redirect=False,
                    preload_content=False,
                    decode_content=False,
                    assert_same_host=False,
                )
                raw = _read_at_most(response, limit, cut=cut)
            except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
                if not is_late():
                    raise FetchError(f"cannot be fetched: {_reason_of(error)}") from None
            # A head that is broken off looks like an answer without a body.
            if is_late():
                raise FetchError(f"took more than {self._settings.seconds:g} seconds")
        self._spent += self._clock() - began
        address = urlunsplit(parts)
        answer = Fetched(
            address=address,
            status=response.status,
            reason=response.reason or "",
            headers=tuple(response.headers.items()),
            body=b"",
            raw=raw,
            moment=moment,
            record_id=uuid4().urn,
        )
        if self._keep is not None and answer.status != HTTPStatus.NOT_MODIFIED:
            self._keep(answer)
        # An answer without content may still have the header that names its packing.
        if answer.status != HTTPStatus.OK:
            return answer
        return answer._replace(body=_unpacked(answer, limit, cut=cut))

    def _pool(self, parts: SplitResult, timeout: Any) -> tuple[Any, str]:
        """Return the connections for an address, to the IP address that was checked or to a proxy,
        and what to ask for there.
        """
        import urllib3

        host, port = parts.hostname or "", port_of(parts)
        path = urlunsplit(parts._replace(scheme="", netloc=""))
        common: dict[str, Any] = {"timeout": timeout, "maxsize": 1, "retries": False}
        proxy = self._proxies.get(parts.scheme, "")
        if proxy and not proxy_bypass(parts.netloc):
            pools = _proxy_pools(proxy, {**common, "ssl_context": self._tls})
            is_tunnel = parts.scheme == "https"
            pool = pools.connection_from_host(host, port, parts.scheme)
            return pool, path if is_tunnel else urlunsplit(parts)

        chosen = resolve(parts, allow_private=self._allow_private)
        if parts.scheme == "http":
            return urllib3.HTTPConnectionPool(chosen, port, **common), path
        secure: dict[str, Any] = {"server_hostname": host, "assert_hostname": host}
        secure["ssl_context"] = self._tls
        return urllib3.HTTPSConnectionPool(chosen, port, **common, **secure), path

    def _wait_for_turn(self, parts: SplitResult) -> None:
        """Sleep until the host may be asked again."""
        host = parts.netloc
        pause = self._settings.seconds_between
        rules = self._robots.get(f"{parts.scheme}://{host}")
        if rules is not None and not isinstance(rules, str):
            with suppress(TypeError, ValueError):
                pause = max(pause, min(float(rules.crawl_delay(AGENT) or 0), _LONGEST_WAIT))
        wait = self._next_request.get(host, 0.0) - self._clock()
        if wait > 0:
            self._sleep(wait)
        self._next_request[host] = self._clock() + pause


def _proxy_pools(proxy: str, options: dict[str, Any]) -> Any:
    """Return the connections to a proxy; raise FetchError if its address is not one of http or
    https.
    """
    import urllib3

    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        headers = None
        if parts.username is not None:
            credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers = urllib3.make_headers(proxy_basic_auth=credentials)
        host = parts.netloc.rpartition("@")[2]
        return urllib3.ProxyManager(f"{parts.scheme}://{host}", proxy_headers=headers, **options)
    except (ValueError, urllib3.exceptions.HTTPError):
        raise FetchError("cannot be fetched: the proxy is no address of http or https") from None


@contextmanager
def _time_limited(pool: Any, seconds: float) -> Iterator[Callable[[], bool]]:
    """Break off the connection of a pool after ``seconds``; yield whether that has happened.

    A time limit of the socket alone begins again with each byte that a server sends.
    """
    sockets: list[Any] = []
    late = threading.Event()

    class WatchedConnection(pool.ConnectionCls):  # type: ignore[misc]
        def connect(self) -> None:
            super().connect()
            sockets.append(self.sock)
            if late.is_set():
                break_off()

    def break_off() -> None:
        late.set()
        for each in sockets:
            with suppress(OSError):
                each.shutdown(SHUT_RDWR)

    pool.ConnectionCls = WatchedConnection
    timer = threading.Timer(seconds, break_off)
    timer.daemon = True
    timer.start()
    try:
        yield late.is_set
    finally:
        timer.cancel()


def _read_at_most(response: Any, limit: int, *, cut: bool) -> bytes:
    """Return the body of a response as it came; raise FetchError if it has more than ``limit``."""
    pieces: list[bytes] = []
    size = 0
    for piece in response.stream(_PIECE, decode_content=False):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            if not cut:
                raise FetchError(f"is longer than {limit:,} bytes (fetch.max_bytes)")
            break
    return b"".join(pieces)[:limit]


def _unpacked(answer: Fetched, limit: int, *, cut: bool) -> bytes:
    """Return the body of an answer without its packing; raise FetchError if it is too long."""
    packing = answer.header("content-encoding").strip().lower()
    if packing in ("", "identity"):
        return answer.raw
    if packing not in ("gzip", "x-gzip"):
        raise FetchError(f"is packed with {packing[:40]!r}, although gzip was asked for")
    try:
        return unpack_gzip(answer.raw, limit, cut=cut)
    except ValueError as error:
        raise FetchError(str(error)) from None


def unpack_gzip(packed: bytes, limit: int, *, cut: bool = False) -> bytes:
    """Return gzip data unpacked, all of their members.

    Raises ValueError, with the reason, if they are damaged or, unless ``cut``, unpack to more than
    ``limit`` bytes.
    """
    unpacked = b""
    while packed:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            unpacked += unpacker.decompress(packed, limit + 1 - len(unpacked))
        except zlib.error:
            raise ValueError("is damaged: it is not the gzip data that it claims to be") from None
        if len(unpacked) > limit:
            if cut:
                return unpacked[:limit]
            raise ValueError(
                f"is longer than {limit:,} bytes when it is unpacked (fetch.max_bytes)"
            )
        if not unpacker.eof:
            if cut:
                return unpacked
            raise ValueError("is damaged: its gzip data end too early")
        packed = unpacker.unused_data.lstrip(b"\0")  # some programs fill up the last block
    return unpacked


def _target_of(answer: Fetched) -> SplitResult | None:
    """Return where an answer redirects to, or None. Raises AddressError if that is no address."""
    target = answer.header("location")
    if answer.status not in _REDIRECTS or not target:
        return None
    # Headers are read as Latin-1; browsers take an address in them as UTF-8 if it is.
    with suppress(UnicodeError):
        target = target.encode("latin-1").decode("utf-8")
    try:
        return parse_address(urljoin(answer.address, target))
    except ValueError:
        raise AddressError("is redirected to what is no web address") from None


def _seconds_to_wait(answer: Fetched) -> float | None:
    """Return the seconds of the header Retry-After, a number or a date; None without one."""
    written = answer.header("retry-after").strip()
    if written.isascii() and written.isdigit():
        return float(written[:9])
    try:
        until = parsedate_to_datetime(written)
    except (TypeError, ValueError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - answer.moment).total_seconds())


def _reason_of(error: Exception) -> str:
    """Return an error of a connection in words, without the names of Python's objects."""
    text = str(error.args[-1] if error.args else error) or type(error).__name__
    for mark in ("): ", "> "):
        text = text.rpartition(mark)[2]
    return " ".join(text.split())[:200]
