"""JSON in and out: exact numbers, keys that stand twice, depth, surrogates, places of faults, canonical bytes."""

from __future__ import annotations

import decimal
import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touba_cli.codec import (
    INT_HIGH,
    INT_LOW,
    ExactNumber,
    JsonInvalid,
    canonical,
    decode,
    digest,
    encode,
    key_digest,
    sha256,
)
from touba_cli.limits import JSON_DEPTH, NUMBER_DIGITS

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
INTEGERS = st.integers(INT_LOW, INT_HIGH)
#: every value that both directions know
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)


def refusal(data: bytes, **more: Any) -> JsonInvalid:
    with pytest.raises(JsonInvalid) as caught:
        decode(data, **more)
    return caught.value


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, -1, 7, INT_LOW, INT_HIGH])
def test_integers_of_64_bits_are_integers(number: int) -> None:
    found = decode(str(number).encode())
    assert type(found) is int
    assert found == number


@pytest.mark.parametrize(
    "text",
    [
        str(INT_HIGH + 1), str(INT_LOW - 1), "18446744073709551616", "12.50", "1e3", "1E+400", "-0.0", "0.1", "1e-400",
        "0." + "1" * 300, "9" * NUMBER_DIGITS,
    ],
)  # fmt: skip
def test_every_other_number_keeps_its_text(text: str) -> None:
    assert decode(text.encode()) == ExactNumber(text)
    assert decode(b'{"a":[' + text.encode() + b"]}") == {"a": [ExactNumber(text)]}


def test_negative_zero_is_the_integer_zero() -> None:
    assert decode(b"-0") == 0


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_decimals_arrive_digit_by_digit(number: decimal.Decimal) -> None:
    found = decode(f"[{number:f}]".encode())[0]
    assert isinstance(found, ExactNumber)
    assert found.text == f"{number:f}"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_arrive_as_the_same_double(number: float) -> None:
    found = decode(encode([number]))[0]
    assert (found.as_float() if isinstance(found, ExactNumber) else float(found)) == number


def test_a_number_past_the_doubles_is_none_of_them() -> None:
    assert ExactNumber("1e400").as_float() is None
    assert ExactNumber("-1e400").as_float() is None
    assert ExactNumber("1e-400").as_float() == 0.0


@pytest.mark.parametrize("text", ["1" * (NUMBER_DIGITS + 1), "0." + "1" * NUMBER_DIGITS, "-" + "1" * NUMBER_DIGITS])
def test_numbers_are_bounded(text: str) -> None:
    assert str(refusal(text.encode())) == f"a number has more than {NUMBER_DIGITS} characters (line 1, column 1)"


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_what_only_python_reads_is_refused(text: str) -> None:
    assert refusal(f'{{"a": {text}}}'.encode()).message == f"`{text}` is not JSON"


@pytest.mark.parametrize("text", ["01", "+1", ".5", "1.", "1e", "0x10", "1_000", "--1", "1,5"])
def test_numbers_of_other_languages_are_refused(text: str) -> None:
    assert refusal(text.encode()).line == 1


# --- objects ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "a": 1}', '"a"'),
        ('[{"b": {"a": 1, "c": 2, "a": 3}}]', '"a"'),
        (r'{"a": 1, "\u0061": 2}', '"a"'),
        ('{"": 1, "": 2}', '""'),
        ('{"é": 1, "é": 2}', r'"\xe9"'),
        ('{"' + "k" * 80 + '": 1, "' + "k" * 80 + '": 2}', '"' + "k" * 57 + '..."'),
    ],
)
def test_a_key_stands_once(text: str, key: str) -> None:
    assert refusal(text.encode()).message == f"the key {key} stands twice in one object"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1,\n "a": 2}', "(line 2, column 2)"),
        ('[{"b": {"a": 1, "c": {"c": [1, "a"]}, "a": 3, "a": 4}}]', "(line 1, column 39)"),
        ('{"a": {"x": 1, "x": 2}, "a": 1}', "(line 1, column 16)"),
        ('{"a": "a", "b": ["a", {"a": "\\"a"}],\n"\\u0061": 1}', "(line 2, column 1)"),
        ('{"a":\n[1, NaN]}', "(line 2, column 5)"),
        ('{"Infinity": "NaN", "b": -Infinity}', "(line 1, column 26)"),
        ('["' + "1" * 500 + '", ' + "1" * 500 + "]", "(line 1, column 506)"),
        ('{"a":\n\n  -0.' + "1" * 500 + "}", "(line 3, column 3)"),
        (r'["\\ud800", {"\ud83d\ude00": "é\udc00"}]', "(line 1, column 30)"),
        ('{"b": 1,\n"\\udc00": 1}', "(line 2, column 1)"),
    ],
)
def test_what_is_refused_has_its_place(text: str, place: str) -> None:
    assert str(refusal(text.encode())).endswith(place)


