"""Which addresses are fetched."""

import pytest

from factseek.indexer.intake.addresses import AddressError, is_public, parse_address

PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "ff02::1",
    "fec0::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "2001:db8::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_recognised_also_inside_others(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"],
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("ftp://a.org/x", "is not an address of http or https"),
        ("file:///etc/passwd", "is not an address of http or https"),
        ("https://ann:secret@a.org/", "contains a user name; factseek sends no credentials"),
        ("https://ann@a.org/", "contains a user name; factseek sends no credentials"),
        ("https:///x", "names no host"),
        ("http://a.org:x/", "is not a web address"),
        ("http://[::1/", "is not a web address"),
        (f"http://{'a' * 70}.org/", "names no host"),
        ("http://a.org/" + "a" * 8_000, "has 8,013 characters, but at most 8,000 are read"),
    ],
)
def test_addresses_that_are_not_fetched(address: str, reason: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(address)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://Bücher.example/", "xn--bcher-kva.example"),
        ("https://faß.example/", "xn--fa-hia.example"),
        ("https://пример.испытание/", "xn--e1afmkfd.xn--80akhbyknj4f"),
        ("https://my_host.example/", "my_host.example"),
    ],
)
def test_a_host_is_written_in_ascii(address: str, host: str) -> None:
    assert parse_address(address).netloc == host


def test_an_address_is_written_as_a_request_needs_it() -> None:
    parts = parse_address(" https://Bücher.example:443/ä b?q=ü#part ")
    assert parts.geturl() == "https://xn--bcher-kva.example/%C3%A4%20b?q=%C3%BC"
