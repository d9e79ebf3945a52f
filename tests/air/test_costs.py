from __future__ import annotations

from typing import Any

import pytest

from tests.air.samples import every_expression, review, slot
from touba_cli.air.costs import callable_costs, element_cost, expression_cost

ONE = ["int", 1]


@pytest.mark.parametrize(
    ("node", "cost"),
    [
        (["nothing"], 1),
        (["absent", ["List", "Int"]], 1),
        (slot(0), 1),
        (["field", slot(0), "name"], 2),
        (["payload", slot(0), "Paid", "receipt"], 2),
        (["constrain", ["is", "Int", [["min", ONE]]], "x", slot(0)], 2),
        (["add.int", ONE, ["add.int", ONE, ONE]], 5),
        (["record", "type:app/A", [ONE, ONE]], 3),
        (["make", "type:app/A", "B", [ONE]], 2),
        (["with", slot(0), [["a", ONE], ["b", ["neg.int", ONE]]]], 5),
        (["list", "Int", []], 1),
        (["map", "Int", [[["text", "a"], ONE], [["text", "b"], ONE]]], 5),
        (["if", ["bool", True], ONE, ["neg.int", ONE]], 5),
        (["and", ["bool", True], ["bool", True], ["bool", True]], 4),
        (["concat", ["text", "a"]], 2),
        (["apply", "function:app/F", [ONE, ONE]], 3),
        (["sorted_by", ["list", "Int", [ONE]], ["a", "b"], False], 3),
        (["collect", 3, ["range.to", ONE], ["bool", True], ["add.int", ONE, ONE]], 3),
    ],
)
def test_every_expression_costs_one_and_its_operands(node: list[Any], cost: int) -> None:
    assert expression_cost(node) == cost


def test_a_chain_costs_what_its_operations_would_cost_nested() -> None:
    nested = ["sub.int", ["add.int", slot(0), ONE], ["neg.int", ONE]]
    chain = ["chain", slot(0), "add.int", ONE, "sub.int", ["neg.int", ONE]]
    assert expression_cost(chain) == expression_cost(nested) == 6


def test_an_element_costs_its_condition_and_its_expression() -> None:
    node = ["collect", 1, slot(0), ["gt.int", slot(1), ONE], ["neg.int", slot(1)]]
    assert element_cost(node) == 5
    node[3] = None
    assert element_cost(node) == 2


def test_a_long_line_of_operands_needs_no_deep_stack() -> None:
    node = ONE
    for _ in range(5_000):
        node = ["neg.int", node]
    assert expression_cost(node) == 5_001


def test_inner_loops_count_to_themselves_alone() -> None:
    code: list[list[Any]] = [
        ["set", 0, ONE],  # 2, outside
        ["times", 0, 6],  # 1, outer
        ["set", 1, ONE],  # 2, outer
        ["unless", ["bool", True], 5],  # 2, inner
        ["again", 3, 0],  # 1, inner
        ["again", 1, 0],  # 1, outer
        ["give", ONE],  # 2, outside
    ]
    assert callable_costs(code) == (4, {4: 3, 5: 4})


def test_costs_in_the_code_are_not_looked_at() -> None:
    for document in (review(), every_expression()):
        for declared in document["callables"].values():
            code = declared.get("code", [])
            outside, loops = callable_costs(code)
            changed = [[*each[:2], 99] if each[0] == "again" else each for each in code]
            assert callable_costs(changed) == (outside, loops)


def test_all_instructions_count_once() -> None:
    code = review()["callables"]["strategy:app/Review"]["code"]
    outside, loops = callable_costs(code)
    straight, none = callable_costs([each if each[0] != "again" else ["leave"] for each in code])
    assert none == {}
    assert outside + sum(loops.values()) == straight
