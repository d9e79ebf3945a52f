"""What each instruction and expression of AIR means, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.machine_kit import callable_, drive, evaluate, machine, meter, program
from touba_cli.air.costs import expression_cost
from touba_cli.air.operations import OPERATIONS
from touba_cli.codec import INT_HIGH, INT_LOW
from touba_cli.runtime.budget import RECURSION_LIMIT
from touba_cli.runtime.interpreter import EXPRESSIONS, literal_parts
from touba_cli.values.model import ABSENT, ListValue, make_choice, make_list, make_map, make_present, make_record

LINE = "type:app/Line"
STATE = "type:app/State"
LEVEL = "type:app/Level"


def line(name: str, amount: int) -> Any:
    return make_record(meter(), LINE, {"name": name, "amount": amount})


def ints(*numbers: int) -> ListValue:
    return make_list(meter(), numbers)


def number(value: int) -> list[Any]:
    return ["int", value if -(2**53) < value < 2**53 else str(value)]


@pytest.mark.parametrize(
    ("expression", "gives", "wire"),
    [
        (["int", 7], "Int", 7),
        (["int", str(2**62)], "Int", 2**62),
        (["dec", "12.50"], "Decimal", "12.50"),
        (["float", "0.001"], "Float", 0.001),
        (["bool", True], "Bool", True),
        (["text", "a"], "Text", "a"),
        (["date", "2026-01-31"], "Date", "2026-01-31"),
        (["datetime", "2026-01-31T10:00:00Z"], "DateTime", "2026-01-31T10:00:00Z"),
        (["duration", "PT30S"], "Duration", "PT30S"),
        (["nothing"], "Nothing", None),
        (["absent", "Int"], ["Optional", "Int"], {"present": False}),
        (["some", ["int", 1]], ["Optional", "Int"], {"present": True, "value": 1}),
        (["widen", ["int", 3]], "Decimal", "3"),
    ],
)
def test_literals_and_wrapping(expression: Any, gives: Any, wire: Any) -> None:
    ran = evaluate(expression, gives)
    assert ran.result == wire
    assert type(ran.result) is type(wire)


def test_a_literal_is_read_once_and_stays_the_same() -> None:
    body = [
        ["set", 0, ["int", 3]],
        ["set", 1, ["dec", "0"]],
        ["times", 0, 5],
        ["set", 1, ["add.decimal", ["slot", 1], ["dec", "1.25"]]],
        ["again", 2, 0],
        ["give", ["slot", 1]],
    ]
    found = program({"function:app/Main": callable_(body, gives="Decimal", slots=["Int", "Decimal"])})
    assert drive(machine(found, "function:app/Main")).result == "3.75"


def test_parts_of_records_choices_and_optionals() -> None:
    paid = make_choice(meter(), STATE, "Paid", {"receipt": "R1", "cents": 5})
    free = make_choice(meter(), STATE, "Open", {})
    first = ["slot", 0]
    assert evaluate(["field", first, "amount"], "Int", [LINE], [line("a", 4)]).result == 4
    assert evaluate(["variant", first, "Paid"], "Bool", [STATE], [paid]).result is True
    assert evaluate(["variant", first, "Paid"], "Bool", [STATE], [free]).result is False
    assert evaluate(["payload", first, "Paid", "cents"], "Int", [STATE], [paid], sound=False).result == 5
    high = make_choice(meter(), LEVEL, "High", {})
    assert evaluate(["ordinal", first], "Int", [LEVEL], [high]).result == 1
    optional = ["Optional", "Int"]
    present = make_present(meter(), 8)
    assert evaluate(["present", first], "Bool", [optional], [present]).result is True
    assert evaluate(["present", first], "Bool", [optional], [ABSENT]).result is False
    assert evaluate(["open", first], "Int", [optional], [present], sound=False).result == 8
    assert evaluate(["otherwise", first, ["int", 2]], "Int", [optional], [present]).result == 8
    assert evaluate(["otherwise", first, ["int", 2]], "Int", [optional], [ABSENT]).result == 2
    entries = make_map(meter(), {"x": 1})
    key = ["field", ["index.list", ["items", first], ["int", 0]], "key"]
    assert evaluate(key, "Text", [["Map", "Int"]], [entries]).result == "x"


def test_new_records_choices_lists_and_maps() -> None:
    made = ["record", LINE, [["text", "a"], ["int", 1]]]
    assert evaluate(made, LINE).result == {"name": "a", "amount": 1}
    assert evaluate(["with", made, [["amount", ["int", 9]]]], LINE).result == {"name": "a", "amount": 9}
    paid = ["make", STATE, "Paid", [["text", "R"], ["int", 2]]]
    assert evaluate(paid, STATE).result == {"choice": "Paid", "receipt": "R", "cents": 2}
    assert evaluate(["make", STATE, "Open", []], STATE).result == "Open"
    assert evaluate(["list", "Int", [["int", 1], ["int", 2]]], ["List", "Int"]).result == [1, 2]
    pairs = [[["text", "b"], ["int", 1]], [["text", "a"], ["int", 2]], [["text", "b"], ["int", 3]]]
    found = evaluate(["map", "Int", pairs], ["Map", "Int"]).result
    assert list(found.items()) == [("b", 3), ("a", 2)]


def test_with_leaves_the_record_before_it_alone() -> None:
    body = [
        ["set", 1, ["with", ["slot", 0], [["amount", ["int", 9]]]]],
        ["give", ["list", LINE, [["slot", 0], ["slot", 1]]]],
    ]
    found = program({"function:app/Main": callable_(body, gives=["List", LINE], takes=[LINE], slots=[LINE])})
    ran = drive(machine(found, "function:app/Main", [line("a", 1)]))
    assert [each["amount"] for each in ran.result] == [1, 9]


OVERFLOW = ["add.int", ["int", str(INT_HIGH)], ["int", 1]]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (["and", ["bool", True], ["bool", True]], True),
        (["and", ["bool", False], ["eq", OVERFLOW, ["int", 0]]], False),
        (["or", ["bool", True], ["eq", OVERFLOW, ["int", 0]]], True),
        (["or", ["bool", False], ["bool", False], ["bool", False]], False),
        (["not", ["bool", False]], True),
        (["if", ["bool", True], ["bool", False], ["eq", OVERFLOW, ["int", 0]]], False),
        (["if", ["bool", False], ["eq", OVERFLOW, ["int", 0]], ["bool", True]], True),
        (["otherwise", ["some", ["bool", True]], ["eq", OVERFLOW, ["int", 0]]], True),
    ],
)
def test_choosing_evaluates_only_as_far_as_needed(expression: Any, value: bool) -> None:
    assert evaluate(expression, "Bool").result is value


def test_operands_are_evaluated_from_left_to_right() -> None:
    division = ["div.int", ["int", 1], ["int", 0]]
    for expression in (
        ["add.int", division, OVERFLOW],
        ["chain", division, "add.int", OVERFLOW],
        ["length.list", ["list", "Int", [division, OVERFLOW]]],
        ["field", ["record", LINE, [["text.int", division], OVERFLOW]], "amount"],
        ["length.text", ["concat", ["text.int", division], ["text.int", OVERFLOW]]],
        ["length.map", ["map", "Int", [[["text.int", division], OVERFLOW]]]],
    ):
        assert evaluate(expression).code == "DivisionByZero"


def test_collect_filters_maps_and_charges_every_element_before_it() -> None:
    condition = ["gt.int", ["slot", 1], ["int", 1]]
    element = ["mul.int", ["slot", 1], ["int", 10]]
    expression = ["collect", 1, ["slot", 0], condition, element]
    ran = evaluate(expression, ["List", "Int"], [["List", "Int"]], [ints(1, 2, 3)], slots=["Int"])
    assert ran.result == [20, 30]
    entry = 1 + expression_cost(expression)
    per_element = expression_cost(condition) + expression_cost(element)
    assert (entry, per_element) == (3, 6)
    assert ran.steps == entry + 3 * per_element
    everything = ["collect", 1, ["slot", 0], None, ["slot", 1]]
    copied = evaluate(everything, ["List", "Int"], [["List", "Int"]], [ints(4, 5)], slots=["Int"])
    assert copied.result == [4, 5]
    assert copied.steps == 3 + 2 * 1
    for limit in range(3, 3 + 3 * 6):
        short = evaluate(
            expression, ["List", "Int"], [["List", "Int"]], [ints(1, 2, 3)], slots=["Int"], max_steps=limit
        )
        assert short.code == "StepLimitExceeded"
        assert short.steps == 3 + (limit - 3) // 6 * 6


def test_collect_refuses_a_list_that_grows_too_large_while_it_grows() -> None:
    wide = ["concat", *[["text", "x" * 200]] * 4]
    expression = ["collect", 1, ["slot", 0], None, wide]
    ran = evaluate(
        expression, ["List", "Text"], [["List", "Int"]], [ints(*range(10))], slots=["Int"], max_value_bytes=4_000
    )
    assert ran.code == "ValueTooLarge"
    assert "4000" in str(ran.ended.failure)


def test_sorting_by_a_field_is_stable() -> None:
    items = make_list(meter(), (line("b", 2), line("a", 1), line("c", 2)))
    expression = ["sorted_by", ["slot", 0], ["amount"], True]
    ran = evaluate(expression, ["List", LINE], [["List", LINE]], [items])
    assert [each["name"] for each in ran.result] == ["b", "c", "a"]


def test_chain_goes_from_left_to_right() -> None:
    assert evaluate(["chain", ["int", 10], "sub.int", ["int", 3], "sub.int", ["int", 2]]).result == 5
    assert evaluate(["chain", ["int", 2], "mul.int", ["int", 3], "add.int", ["int", 4]]).result == 10


def test_concat_joins() -> None:
    expression = ["concat", ["text", "n="], ["text.int", ["int", 4]], ["text", "!"]]
    assert evaluate(expression, "Text").result == "n=4!"


def test_constrain_checks_and_gives_the_value() -> None:
    expression = ["constrain", "type:app/Small", "limit", ["slot", 0]]
    assert evaluate(expression, "Int", ["Int"], [9]).result == 9
    ran = evaluate(expression, "Int", ["Int"], [10])
    assert ran.code == "ConstraintViolated"
    assert "limit" in str(ran.ended.failure)
    assert "10" not in str(ran.ended.failure)


def test_functions_apply_and_recurse() -> None:
    factorial = callable_(
        [
            ["unless", ["gt.int", ["slot", 0], ["int", 1]], 2],
            ["give", ["mul.int", ["slot", 0], ["apply", "function:app/F", [["sub.int", ["slot", 0], ["int", 1]]]]]],
            ["give", ["int", 1]],
        ],
        takes=["Int"],
    )
    ran = evaluate(["apply", "function:app/F", [["int", 10]]], others={"function:app/F": factorial})
    assert ran.result == 3628800
    assert ran.steps == 3 + 10 * factorial["cost"]


def test_a_function_does_not_touch_the_slots_of_its_caller() -> None:
    square = callable_(
        [["set", 1, ["int", 99]], ["give", ["mul.int", ["slot", 0], ["slot", 0]]]], takes=["Int"], slots=["Int"]
    )
    expression = ["add.int", ["apply", "function:app/F", [["int", 3]]], ["slot", 0]]
    assert evaluate(expression, "Int", ["Int"], [5], others={"function:app/F": square}).result == 14


def test_every_operation_of_the_table_has_a_handler() -> None:
    assert set(OPERATIONS) <= set(EXPRESSIONS)


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ([["jump", 2], ["give", ["int", 1]], ["give", ["int", 2]]], 2),
        ([["unless", ["bool", True], 2], ["give", ["int", 1]], ["give", ["int", 2]]], 1),
        ([["unless", ["bool", False], 2], ["give", ["int", 1]], ["give", ["int", 2]]], 2),
        ([["require", ["bool", True], ["concat", ["text.int", OVERFLOW]]], ["give", ["int", 3]]], 3),
    ],
)
def test_jumps(code: list[Any], result: int) -> None:
    found = program({"function:app/Main": callable_(code)}, sound=False)
    assert drive(machine(found, "function:app/Main")).result == result


def test_each_and_times() -> None:
    code = [
        ["set", 1, ["int", 0]],  # index
        ["set", 3, ["int", 0]],  # sum
        ["each", 0, 1, 2, 8],
        ["set", 4, ["int", 2]],
        ["times", 4, 7],
        ["set", 3, ["add.int", ["slot", 3], ["slot", 2]]],
        ["again", 4, 0],
        ["again", 2, 0],
        ["give", ["slot", 3]],
    ]
    main = callable_(code, takes=[["List", "Int"]], slots=["Int"] * 4)
    found = program({"function:app/Main": main})
    ran = drive(machine(found, "function:app/Main", [ints(1, 2, 3)]))
    assert ran.result == 12
    outer, inner = main["code"][7][2], main["code"][6][2]
    assert ran.steps == main["cost"] + 3 * outer + 6 * inner
    negative = program(
        {
            "function:app/Main": callable_(
                [["set", 0, ["int", -1]], ["times", 0, 3], ["again", 1, 0], ["give", ["slot", 0]]], slots=["Int"]
            )
        }
    )
    assert drive(machine(negative, "function:app/Main")).result == -1


def test_own_failures_keep_values_out_of_their_message() -> None:
    text = ["concat", ["text", "over "], ["text.int", ["slot", 0]], ["text", " EUR"]]
    for code, instruction in (
        ("BusinessFailure", ["fail", text]),
        ("RequirementFailed", ["require", ["bool", False], text]),
    ):
        body = [instruction] if code == "BusinessFailure" else [instruction, ["give", ["int", 0]]]
        found = program({"function:app/Main": callable_(body, takes=["Int"])})
        ran = drive(machine(found, "function:app/Main", [77]))
        failure = ran.ended.failure
        assert failure is not None
        assert (failure.code, failure.message, failure.ref, failure.place) == (
            code,
            "over {…} EUR",
            "function:app/Main",
            ("function:app/Main", 0),
        )
        assert ran.ended.explanation == {"ref": "function:app/Main", "text": "over 77 EUR"}


def test_literal_parts_of_other_texts() -> None:
    assert literal_parts(["text", "a"]) == "a"
    assert literal_parts(["slot", 0]) == "{…}"


def test_a_failure_names_the_innermost_callable() -> None:
    inner = callable_(
        [["set", 1, ["int", 1]], ["give", ["div.int", ["slot", 1], ["slot", 0]]]], takes=["Int"], slots=["Int"]
    )
    ran = evaluate(["apply", "function:app/F", [["int", 0]]], others={"function:app/F": inner})
    failure = ran.ended.failure
    assert failure is not None
    assert (failure.code, failure.ref, failure.place) == ("DivisionByZero", "function:app/F", ("function:app/F", 1))
    assert failure.__traceback__ is None


def test_unsound_code_is_named_as_such() -> None:
    paid = make_choice(meter(), STATE, "Paid", {"receipt": "R1", "cents": 5})
    assert evaluate(["payload", ["slot", 0], "Open", "cents"], "Int", [STATE], [paid], sound=False).code == "AirUnsound"
    assert evaluate(["open", ["absent", "Int"]], "Int", sound=False).code == "AirUnsound"
    assert evaluate(["make", STATE, "Gone", []], STATE, sound=False).code == "AirUnsound"
    odd = callable_([["give", ["int", 1]]])
    odd["code"] = [["wander", 1]]
    found = program({"function:app/Main": odd}, sound=False)
    assert drive(machine(found, "function:app/Main")).code == "AirUnsound"
    shows = callable_([["show", 1, "show:app/F/1", ["text", "x"]], ["give", ["int", 1]]])
    ran = evaluate(["apply", "function:app/F", []], others={"function:app/F": shows}, sound=False)
    assert ran.code == "AirUnsound"


def deep_sum(levels: int, innermost: Any) -> Any:
    expression = innermost
    for _ in range(levels):
        expression = ["add.int", ["int", 0], expression]
    return expression


def test_the_deepest_program_meets_our_limit_and_not_pythons() -> None:
    """Every open function stands inside an expression as deep as a JSON document admits."""
    levels = 190
    inner = deep_sum(levels, ["apply", "function:app/F", [["add.int", ["slot", 0], ["int", 1]]]])
    recursive = callable_([["give", inner]], takes=["Int"])
    ran = evaluate(
        ["apply", "function:app/F", [["int", 0]]],
        others={"function:app/F": recursive},
        max_depth=1_000,
        max_steps=10_000_000,
        sound=False,
    )
    assert ran.code == "DepthLimitExceeded"
    failure = ran.ended.failure
    assert failure is not None
    assert "1000" in failure.message
    assert failure.message.count("function:app/") == 10
    assert failure.message.count("function:app/Main") == 1
    assert failure.place == ("function:app/F", 0)
    assert 1_000 * (levels + 3) < RECURSION_LIMIT


def test_depth_counts_open_callables_exactly() -> None:
    countdown = callable_(
        [
            ["unless", ["gt.int", ["slot", 0], ["int", 1]], 2],
            ["give", ["apply", "function:app/F", [["sub.int", ["slot", 0], ["int", 1]]]]],
            ["give", ["int", 1]],
        ],
        takes=["Int"],
    )
    for depth in (1, 2, 5):
        expression = ["apply", "function:app/F", [["int", depth]]]
        others = {"function:app/F": countdown}
        assert evaluate(expression, others=others, max_depth=depth + 1).result == 1
        assert evaluate(expression, others=others, max_depth=depth).code == "DepthLimitExceeded"


# Against Python


def expressions() -> st.SearchStrategy[Any]:
    """Small Int expressions over three slots, with Bools inside."""
    leaves = st.one_of(
        st.integers(-20, 20).map(number),
        st.sampled_from([INT_HIGH, INT_LOW, 2**53]).map(number),
        st.integers(0, 2).map(lambda slot: ["slot", slot]),
    )

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        compared = st.tuples(st.sampled_from(["lt.int", "ge.int", "eq", "ne"]), inner, inner).map(list)
        truth = st.one_of(
            compared,
            compared.map(lambda each: ["not", each]),
            st.tuples(st.sampled_from(["and", "or"]), compared, compared, compared).map(list),
        )
        binary = ["add.int", "sub.int", "mul.int", "div.int", "mod.int"]
        return st.one_of(
            st.tuples(st.sampled_from(binary), inner, inner).map(list),
            inner.map(lambda each: ["neg.int", each]),
            st.tuples(st.just("if"), truth, inner, inner).map(list),
            st.tuples(inner, st.sampled_from(binary), inner, st.sampled_from(binary), inner).map(
                lambda each: ["chain", *each]
            ),
            st.tuples(inner, inner).map(lambda each: ["otherwise", ["some", each[0]], each[1]]),
            st.tuples(inner, inner).map(lambda each: ["index.list", ["list", "Int", [each[0], each[1]]], ["int", 1]]),
            inner.map(lambda each: ["apply", "function:app/Next", [each]]),
        )

    return st.recursive(leaves, grow, max_leaves=12)


class PlainError(Exception):
    """What the run must fail with."""


def whole(value: int) -> int:
    if not INT_LOW <= value <= INT_HIGH:
        raise PlainError("IntegerOverflow")
    return value


def by_python(node: Any, slots: list[int]) -> tuple[Any, int]:
    """The value by Python's own arithmetic, and the steps of the functions applied on the way."""
    name = node[0]
    steps = 0

    def part(inner: Any) -> Any:
        nonlocal steps
        value, more = by_python(inner, slots)
        steps += more
        return value

    def compute(op: str, left: int, right: int) -> int:
        if op in ("div.int", "mod.int"):
            if right == 0:
                raise PlainError("DivisionByZero")
            return whole(left // right if op == "div.int" else left % right)
        return whole({"add.int": left + right, "sub.int": left - right, "mul.int": left * right}[op])

    value: Any
    if name == "int":
        value = int(node[1])
    elif name == "slot":
        value = slots[node[1]]
    elif name == "neg.int":
        value = whole(-part(node[1]))
    elif name == "chain":
        value = part(node[1])
        for place in range(2, len(node), 2):
            value = compute(node[place], value, part(node[place + 1]))
    elif name == "if":
        value = part(node[2]) if part(node[1]) else part(node[3])
    elif name == "not":
        value = not part(node[1])
    elif name == "and":
        value = all(part(each) for each in node[1:])
    elif name == "or":
        value = any(part(each) for each in node[1:])
    elif name == "otherwise":
        value = part(node[1][1])
    elif name == "index.list":
        value = [part(each) for each in node[1][2]][1]
    elif name == "apply":
        value = part(node[2][0])
        steps += 4
        value = whole(value + 1)
    elif name in ("eq", "ne", "lt.int", "ge.int"):
        left, right = part(node[1]), part(node[2])
        value = {"eq": left == right, "ne": left != right, "lt.int": left < right, "ge.int": left >= right}[name]
        steps += charge_of(name)
    else:
        left = part(node[1])
        value = compute(name, left, part(node[2]))
    return value, steps


def charge_of(name: str) -> int:
    """What `eq` and `ne` of two Ints charge for the data they touch: found by running one."""
    if name not in ("eq", "ne"):
        return 0
    if name not in _charges:
        _charges[name] = evaluate([name, ["int", 1], ["int", 2]], "Bool").steps - 4
    return _charges[name]


_charges: dict[str, int] = {}
NEXT = callable_([["give", ["add.int", ["slot", 0], ["int", 1]]]], takes=["Int"])


@given(expressions(), st.lists(st.integers(INT_LOW, INT_HIGH) | st.integers(-9, 9), min_size=3, max_size=3))
def test_expressions_agree_with_python(expression: Any, slots: list[int]) -> None:
    ran = evaluate(expression, "Int", ["Int"] * 3, list(slots), others={"function:app/Next": NEXT})
    expected: str | int
    try:
        expected, steps = by_python(expression, slots)
    except PlainError as fault:
        expected = str(fault)
    if isinstance(expected, str):
        assert ran.code == expected
    else:
        assert ran.result == expected
        assert ran.steps == 1 + expression_cost(expression) + steps
