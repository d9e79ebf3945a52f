"""The rules of every format, by what they take and what they refuse."""

from __future__ import annotations

import ipaddress
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touba_cli.values.formats import FORMATS

TAKEN = {
    "email": [
        "a@b.de", "first.last+tag@mail.example.org", "x!#$%&'*+/=?^_`{|}~-@a.b", "a" * 64 + "@b.de",
        "a@" + "b" * 63 + ".de",
    ],
    "hostname": ["a", "localhost", "a.b", "xn--bcher-kva.example", "3com.com", "a-b.c", "a" * 63, ".".join(["a" * 49] * 5)],
    "ipv4": ["0.0.0.0", "255.255.255.255", "1.20.3.4"],
    "ipv6": ["::", "::1", "1::", "2001:db8::ff00:42:8329", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7::", "ABCD::"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "ABCDEF00-0000-0000-0000-000000000000"],
    "date": ["2026-01-31", "2024-02-29", "0001-01-01"],
    "date-time": ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+02:00"],
    "uri": [
        "https://example.org", "http://user:pw@host:80/a/b;c?q=1&r=%20#frag", "mailto:a@b.de", "urn:isbn:0451450523", "a:",
        "file:///etc/x", "http://[::1]:8080/", "x+y-z.1://h", "http://h?", "http://h#", "http://1.2.3.4/%C3%A9",
    ],
}  # fmt: skip

REFUSED = {
    "email": [
        "", "a", "@b.de", "a@", "a@b", "a@b.", ".a@b.de", "a.@b.de", "a..b@c.de", "a b@c.de", '"a"@b.de', "ä@b.de",
        "a" * 65 + "@b.de", "a@-b.de", "a@b.de\n", "a@[1.2.3.4]", "a@" + ".".join(["b" * 60] * 5),
    ],
    "hostname": ["", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "bücher.de", "a" * 64, ".".join(["a" * 50] * 5), "a b"],
    "ipv4": ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "1.2.3.a", "1..2.3", "٣.2.3.4", "1.2.3.4/8"],
    "ipv6": [
        "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "::12345", "::g", "fe80::1%eth0", "[::1]",
        "1:2:3:4:5:6:7::8", "::1.2.3", "1.2.3.4::", "1:2:3:4:5:6:7:1.2.3.4", "1:", ":1", "::1:", ":::1",
    ],
    "uuid": ["", "123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}", "123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a456-4266141740000", "123e456-7e89b-12d3-a456-426614174000"],
    "date": ["", "2026-02-29", "2026-1-31", "20260131", "2026-01-31T00:00:00Z", "2026-W05-1"],
    "date-time": ["", "2026-01-31", "2026-01-31 12:00:00Z", "2026-01-31T12:00:00", "2026-01-31T24:00:00Z", "2026-01-31T12:00:60Z"],
    "uri": [
        "", ":", "example.org", "//host", "/a/b", "1a:b", "ä:b", "http://a b", "http://a/ü", "http://a/%2", "http://a/%zz",
        "http://a#b#c", "http://[::1", "http://[1.2.3.4]", "http://[v1.a]/", "http://a:8x/", "http://a/[b]", "http://a\n",
        "http://a:1:2/", "http://a\\b", "a|b:c", "http://<a>", "http://[::1]x/",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, found in TAKEN.items() for text in found])
def test_what_a_format_takes(name: str, text: str) -> None:
    assert FORMATS[name](text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, found in REFUSED.items() for text in found])
def test_what_a_format_refuses(name: str, text: str) -> None:
    assert not FORMATS[name](text)


def test_every_format_is_tested() -> None:
    assert set(FORMATS) == set(TAKEN) == set(REFUSED)


@given(st.ip_addresses(v=6), st.booleans())
def test_every_spelling_of_an_ipv6_address(address: ipaddress.IPv6Address, long: bool) -> None:
    assert FORMATS["ipv6"](address.exploded if long else address.compressed)


@given(st.text(st.sampled_from("0123456789abf:."), max_size=25))
def test_ipv6_agrees_with_ipaddress(text: str) -> None:
    try:
        ipaddress.IPv6Address(text)
        expected = True
    except ValueError:
        expected = False
    assert FORMATS["ipv6"](text) is expected


@given(st.text(st.sampled_from("0123456789."), max_size=16))
def test_ipv4_agrees_with_ipaddress(text: str) -> None:
    try:
        ipaddress.IPv4Address(text)
        expected = True
    except ValueError:
        expected = False
    assert FORMATS["ipv4"](text) is expected


@given(st.uuids())
def test_every_uuid(value: uuid.UUID) -> None:
    assert FORMATS["uuid"](str(value))


@given(st.sampled_from(sorted(FORMATS)), st.text(max_size=30))
def test_any_text_has_an_answer(name: str, text: str) -> None:
    assert FORMATS[name](text) in (True, False)
    if not text.isascii():
        assert not FORMATS[name](text)
