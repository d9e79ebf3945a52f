"""Reading wire values: shapes, limits, rules of the edge, constraints, and messages that name places but no values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.values.samples import meter, tables_and_forms, typed_values
from touba_cli import codec
from touba_cli.air.types import freeze
from touba_cli.codec import ExactNumber
from touba_cli.errors import ToubaFailure
from touba_cli.values.check import TypeTable, ValueInvalid
from touba_cli.values.equality import equal
from touba_cli.values.functions import literal, write_literal
from touba_cli.values.model import ABSENT, ENTRY, Present, make_list, make_map, make_present, make_record
from touba_cli.values.paths import nearest, shown

TABLE = TypeTable(
    {
        "type:app/Name": {"kind": "alias", "of": ["is", "Text", [["length", 1, 5]]]},
        "type:app/Line": {
            "kind": "record",
            "fields": [
                {"name": "name", "type": "type:app/Name"},
                {"name": "net", "type": ["is", "Decimal", [["min", ["dec", "0"]], ["below", ["dec", "100.00"]]]]},
                {"name": "note", "type": ["Optional", "Text"], "wire": "the note"},
            ],
        },
        "type:app/Order": {
            "kind": "record",
            "fields": [
                {"name": "lines", "type": ["is", ["List", "type:app/Line"], [["length", None, 3]]]},
                {"name": "rates", "type": ["Map", "Decimal"]},
            ],
        },
        "type:app/State": {
            "kind": "choice",
            "variants": [
                {"name": "Open"},
                {"name": "Paid", "fields": [{"name": "receipt", "type": "Text"}]},
                {"name": "Held", "fields": [{"name": "present", "type": ["Optional", "Int"]}]},
            ],
        },
        "type:app/Flag": {"kind": "record", "fields": [{"name": "here", "type": "Bool", "wire": "present"}]},
        "type:app/Tree": {"kind": "record", "fields": [{"name": "parts", "type": ["List", "type:app/Tree"]}]},
    }
)


def read(form: Any, wire: Any, path: str = "$", edge: bool = False, max_value_bytes: int = 2**25) -> Any:
    return TABLE.decode(freeze(form), wire, path, meter(max_value_bytes=max_value_bytes), edge=edge)


def refusal(form: Any, wire: Any, path: str = "$", edge: bool = False, max_value_bytes: int = 2**25) -> str:
    with pytest.raises(ValueInvalid) as refused:
        read(form, wire, path, edge, max_value_bytes)
    assert str(refused.value) == f"{refused.value.path}: {refused.value.message}"
    return str(refused.value)


LINE = {"name": "a", "net": "1", "the note": {"present": False}}
ORDER = "type:app/Order"

REFUSALS: list[tuple[Any, Any, str]] = [
    ("Text", 1, "$: expected a text, found a whole number"),
    ("Text", "\ud800", "$: the text holds a lone surrogate"),
    ("Int", True, "$: expected a whole number, found true or false"),
    ("Int", "1", "$: expected a whole number, found a text"),
    ("Int", ExactNumber("1.0"), "$: expected a whole number, found one with a fraction or exponent"),
    ("Int", ExactNumber("18446744073709551616"), "$: the number is not within 64 bits"),
    ("Int", 2**63, "$: the number is not within 64 bits"),
    ("Int", None, "$: expected a whole number, found null"),
    ("Decimal", True, '$: expected a Decimal as text, like "12.50", found true or false'),
    ("Decimal", 0.1, "$: the exact text of the number is lost; write it as text"),
    ("Decimal", "1e3", "$: expected a Decimal: it is not in plain notation, like `12.50`"),
    ("Decimal", "9" * 40, "$: expected a Decimal: it has more than 34 significant digits"),
    ("Decimal", ExactNumber("1e400"), "$: expected a Decimal: its exponent is not from -34 to 34"),
    ("Float", ExactNumber("1e400"), "$: the number is out of the range of Float"),
    ("Float", "1", "$: expected a number, found a text"),
    ("Float", True, "$: expected a number, found true or false"),
    ("Float", float("nan"), "$: the number is out of the range of Float"),
    ("Float", float("-inf"), "$: the number is out of the range of Float"),
    ("Bool", 1, "$: expected true or false, found a whole number"),
    ("Bool", None, "$: expected true or false, found null"),
    ("Nothing", {}, "$: expected null, found an object"),
    ("Date", "2024-02-30", "$: expected a Date: it is no day of the calendar"),
    ("Date", 20240101, "$: expected a Date as text, found a whole number"),
    ("Json", {"a": [1, ExactNumber("1e400")]}, '$["a"][1]: the number is out of the range of Float'),
    ("Json", [{"b c": ExactNumber("9" * 30)}], '$[0]["b c"]: the number is not within 64 bits'),
    (["List", "Int"], {}, "$: expected a list, found an object"),
    (["List", "Int"], [1, 2, "3"], "$[2]: expected a whole number, found a text"),
    (["Map", "Int"], [], "$: expected an object, found a list"),
    (["Map", ["List", "Int"]], {"EUR/USD": [None]}, '$["EUR/USD"][0]: expected a whole number, found null'),
    (["Optional", "Int"], None, '$: expected an Optional, as `{"present": …}`, found null'),
    (["Optional", "Int"], 1, '$: expected an Optional, as `{"present": …}`, found a whole number'),
    (["Optional", "Int"], {"present": 1}, "present: expected true or false"),
    (["Optional", "Int"], {"present": False, "value": 1}, "value: an Optional has no such member"),
    (["Optional", "Int"], {"present": True}, "value: the member is missing"),
    (["Optional", "Int"], {"present": True, "value": "x"}, "value: expected a whole number, found a text"),
    ("type:app/Line", [], "$: expected an object with the fields of `Line`, found a list"),
    ("type:app/Line", {"name": "a", "net": "1"}, '$["the note"]: the field is missing'),
    ("type:app/Line", {**LINE, "nett": 1}, "nett: `Line` has no such field"),
    ("type:app/Line", {"name": "a", "nett": 1, "the note": None},
     "nett: `Line` has no such field; did you mean `net`?"),
    ("type:app/Line", {**LINE, "name": ""}, "name: must have 1 to 5 characters"),
    ("type:app/Line", {**LINE, "net": "100"}, "net: must be below 100.00"),
    ("type:app/Line", {**LINE, "net": "-0.01"}, "net: must be at least 0"),
    (ORDER, {"lines": [LINE] * 4, "rates": {}}, "lines: must have at most 3 elements"),
    (ORDER, {"lines": [LINE, {**LINE, "name": "abcdef"}], "rates": {}}, "lines[1].name: must have 1 to 5 characters"),
    (ORDER, {"lines": [], "rates": {"EUR/USD": "x"}},
     'rates["EUR/USD"]: expected a Decimal: it is not in plain notation, like `12.50`'),
    ("type:app/State", "Shut", "$: there is no such variant; expected one of `Open`, `Paid`, `Held`"),
    ("type:app/State", "open", "$: there is no such variant; expected one of `Open`, `Paid`, `Held`; did you mean `Open`?"),
    ("type:app/State", {"choice": "Piad"},
     "choice: there is no such variant; expected one of `Open`, `Paid`, `Held`; did you mean `Paid`?"),
    ("type:app/State", "Paid", '$: `Paid` has fields: expected an object with `"choice": "Paid"` and its fields'),
    ("type:app/State", {"choice": "Open"}, '$: `Open` has no fields: expected the text "Open"'),
    ("type:app/State", {"choice": "Paid"}, "receipt: the field is missing"),
    ("type:app/State", {"choice": "Paid", "receipt": "r", "x": 1}, "x: `Paid` has no such field"),
    ("type:app/State", {"receipt": "r"}, "choice: the member is missing"),
    ("type:app/State", {"choice": ["Paid"]}, "choice: expected a text, found a list"),
    ("type:app/State", 3, "$: expected one of `Open`, `Paid`, `Held`, found a whole number"),
    (["Entry", "Int"], {"key": 1, "value": 1}, "key: expected a text, found a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "wire", "message"), REFUSALS, ids=[f"{n}" for n in range(len(REFUSALS))])
def test_refusals(form: Any, wire: Any, message: str) -> None:
    assert refusal(form, wire) == message


def test_paths_start_where_the_caller_says() -> None:
    assert refusal(ORDER, {"lines": [{}], "rates": {}}, "order") == "order.lines[0].name: the field is missing"
    assert refusal(["List", "Int"], [""], "numbers").startswith("numbers[0]: ")
    assert refusal("Int", "", "number").startswith("number: ")


def test_keys_are_shown_cut_and_escaped() -> None:
    message = refusal(["Map", "Int"], {"\u202e\n" + "x" * 500: "y"})
    assert "\\u202e\\n" in message
    assert message.isascii()
    assert len(message) < 150


# The edge.


@pytest.mark.parametrize(
    ("form", "wire", "present"),
    [
        ("Int", None, None),
        ("Int", 1, 1),
        ("Int", {"present": False}, None),
        ("Int", {"present": True, "value": 1}, 1),
        (["List", "Int"], [1], [1]),
        (["List", "Int"], None, None),
        ("type:app/State", "Open", "Open"),
        (
            "type:app/State",
            {"choice": "Held", "present": 1},
            {"choice": "Held", "present": {"present": True, "value": 1}},
        ),
        ("type:app/State", {"choice": "Held"}, {"choice": "Held", "present": {"present": False}}),
        ("type:app/State", {"present": True, "value": "Open"}, "Open"),
        ("type:app/State", {"present": False}, None),
        ("type:app/Line", {"name": "a", "net": "1"}, LINE),
        ("Nothing", None, None),
    ],
)
def test_at_the_edge_plain_values_are_present(form: Any, wire: Any, present: Any) -> None:
    optional = ["Optional", form]
    found = read(optional, wire, edge=True)
    wanted = {"present": False} if present is None else {"present": True, "value": present}
    assert TABLE.encode(optional, found) == wanted
    if wire != wanted:
        assert refusal(optional, wire)


@pytest.mark.parametrize("form", ["Json", ["Map", "Int"], ["Optional", "Int"], "type:app/Flag"])
@pytest.mark.parametrize("wire", [None, 1, {}, {"present": True}, {"present": 1}, {"a": 1}])
def test_at_the_edge_some_optionals_are_only_tagged(form: Any, wire: Any) -> None:
    assert refusal(["Optional", form], wire, edge=True)
    assert read(["Optional", form], {"present": False}, edge=True) is ABSENT


def test_at_the_edge_a_missing_field_is_absent() -> None:
    line = {"name": "a", "net": "1"}
    assert read("type:app/Line", line, edge=True).fields["note"] is ABSENT
    assert read("type:app/Line", {**line, "the note": "x"}, edge=True).fields["note"].value == "x"
    assert refusal("type:app/Line", {"name": "a"}, edge=True) == "net: the field is missing"


def test_at_the_edge_a_variant_without_fields_may_be_an_object() -> None:
    state = "type:app/State"
    assert TABLE.encode(state, read(state, {"choice": "Open"}, edge=True)) == "Open"
    optional = ["Optional", state]
    present = {"present": True, "value": "Open"}
    assert TABLE.encode(freeze(optional), read(optional, {"choice": "Open"}, edge=True)) == present
    assert refusal(state, {"choice": "Open", "receipt": "r"}, edge=True) == "receipt: `Open` has no such field"
    assert refusal(state, {"choice": "Paid"}, edge=True) == "receipt: the field is missing"


def test_json_null_stays_distinct_from_absent() -> None:
    found = read(["Optional", "Json"], {"present": True, "value": None}, edge=True)
    assert isinstance(found, Present)
    assert found.value.raw is None


# Limits.


def nested(levels: int) -> Any:
    wire: Any = []
    for _ in range(levels - 1):
        wire = [wire]
    return wire


def test_nesting_ends_at_100_levels() -> None:
    assert read("Json", nested(100)).depth == 100
    assert refusal("Json", nested(101)).endswith("the value is nested deeper than 100 levels")
    assert refusal("Json", nested(100_000)).endswith("the value is nested deeper than 100 levels")

    def tree(levels: int) -> Any:
        wire: Any = {"parts": []}
        for _ in range(levels):
            wire = {"parts": [wire]}
        return wire

    assert read("type:app/Tree", tree(49)).depth == 100
    assert refusal("type:app/Tree", tree(50)).endswith("the value is nested deeper than 100 levels")


@pytest.mark.parametrize("form", ["Text", "Json", ["List", "Int"], ["Map", "Bool"], ["Map", "Json"]])
def test_size_is_counted_before_anything_is_built(form: Any) -> None:
    wires: dict[str, Any] = {
        "Text": "x" * 2000,
        "Json": [0] * 100,
        "List": [0] * 100,
        "Map": {str(number): True for number in range(400)},
    }
    wire = wires[form if isinstance(form, str) else form[0]]
    assert refusal(form, wire, max_value_bytes=1500).endswith("more than the 1500 bytes that are allowed")
    assert read(form, wire, max_value_bytes=5000) is not None


def test_decimals_count_what_they_write() -> None:
    wire = ["1" + "0" * 5000] * 10
    assert "bytes" in refusal(["List", "Decimal"], wire, max_value_bytes=50_000)
    assert read(["List", "Decimal"], wire, max_value_bytes=60_000).size > 50_000


def test_long_names_on_the_wire_are_counted_when_written() -> None:
    long = "n" * 10**6
    table = TypeTable({"type:app/R": {"kind": "record", "fields": [{"name": "a", "type": "Int", "wire": long}]}})
    row = table.decode("type:app/R", {long: 1}, "$", meter(), edge=False)
    assert table.encode("type:app/R", row) == {long: 1}
    with pytest.raises(ToubaFailure) as refused:
        table.encode(("List", "type:app/R"), make_list(meter(), (row,) * 40))
    assert refused.value.code == "ValueTooLarge"


# Constraints in a running program.


def constrain(form: Any, value: Any, label: str = "value", steps: int = 1000) -> int:
    wallet = meter(steps=steps)
    TABLE.constrain(freeze(form), value, label, wallet)
    return steps - wallet.left


NAMES = ["List", ["Map", ["Optional", "type:app/Name"]]]


def names(*texts: str) -> Any:
    return make_list(meter(), (make_map(meter(), {f"k {text}": make_present(meter(), text) for text in texts}),))


def test_constraints_are_found_through_lists_maps_optionals_and_aliases() -> None:
    assert constrain(NAMES, names("abc", "d")) == 1 + 2
    with pytest.raises(ToubaFailure) as refused:
        constrain(NAMES, names("abc", "abcdef"))
    assert refused.value.code == "ConstraintViolated"
    assert refused.value.message == '`value[0]["k abcdef"]` must have 1 to 5 characters'


def test_constraints_cost_nothing_where_there_are_none() -> None:
    assert constrain(["List", "type:app/Line"], make_list(meter(), (1, 2, 3))) == 0
    assert constrain("type:app/Order", None) == 0


def test_constraints_bind_through_optional() -> None:
    form = ["is", ["Optional", "Int"], [["max", ["int", 3]]]]
    assert constrain(form, ABSENT) == 0
    with pytest.raises(ToubaFailure, match=r"`\$` must be at most 3"):
        constrain(form, make_present(meter(), 4), "$")
    assert refusal(form, {"present": True, "value": 4}) == "$: must be at most 3"


def test_constraints_bind_through_entries() -> None:
    form = ["Entry", "type:app/Name"]

    def entry(word: str) -> Any:
        return make_record(meter(), ENTRY, {"key": "longer than five", "value": word})

    assert constrain(form, entry("abc")) == 0
    with pytest.raises(ToubaFailure, match=r"`entry\.value` must have 1 to 5 characters"):
        constrain(form, entry("abcdef"), "entry")


def test_looking_at_elements_is_charged_first() -> None:
    with pytest.raises(ToubaFailure) as refused:
        constrain(["List", "type:app/Name"], make_list(meter(), ("toolong",) * 50), steps=49)
    assert refused.value.code == "StepLimitExceeded"


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        (["is", "Text", [["length", 2, 2]]], ["ab", "é\U0001f600"], ["a", "abc", ""]),
        (["is", ["List", "Int"], [["length", 1, None]]], [[1]], [[]]),
        (["is", ["Map", "Int"], [["length", None, 1]]], [{}, {"a": 1}], [{"a": 1, "b": 2}]),
        (["is", "Int", [["above", ["int", -1]], ["max", ["int", "9007199254740993"]]]], [0, 2**53 + 1], [-1,
         2**53 + 2]),
        (["is", "Decimal", [["min", ["int", 1]]]], ["1", "1.00"], ["0.99"]),
        (["is", "Float", [["below", ["float", "0.5"]]]], [0, -1], [ExactNumber("0.5"), 1]),
        (["is", "Date", [["min", ["date", "2024-01-01"]]]], ["2024-01-01"], ["2023-12-31"]),
        (["is", "DateTime", [["below", ["datetime", "2024-01-01T00:00:00Z"]]]],
         ["2024-01-01T00:59:59+01:00"], ["2024-01-01T01:00:00+01:00"]),
        (["is", "Duration", [["max", ["duration", "PT1H"]]]], ["PT60M", "-P9D"], ["PT61M"]),
        (["is", ["is", "Int", [["min", ["int", 0]]]], [["max", ["int", 5]]]], [0, 5], [-1, 6]),
    ],
)  # fmt: skip
def test_each_constraint(form: Any, good: list[Any], bad: list[Any]) -> None:
    for wire in good:
        value = read(form, wire)
        constrain(form, value)
    for wire in bad:
        assert refusal(form, wire).startswith("$: must ")
        with pytest.raises(ToubaFailure) as refused:
            constrain(form, read(TABLE.base(freeze(form)), wire))
        assert refused.value.code == "ConstraintViolated"


# Whatever comes.


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=150)
@given(tables_and_forms(), st.data())
def test_any_document_is_a_value_or_refused_with_a_path(sample: Any, data: st.DataObject) -> None:
    table, form = sample
    leaves = st.one_of(
        st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.text(max_size=5), st.just({"present": False}),
        st.sampled_from(("1.50", "2024-01-01", "PT5S", "Open", ExactNumber("1.50"), ExactNumber("-1e3"))),
    )  # fmt: skip
    names = st.sampled_from(("present", "value", "choice", "f1", "f2", "key", "next", "parts"))
    wire = data.draw(
        st.recursive(
            leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4))
        )
    )
    edge = data.draw(st.booleans())
    try:
        value = table.decode(form, wire, "$", meter(), edge=edge)
    except ValueInvalid as refused:
        path, message = refused.path, refused.message
    else:
        path, message = "", ""
        again = codec.decode(codec.encode(table.encode(form, value)))
        assert equal(table.decode(form, again, "$", meter(), edge=False), value)
    assert bool(path) == bool(message)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(typed_values(), st.text("qxz", min_size=8, max_size=12))
def test_messages_never_hold_texts_of_the_value(sample: Any, secret: str) -> None:
    table, form, value = sample
    wire = table.encode(form, value)

    def replaced(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: replaced(inner) for name, inner in part.items()}
        return [replaced(inner) for inner in part] if isinstance(part, list) else secret

    message = ""
    try:
        table.decode(form, replaced(wire), "$", meter(), edge=True)
    except ValueInvalid as refused:
        message = str(refused)
    assert secret not in message


# Literals of AIR.


@pytest.mark.parametrize(
    "node",
    [["int", 5], ["int", "-9223372036854775808"], ["dec", "12.50"], ["float", "1e16"], ["float", "0.001"],
     ["bool", True],
     ["text", "é"], ["date", "2026-01-31"], ["datetime", "2026-01-31T00:00:00+02:00"], ["duration", "PT30S"],
      ["nothing"]],
)  # fmt: skip
def test_literals(node: list[Any]) -> None:
    assert write_literal(node[0], literal(node)) == node


@pytest.mark.parametrize(
    "node",
    [["int", True], ["int", "5"], ["int", 2**53], ["int", "9223372036854775808"], ["int", 1.0], ["dec", "-0"],
     ["dec", 1],
     ["dec", "1e3"], ["float", "1e+16"], ["float", "1"], ["float", 1], ["float", "NaN"], ["bool", 1], ["text", 1],
     ["date", "2026-1-31"], ["datetime", "2026-01-31T00:00:00+00:00"], ["duration", "PT60S"], ["list", []],
      ["dec"], []],
)  # fmt: skip
def test_what_is_no_literal(node: list[Any]) -> None:
    with pytest.raises(ToubaFailure) as refused:
        literal(node)
    assert refused.value.code == "AirInvalid"


# Names.


@pytest.mark.parametrize(
    ("name", "found"),
    [("ammount", "amount"), ("Amount", "amount"), ("a_mount", "amount"), ("amuont", "amount"), ("tax", None),
     ("", None),
     ("x" * 10_000, None)],
)  # fmt: skip
def test_the_nearest_name(name: str, found: str | None) -> None:
    assert nearest(name, ["id", "amount", "currency"]) == found


def test_shown_names_are_short_and_plain() -> None:
    assert shown('a"b') == "a'b"
    assert len(shown("x" * 1000)) == 60


def test_the_faults_of_all_fields_are_found() -> None:
    with pytest.raises(ValueInvalid) as refused:
        read("type:app/Order", {"lines": [{"name": "toolong", "net": "1", "nott": 1}], "rates": 1}, path="order")
    found = refused.value.all()
    assert [path for path, _ in found] == [
        "order.lines[0].nott",
        "order.lines[0].name",
        'order.lines[0]["the note"]',
        "order.rates",
    ]
    assert (refused.value.path, refused.value.message) == found[0]


def test_faults_beside_one_of_size_are_not_looked_for() -> None:
    wire = {"lines": [], "rates": {"a": "1" * 30}, "more": 1}
    with pytest.raises(ValueInvalid) as refused:
        read("type:app/Order", wire, max_value_bytes=25)
    assert len(refused.value.all()) == 2