@given(VALUES.map(json.dumps), st.sampled_from(["key", "word", "number", "surrogate"]))
def test_a_fault_is_found_behind_any_document(text: str, kind: str) -> None:
    """The fault stands behind a document that has none; its place does not depend on what stands before it."""
    fault = {"key": '{"k": 1, "k": 2}', "word": "NaN", "number": "1" * 500, "surrogate": '"\\ud800"'}[kind]
    before = f"[{text},\n"
    found = refusal(f"{before}{fault}]".encode())
    assert found.line == before.count("\n") + 1
    assert found.offset == len(before) + (9 if kind == "key" else 0)


def test_the_same_key_may_stand_in_several_objects_and_keeps_its_place() -> None:
    assert list(decode(b'{"z": {"a": 1}, "a": {"z": 2}}').items()) == [("z", {"a": 1}), ("a", {"z": 2})]


# --- bytes ------------------------------------------------------------------------------------------------------------


def test_bytes_that_are_no_utf_8_are_placed() -> None:
    fault = refusal(b'{"a":\n "\xff"}')
    assert (fault.line, fault.column) == (2, 3)


def test_one_byte_order_mark_is_skipped_and_a_second_is_not() -> None:
    assert decode(b"\xef\xbb\xbf{}") == {}
    assert refusal(b"\xef\xbb\xbf\xef\xbb\xbf{}").message == "a value was expected"


@pytest.mark.parametrize("data", [b"", b"   ", b"\n\t"])
def test_nothing_is_no_document(data: bytes) -> None:
    assert refusal(data, what="manifest").message in ("the manifest is empty", "a value was expected")


@pytest.mark.parametrize(
    ("data", "place"), [(b"{} {}", (1, 4)), (b"1\n\n x", (3, 2)), (b"[1]]", (1, 4)), ("\n\"é\" x".encode(), (2, 5))]
)  # fmt: skip
def test_text_behind_the_document_is_placed(data: bytes, place: tuple[int, int]) -> None:
    fault = refusal(data)
    assert fault.message == "text follows the end of the document"
    assert (fault.line, fault.column) == place
    assert str(fault).endswith(f"(line {place[0]}, column {place[1]})")


@pytest.mark.parametrize(
    "data", [b"{'a': 1}", b"[1,]", b'{"a": 1,}', b'{"a" 1}', b"{a: 1}", b'"a\nb"', b'"\\x"', b"// x\n1"]
)
def test_what_other_readers_allow_is_refused_with_its_place(data: bytes) -> None:
    fault = refusal(data)
    assert fault.line >= 1
    assert fault.column >= 1


def test_size_is_checked_before_anything_is_read() -> None:
    assert decode(b"[1]", limit=3) == [1]
    assert "3" in refusal(b"not JSON", limit=3).message


# --- depth ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("left", "right"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
def test_nesting_is_bounded_and_placed(left: bytes, right: bytes) -> None:
    levels = left.count(b"[") + left.count(b"{")
    most = JSON_DEPTH // levels
    found = decode(left * most + b"1" + right * most)
    for _ in range(JSON_DEPTH):
        found = found[0] if isinstance(found, list) else found["a"]
    assert found == 1
    assert refusal(left * (most + 1) + b"1" + right * (most + 1)).message == f"nested deeper than {JSON_DEPTH} levels"


def test_a_million_brackets_are_refused_and_not_followed() -> None:
    fault = refusal(b"[" * 1_000_000)
    assert (fault.line, fault.column) == (1, JSON_DEPTH + 1)


@pytest.mark.parametrize("text", ["[" * 1000, '\\"' + "[" * 1000, "\\\\", '{"' * 500])
def test_brackets_inside_text_do_not_nest(text: str) -> None:
    assert decode(encode([text, text])) == [text, text]


def test_many_brackets_beside_each_other_do_not_nest() -> None:
    assert decode(b"[" + b"[]," * 5000 + b"{}]") == [[]] * 5000 + [{}]


