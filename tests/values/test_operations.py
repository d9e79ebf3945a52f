"""Every operation of the table: it exists, gives what its row says, charges what its row says, and before it works."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.values.samples import meter, values
from touba_cli import codec
from touba_cli.air.operations import OPERATIONS, ROUNDING_MODES, Operation
from touba_cli.errors import CODES, ToubaFailure
from touba_cli.values.check import TypeTable
from touba_cli.values.equality import equal
from touba_cli.values.functions import FUNCTIONS, concat, ordinal, sort_by
from touba_cli.values.model import ListValue, MapValue, make_choice, make_list, make_map, make_record, size_of

CHOICE = "type:app/Level"
LINE = "type:app/Line"
TABLE = TypeTable(
    {
        CHOICE: {"kind": "choice", "variants": [{"name": name} for name in ("Low", "Middle", "High")]},
        LINE: {
            "kind": "record",
            "fields": [
                {"name": "net", "type": "Decimal"},
                {"name": "name", "type": "Text"},
                {"name": "level", "type": CHOICE},
            ],
        },
    }
)

#: what the variables T and E stand for
STANDS_FOR = ("Int", "Text", "Decimal", "Json", "DateTime", CHOICE, LINE, ("List", "Int"), ("Optional", "Text"))


def with_variable(form: Any, stands_for: Any) -> Any:
    if isinstance(form, tuple):
        return (form[0], with_variable(form[1], stands_for))
    return {"T": stands_for, "E": stands_for, "choice": CHOICE}.get(form, form)


@st.composite
def calls(draw: st.DrawFn, row: Operation) -> tuple[list[Any], Any]:
    """Operands of an operation, and the type of its result."""
    stands_for = draw(st.sampled_from(STANDS_FOR))
    operands = []
    for place, form in enumerate(row.takes):
        if row.name == "round.mode" and place == 2:
            operands.append(draw(st.sampled_from(ROUNDING_MODES)))
        elif row.name.startswith("range"):
            operands.append(draw(st.integers(-40, 40)))
        elif form == "Int" and len(row.takes) > place and place > 0 and row.form != "infix":
            operands.append(draw(st.integers(-3, 40)))
        else:
            operands.append(draw(values(TABLE, with_variable(form, stands_for))))
    return operands, with_variable(row.gives, stands_for)


def expected_charge(row: Operation, operands: list[Any], result: Any) -> int:
    """What the words of the row say, worked out in the plainest way."""
    total = 0
    for word in row.charge.split():
        if word == "text":
            found = [operand for operand in operands if isinstance(operand, str)]
            for operand in operands:
                if isinstance(operand, ListValue):
                    found.extend(operand.items)
            total += sum(len(text) for text in found) // 16
        elif word == "list":
            total += sum(len(operand.items) for operand in operands if isinstance(operand, ListValue))
            total += sum(len(operand.entries) for operand in operands if isinstance(operand, MapValue))
        elif word == "deep" and row.spelling in ("is", "is not"):
            total += min(map(size_of, operands)) // 16
        elif word == "deep":
            total += operands[-1].size // 16
        elif word == "result":
            total += len(result) // 16 if isinstance(result, str) else len(result.items)
        else:
            assert word == "-"
    return total


def test_every_row_has_its_function() -> None:
    assert set(FUNCTIONS) == set(OPERATIONS)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=25)
@given(data=st.data())
def test_an_operation_gives_its_type_and_charges_its_row(name: str, data: st.DataObject) -> None:
    row = OPERATIONS[name]
    operands, gives = data.draw(calls(row))
    wallet = meter(steps=10**6)
    result, code = None, ""
    try:
        result = FUNCTIONS[name](wallet, *operands)
    except ToubaFailure as failure:
        code = failure.code
    if code:
        assert CODES[code].catchable, code
        return
    wire = codec.decode(codec.encode(TABLE.encode(gives, result)))
    assert equal(TABLE.decode(gives, wire, "$", meter(), edge=False), result)
    charged = 10**6 - wallet.left
    assert charged == expected_charge(row, operands, result)
    assert equal(FUNCTIONS[name](meter(steps=charged), *operands), result)
    if charged:
        with pytest.raises(ToubaFailure) as refused:
            FUNCTIONS[name](meter(steps=charged - 1), *operands)
        assert refused.value.code == "StepLimitExceeded"


BIG = "ab" * 500
BIG_LIST = make_list(meter(), (BIG,) * 100)

#: operations that could build something large out of something small, and how large the result would be
GROWING: list[tuple[str, tuple[Any, ...]]] = [
    ("add.text", (BIG, BIG)),
    ("add.text", ("é" * 300, BIG)),
    ("join", (make_list(meter(), ("x",) * 300), BIG)),
    ("replace", ("a" * 900, "a", BIG)),
    ("replace", ("é" + "a" * 900, "a", "bb")),
    ("range.to", (10**12,)),
    ("range.between", (-(2**63), 2**63 - 1)),
    ("split.text", ("," * 900, ",")),
    ("split.blanks", ("a " * 700,)),
    ("add.list", (make_list(meter(), (1,) * 40), make_list(meter(), (1,) * 40))),
    ("items", (make_map(meter(), {f"key{number}": 1 for number in range(35)}),)),
    ("upper", ("ß" * 200 + "ŉ" * 100,)),
    ("merge", tuple(make_map(meter(), {f"{side}{number}": 1 for number in range(35)}) for side in "ab")),
    ("text.decimal", (TABLE.decode("Decimal", "1" + "0" * 2000, "$", meter(), edge=False),)),
]


@pytest.mark.parametrize(("name", "operands"), GROWING, ids=[f"{name}-{n}" for n, (name, _) in enumerate(GROWING)])
def test_what_would_be_too_large_is_not_built(name: str, operands: tuple[Any, ...]) -> None:
    with pytest.raises(ToubaFailure) as refused:
        FUNCTIONS[name](meter(max_value_bytes=1200), *operands)
    assert refused.value.code == "ValueTooLarge"


def test_a_huge_range_is_refused_whatever_the_budget() -> None:
    with pytest.raises(ToubaFailure) as refused:
        FUNCTIONS["range.to"](meter(steps=2**70), 2**62)
    assert refused.value.code == "ValueTooLarge"


def test_doublings_end_at_the_limit() -> None:
    text = "x" * 2**20
    while len(text) < 2**24:
        text = FUNCTIONS["add.text"](meter(), text, text)
    with pytest.raises(ToubaFailure) as refused:
        FUNCTIONS["add.text"](meter(), text, text)
    assert refused.value.code == "ValueTooLarge"


@given(st.lists(st.text(max_size=40), max_size=6))
def test_concat_joins_and_charges_by_the_result(parts: list[str]) -> None:
    wallet = meter(steps=1000)
    assert concat(wallet, parts) == "".join(parts)
    assert 1000 - wallet.left == len("".join(parts)) // 16


def test_concat_checks_the_size_first() -> None:
    with pytest.raises(ToubaFailure) as refused:
        concat(meter(max_value_bytes=1024), ["x" * 600, "y" * 600])
    assert refused.value.code == "ValueTooLarge"


def lines(*rows: tuple[str, str, str]) -> ListValue:
    found = [
        make_record(
            meter(),
            LINE,
            {
                "net": TABLE.decode("Decimal", net, "$", meter(), edge=False),
                "name": name,
                "level": make_choice(meter(), CHOICE, level, {}),
            },
        )
        for net, name, level in rows
    ]
    return make_list(meter(), tuple(found))


LINES = lines(("2", "b", "High"), ("1.0", "d", "Low"), ("2.00", "a", "Middle"), ("1", "c", "Low"))


@pytest.mark.parametrize(
    ("path", "descending", "order"),
    [
        (["net"], False, "dcba"),
        (["net"], True, "badc"),  # equal ones keep their order, also descending
        (["name"], False, "abcd"),
        (["level"], False, "dcab"),
        (["level"], True, "badc"),
    ],
)
def test_sort_by_a_field(path: list[str], descending: bool, order: str) -> None:
    wallet = meter(steps=100)
    found = sort_by(wallet, LINES, path, descending, TABLE)
    assert "".join(item.fields["name"] for item in found.items) == order
    assert (found.size, found.depth) == (LINES.size, LINES.depth)
    assert 100 - wallet.left == 4


def test_sort_by_through_entries_charges_each_field() -> None:
    entries = FUNCTIONS["items"](meter(), make_map(meter(), {"x": LINES.items[0], "y": LINES.items[1]}))
    wallet = meter(steps=100)
    found = sort_by(wallet, entries, ["value", "net"], False, TABLE)
    assert [item.fields["key"] for item in found.items] == ["y", "x"]
    assert 100 - wallet.left == 4


def test_sort_by_texts_charges_their_length() -> None:
    texts = make_list(meter(), ("b" * 40, "a" * 40))
    wallet = meter(steps=100)
    assert sort_by(wallet, texts, [], False, TABLE).items == ("a" * 40, "b" * 40)
    assert 100 - wallet.left == 2 + 5


def test_ordinal_is_the_place_in_the_declaration() -> None:
    assert [ordinal(TABLE, make_choice(meter(), CHOICE, name, {})) for name in ("High", "Low")] == [2, 0]


# Sizes that are not counted one by one.


NESTED = ("List", ("Optional", ("List", "Text")))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(values(TABLE, ("List", NESTED)), values(TABLE, ("List", NESTED)))
def test_joined_lists_are_as_large_and_deep_as_new_ones(a: ListValue, b: ListValue) -> None:
    joined = FUNCTIONS["add.list"](meter(), a, b)
    new = make_list(meter(), a.items + b.items)
    assert (joined.items, joined.size, joined.depth) == (new.items, new.size, new.depth)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(values(TABLE, ("Map", NESTED)), values(TABLE, ("Map", NESTED)), st.data())
def test_merged_maps_are_as_large_and_deep_as_new_ones(a: MapValue, b: MapValue, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.sampled_from([*a.entries, *b.entries, "x"]), max_size=3))
    some = make_map(meter(), {**b.entries, **{key: make_list(meter(), ()) for key in keys}})
    merged = FUNCTIONS["merge"](meter(), a, some)
    new = make_map(meter(), {**a.entries, **some.entries})
    assert list(merged.entries.items()) == list(new.entries.items())
    assert (merged.size, merged.depth) == (new.size, new.depth)


def test_a_merged_map_without_its_deepest_part_is_less_deep() -> None:
    deep = make_list(meter(), (make_list(meter(), (1,)),))
    a = make_map(meter(), {"a": deep, "b": 1})
    assert (a.depth, FUNCTIONS["merge"](meter(), a, make_map(meter(), {"b": 2})).depth) == (3, 3)
    assert FUNCTIONS["merge"](meter(), a, make_map(meter(), {"a": 2})).depth == 1
