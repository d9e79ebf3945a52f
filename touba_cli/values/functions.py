"""What operations mean: every name of ``air/operations.py`` with its function.

A function takes the meter and its operands, charges what its row says before it works, checks sizes before it builds,
and raises `ToubaFailure` with the code of what went wrong. Operands have the types of the row: compiled programs
guarantee it, the verifier of AIR too. Rows of ``deep`` charge for the smaller of two compared values, and for the whole
List of `in` and `unique`.
"""

from __future__ import annotations

from . import arithmetic, containers, texts
from .containers import sort_by
from .equality import equal, key
from .literals import literal, write_literal
from .texts import concat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .check import TypeTable
    from .model import ChoiceValue

__all__ = ["FUNCTIONS", "concat", "equal", "key", "literal", "ordinal", "sort_by", "write_literal"]

#: name in AIR → function of the meter and the operands
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add.int": arithmetic.add_int,
    "sub.int": arithmetic.sub_int,
    "mul.int": arithmetic.mul_int,
    "neg.int": arithmetic.neg_int,
    "abs.int": arithmetic.abs_int,
    "div.int": arithmetic.div_int,
    "mod.int": arithmetic.mod_int,
    "add.decimal": arithmetic.add_decimal,
    "sub.decimal": arithmetic.sub_decimal,
    "mul.decimal": arithmetic.mul_decimal,
    "neg.decimal": arithmetic.neg_decimal,
    "abs.decimal": arithmetic.abs_decimal,
    "div.decimal": arithmetic.div_decimal,
    "add.float": arithmetic.add_float,
    "sub.float": arithmetic.sub_float,
    "mul.float": arithmetic.mul_float,
    "neg.float": arithmetic.neg_float,
    "abs.float": arithmetic.abs_float,
    "div.float": arithmetic.div_float,
    "add.text": texts.add_text,
    "add.list": containers.add_list,
    "add.date": arithmetic.add_date,
    "sub.date": arithmetic.sub_date,
    "add.datetime": arithmetic.add_datetime,
    "sub.datetime": arithmetic.sub_datetime,
    "add.duration": arithmetic.add_duration,
    "sub.duration": arithmetic.sub_duration,
    "neg.duration": arithmetic.neg_duration,
    "between.date": arithmetic.between,
    "between.datetime": arithmetic.between,
    "eq": containers.eq,
    "ne": containers.ne,
    "in.list": containers.in_list,
    "in.map": containers.in_map,
    "index.list": containers.index_list,
    "index.text": texts.index_text,
    "index.map": containers.index_map,
    "length.text": texts.length_text,
    "length.list": containers.length_list,
    "length.map": containers.length_map,
    "sum.int": arithmetic.sum_int,
    "sum.decimal": arithmetic.sum_decimal,
    "sum.float": arithmetic.sum_float,
    "sum.duration": arithmetic.sum_duration,
    "reversed": containers.reversed_list,
    "unique": containers.unique,
    "first": containers.first,
    "last": containers.last,
    "count": containers.count_true,
    "any": containers.any_true,
    "all": containers.all_true,
    "range.to": containers.range_to,
    "range.between": containers.range_between,
    "text.int": arithmetic.text_int,
    "text.decimal": arithmetic.text_decimal,
    "text.float": arithmetic.text_float,
    "text.bool": arithmetic.text_bool,
    "text.date": arithmetic.text_date,
    "text.datetime": arithmetic.text_datetime,
    "text.duration": arithmetic.text_duration,
    "text.choice": arithmetic.text_choice,
    "int.text": arithmetic.int_of_text,
    "int.decimal": arithmetic.int_of_decimal,
    "int.float": arithmetic.int_of_float,
    "decimal.text": arithmetic.decimal_of_text,
    "decimal.int": arithmetic.decimal_of_int,
    "decimal.float": arithmetic.decimal_of_float,
    "round.decimal": arithmetic.round_decimal,
    "round.mode": arithmetic.round_mode,
    "round.float": arithmetic.round_float,
    "trim": texts.trim,
    "upper": texts.upper,
    "lower": texts.lower,
    "split.text": texts.split_text,
    "split.blanks": texts.split_blanks,
    "join": texts.join,
    "replace": texts.replace,
    "contains": texts.contains,
    "starts_with": texts.starts_with,
    "ends_with": texts.ends_with,
    "slice.text": texts.slice_text,
    "slice.list": containers.slice_list,
    "keys": containers.keys,
    "values": containers.values,
    "items": containers.items,
    "merge": containers.merge,
    "without": containers.without,
}

for _type in ("int", "decimal", "float", "date", "datetime", "duration"):
    FUNCTIONS[f"lt.{_type}"] = arithmetic.lt
    FUNCTIONS[f"le.{_type}"] = arithmetic.le
    FUNCTIONS[f"gt.{_type}"] = arithmetic.gt
    FUNCTIONS[f"ge.{_type}"] = arithmetic.ge
    FUNCTIONS[f"min.{_type}"] = containers.least
    FUNCTIONS[f"max.{_type}"] = containers.greatest
    FUNCTIONS[f"sorted.{_type}"] = containers.sorted_list

FUNCTIONS["lt.text"] = arithmetic.lt_text
FUNCTIONS["le.text"] = arithmetic.le_text
FUNCTIONS["gt.text"] = arithmetic.gt_text
FUNCTIONS["ge.text"] = arithmetic.ge_text
FUNCTIONS["min.text"] = containers.least_text
FUNCTIONS["max.text"] = containers.greatest_text
FUNCTIONS["sorted.text"] = containers.sorted_text


def ordinal(table: TypeTable, value: ChoiceValue) -> int:
    """The position of a choice's variant in its declaration, from 0."""
    return table.ordinal(value)