# --- surrogates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [r'"\ud800"', r'["a", {"b": "x\uDFFFy"}]', r'{"\ud83d": 1}', r'"\ude00\ud83d"', r'["\ud800\\udc00"]']
)
def test_lone_surrogates_are_refused(text: str) -> None:
    assert "a lone surrogate" in refusal(text.encode()).message


def test_pairs_are_one_character_and_a_written_backslash_is_none() -> None:
    assert decode(rb'"\ud83d\ude00"') == "\U0001f600"
    assert decode(rb'"\\ud800"') == r"\ud800"


def test_the_encoder_refuses_what_is_no_text_or_number() -> None:
    with pytest.raises(UnicodeEncodeError):
        encode(["\ud800"])
    with pytest.raises(ValueError, match=r"(?i)float"):
        encode([float("nan")])
    with pytest.raises(TypeError, match="set has no JSON form"):
        encode({"a": {1}})


# --- writing ----------------------------------------------------------------------------------------------------------


@given(VALUES)
def test_what_is_written_is_read_again(value: Any) -> None:
    assert decode(encode(value)) == value
    assert decode(canonical(value)) == value
    assert json.loads(encode(value)) == value


@given(VALUES)
def test_canonical_bytes_do_not_depend_on_the_order_of_keys(value: Any) -> None:
    def turned(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: turned(item[key]) for key in reversed(list(item))}
        return [turned(each) for each in item] if isinstance(item, list) else item

    assert canonical(turned(value)) == canonical(value)
    assert canonical(decode(canonical(value))) == canonical(value)


def test_canonical_bytes_are_the_written_ones() -> None:
    value = {"b": [1, True, None, -0], "a": 'é\u2028\x1f"\\/', "A": {}, "": []}
    assert canonical(value) == '{"":[],"A":{},"a":"é\u2028\\u001f\\"\\\\/","b":[1,true,null,0]}'.encode()
    assert encode(value) == '{"b":[1,true,null,0],"a":"é\u2028\\u001f\\"\\\\/","A":{},"":[]}'.encode()
    assert encode("é") == canonical("é") == '"é"'.encode()


@given(st.binary(max_size=200))
def test_digests_are_sha_256(data: bytes) -> None:
    assert sha256(data) == hashlib.sha256(data).hexdigest()


def test_digests_are_taken_over_canonical_bytes() -> None:
    assert digest({"b": 1, "a": "x"}) == "sha256:" + hashlib.sha256(b'{"a":"x","b":1}').hexdigest()
    assert key_digest("a", 1) == hashlib.sha256(b'["a",1]').hexdigest()
    assert key_digest("a", 1) != key_digest("a1")


# --- anything ---------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=60) | st.text('[]{}:,"\\ude0123456789.eE+- \ntrufalsn', max_size=60).map(str.encode))
def test_anything_is_read_or_refused(data: bytes) -> None:
    try:
        found = decode(data, limit=1000)
    except JsonInvalid as refused:
        fault = refused
    else:
        assert json.loads(data.decode("utf-8-sig")) is not Ellipsis
        assert found is None or isinstance(found, bool | int | str | list | dict | ExactNumber)
        return
    assert fault.message
    assert "\n" not in fault.message


def test_without_the_scanner_of_c_the_results_are_the_same() -> None:
    script = """
import sys
sys.modules["_json"] = None
from touba_cli.codec import JsonInvalid, canonical, decode, encode
def shown(data):
    try:
        return decode(data)
    except JsonInvalid as fault:
        return str(fault)
for data in sys.argv[1:]:
    print(ascii(shown(data.encode())))
print(ascii([encode({"b": [1, True, None], "a": "\\x1f"}), canonical({"b": "x", "a": 1})]))
"""
    documents = [
        '{"a": [1, 12.50, 18446744073709551616]}',
        '{"a": 1, "a": 2}',
        "[NaN]",
        "[1,]",
        '"\\ud800"',
        "{} x",
        "[" * 300,
    ]
    done = subprocess.run([sys.executable, "-c", script, *documents], capture_output=True, text=True, check=True)

    def shown(data: bytes) -> Any:
        try:
            return decode(data)
        except JsonInvalid as fault:
            return str(fault)

    here = [ascii(shown(each.encode())) for each in documents]
    here.append(ascii([encode({"b": [1, True, None], "a": "\x1f"}), canonical({"b": "x", "a": 1})]))
    assert done.stdout.splitlines() == here
