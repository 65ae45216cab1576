"""Which addresses may be fetched: http and https, without credentials, of public machines."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from urllib.parse import SplitResult, quote, urlsplit

SCHEMES = ("http://", "https://")
_PORTS = {"http": 80, "https": 443}
_LONGEST = 8_000
"""The most characters of an address; servers refuse longer ones."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that a gateway translates to the IPv4 address in their last four bytes."""
_UNSAFE = "%/:=&?~#+!$,;'@()*[]"
"""What may stand in an address as it is; other characters are percent-encoded, as browsers do."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressError(Exception):
    """An address may not be fetched, for the reason that the message gives."""


def is_address(text: str) -> bool:
    """Return whether a text begins like a web address."""
    return text.lower().startswith(SCHEMES)


def parse_address(address: str) -> SplitResult:
    """Return the parts of a web address, encoded and without fragment.

    Raises AddressError if it is not the address of a page that may be fetched.
    """
    if len(address) > _LONGEST:
        raise AddressError(f"has {len(address):,} characters, but at most {_LONGEST:,} are read")
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError:
        raise AddressError("is not a web address") from None
    if parts.scheme not in _PORTS:
        raise AddressError("is not an address of http or https")
    if parts.username is not None or parts.password is not None:
        raise AddressError("contains a user name; factseek sends no credentials")
    name = _ascii_host(parts.hostname or "")
    if not name:
        raise AddressError("names no host")
    shown = f"[{name}]" if ":" in name else name
    try:
        # Bytes of an argument that are not UTF-8 stay as they are.
        path = quote(parts.path or "/", safe=_UNSAFE, errors="surrogateescape")
        query = quote(parts.query, safe=_UNSAFE, errors="surrogateescape")
    except UnicodeEncodeError:
        raise AddressError("is not a web address") from None
    return parts._replace(
        netloc=shown if port in (None, _PORTS[parts.scheme]) else f"{shown}:{port}",
        path=path,
        query=query,
        fragment="",
    )


def _ascii_host(host: str) -> str:
    """Return a host as browsers write it in a request (IDNA 2008), ``""`` if it is invalid."""
    import idna

    if _is_ip(host):
        return host
    try:
        if host.isascii():  # such names may have an underscore, which IDNA does not admit
            return host if host.encode("idna") else ""
        return idna.encode(host, uts46=True).decode("ascii")
    except UnicodeError:
        return ""


def port_of(parts: SplitResult) -> int:
    """Return the port of a parsed address."""
    return parts.port or _PORTS[parts.scheme]


def resolve(parts: SplitResult, *, allow_private: bool) -> str:
    """Return an IP address of the host of a parsed address, to which a connection may be made.

    Raises AddressError if the host is unknown or, unless ``allow_private``, if one of its addresses
    is not public: another attempt might be answered with that one.
    """
    host = parts.hostname or ""
    try:
        answers = socket.getaddrinfo(host, port_of(parts), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressError(f"there is no host {host}") from None
    found = [str(answer[4][0]).partition("%")[0] for answer in answers]
    if not allow_private:
        for address in found:
            if not is_public(address):
                raise AddressError(
                    f"leads to {address}, which is no public address (--allow-private fetches it)"
                )
    return found[0]


def is_public(address: str) -> bool:
    """Return whether an IP address, and each IPv4 address inside it, is reachable by everyone."""
    return all(_is_global(each) for each in _with_inner(ipaddress.ip_address(address)))


def _is_global(address: IPAddress) -> bool:
    is_site = isinstance(address, ipaddress.IPv6Address) and address.is_site_local  # fec0::/10
    return address.is_global and not (address.is_multicast or address.is_reserved or is_site)


def _with_inner(address: IPAddress) -> Iterator[IPAddress]:
    """Yield the addresses that must all be public: for some of IPv6, the IPv4 address inside."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    found = [each for each in inner if each is not None]
    # The form that contains an IPv4 address is itself not global, so only the inner one decides.
    yield from found or [address]


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
