"""The relay of standard error: whatever the pieces, no secret passes and nothing else is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touba_cli.runtime.calls import _RELAY_BYTES, Relay

SECRET = "s3cret-of-the-bank"


@given(
    st.lists(st.sampled_from(["line\n", "no end ", SECRET, "\n", "ü", SECRET[:9]]), max_size=12),
    st.lists(st.integers(1, 40), max_size=12),
)
def test_no_secret_passes_however_the_bytes_arrive(texts: list[str], cuts: list[int]) -> None:
    data = "".join(texts).encode()
    forwarded: list[bytes] = []
    relay = Relay([SECRET], forwarded.append)
    for cut in cuts:
        relay.feed(data[:cut])
        data = data[cut:]
    relay.feed(data)
    relay.close()
    output = b"".join(forwarded)
    expected = "".join(texts).replace(SECRET, "[secret]").encode()
    assert SECRET.encode() not in output
    assert output == expected + (b"" if expected.endswith(b"\n") or not expected else b"\n")


@given(st.integers(0, 30))
def test_a_secret_across_the_end_of_a_full_buffer_is_withheld(offset: int) -> None:
    forwarded: list[bytes] = []
    relay = Relay([SECRET], forwarded.append)
    filling = b"x" * (_RELAY_BYTES - offset)
    relay.feed(filling + SECRET.encode()[:10])
    relay.feed(SECRET.encode()[10:] + b"y" * 20)
    relay.close()
    assert b"".join(forwarded) == filling + b"[secret]" + b"y" * 20 + b"\n"


def test_the_lines_of_a_key_are_secrets_too() -> None:
    forwarded: list[bytes] = []
    relay = Relay(["-----BEGIN-----\nabcdefghijkl\nshort\n"], forwarded.append)
    relay.feed(b"key: abcdefghijkl\nshort\n")
    relay.close()
    assert b"".join(forwarded) == b"key: [secret]\nshort\n"
