"""One document for every rule of the verifier, and the place and words with which it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.air.samples import (
    SAMPLES,
    TYPES,
    Document,
    build,
    coded,
    named,
    priced,
    review,
    seal,
    single,
    slot,
    smallest,
)
from touba_cli.air.operations import OPERATIONS
from touba_cli.air.types import freeze, show, thaw
from touba_cli.air.verifier import verify
from touba_cli.errors import ToubaFailure

ONE = ["int", 1]
TRUE = ["bool", True]
TEXT = ["text", "x"]
GIVE = ["give", ONE]
LINES = ["List", "type:app/Line"]
PROBLEM = "type:touba/Problem"


def refusal(document: Any) -> str:
    with pytest.raises(ToubaFailure) as caught:
        verify(document)
    assert caught.value.code == "AirInvalid"
    return caught.value.message


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_sound_documents_pass(make: Callable[[], Document]) -> None:
    document = make()
    verify(document)
    assert document == make()


# --- members ----------------------------------------------------------------------------------------------------------


def change(path: str, value: Any) -> Callable[[Document], None]:
    """Set a member of the review document; ``path`` has members between blanks."""

    def do(document: Document) -> None:
        *steps, last = path.split()
        holder: Any = document
        for step in steps:
            holder = holder[int(step) if isinstance(holder, list) else step]
        if isinstance(holder, list):
            holder[int(last)] = value
        else:
            holder[last] = value

    return do


def remove(path: str) -> Callable[[Document], None]:
    def do(document: Document) -> None:
        *steps, last = path.split()
        holder: Any = document
        for step in steps:
            holder = holder[int(step) if isinstance(holder, list) else step]
        del holder[int(last) if isinstance(holder, list) else last]

    return do


PAY = "callables tool:app/Pay"
TOTAL = "callables function:app/Total"
REVIEW = "callables strategy:app/Review"

DOCUMENT_FAULTS: list[tuple[Callable[[Document], None], str]] = [
    (remove("build"), "$: the member `build` is missing"),
    (change("bild", {}), "$: the member `bild` is not known; did you mean `build`?"),
    (change("protocol", 1), "$.protocol: the protocol is not text"),
    (remove("protocol"), "$.protocol: the protocol is not text"),
    (change("semantics", True), "$.semantics: a whole number was expected"),
    (change("requires", ["tools", "attempt"]), "$.requires: the program uses attempt, tools"),
    (change("requires", ["attempt", "tools", "tools"]), "$.requires[2]: `tools` stands twice"),
    (change("requires", ["tools"]), "$.requires: the program uses attempt, tools"),
    (change("requires", None), "$.requires: an array was expected"),
    (change("modules", ["app", "a b"]), "$.modules[1]: `a b` is not written as modules are"),
    (change("modules", ["b", "app"]), "$.modules: the modules are not sorted"),
    (change("modules", ["other"]), "`app` is not among `modules`"),
    (change("types", []), "$.types: an object was expected"),
    # types
    (change("types type:app/line", {}), '$.types["type:app/line"]: a type reference is written `type:MODULE/NAME`'),
    (change("types skill:app/Line", {}), '$.types["skill:app/Line"]: a type reference'),
    (change(f"types {PROBLEM}", {}), "a built-in type cannot be declared"),
    (change("types type:app/Line kind", "thing"), '$.types["type:app/Line"].kind: a declared type is'),
    (change("types type:app/Line kind", "alias"), '$.types["type:app/Line"]: the member `fields` is not known'),
    (change("types type:app/Line doc", 1), '$.types["type:app/Line"].doc: text was expected'),
    (change("types type:app/Line fields 1 name", "name"), "the field `name` stands twice"),
    (change("types type:app/Line fields 1 name", "a-b"), "`a-b` is not written as names are"),
    (change("types type:app/Line fields 1 wire", "name"), "the wire name `name` is taken"),
    (change("types type:app/Line fields 1 wire", ""), "a wire name is empty"),
    (change("types type:app/Line fields 1 type", "Number"), "the type `Number` is not known"),
    (change("types type:app/Line fields 1 type", ["Row", "Int"]), "fields[1].type: this array is not a type here"),
    (change("types type:app/Line fields 1 type", ["List"]), "an array of 2 was expected, not of 1"),
    (change("types type:app/Line fields 1 type", ["List", 3]), "fields[1].type[1]: a type is text or an array"),
    (change("types type:app/Line fields 1 type", "type:app/Lin"), "the type `type:app/Lin` is not known"),
    (change("types type:app/Decision variants 1 name", "Paid"), "the variant `Paid` stands twice"),
    (change("types type:app/Decision variants", []), "a choice needs a variant"),
    (change("types type:app/Decision variants 0 fields 0 name", "choice"), "the wire name `choice` is taken"),
    (change("types type:app/Amount of", ["is", "Decimal", []]), "a constrained type needs a constraint"),
    (change("types type:app/Amount of", "type:app/Amount"), "aliases stand for each other in a circle"),
    (
        change("types type:app/Amount of", ["List", ["Map", "type:app/Amount"]]),
        "aliases stand for each other in a circle",
    ),
    (change("types type:app/Amount of 2 0", ["min", ONE]), "Decimal was expected, not Int"),
    (change("types type:app/Amount of 2 0", ["min", ["dec", "1."]]), "of[2][0][1]: a literal cannot be read"),
    (change("types type:app/Amount of 2 0", ["length", 1, 2]), "`length` constrains Text, List and Map, not Decimal"),
    (change("types type:app/Amount of 2 0", ["like", "a"]), "of[2][0]: this is not a constraint"),
    (change("types type:app/Amount of 2 0", ["matching", "a"]), "of[2][0]: `matching` constrains Text, not Decimal"),
    (
        change("types type:app/Amount of", ["is", "Text", [["matching", "a("]]]),
        "of[2][0][1]: this `(` is not closed (at character 1)",
    ),
    (
        change("types type:app/Amount of", ["is", "Text", [["matching", "(a?){9999}"]]]),
        "of[2][0][1]: the pattern needs more than 500 states",
    ),
    (
        change("types type:app/Amount of", ["is", "Text", [["matching", f"a{{{n}}}"] for n in range(470, 499)]]),
        "of[2][20][1]: the patterns of the program have more than 10000 states",
    ),
    (change("types type:app/Amount of", ["is", "Text", [["matching", 7]]]), "of[2][0][1]: text was expected"),
    (
        change("types type:app/Amount of", ["is", "Text", [["format", "e-mail"]]]),
        "of[2][0][1]: the format `e-mail` is not known; did you mean `email`?",
    ),
    (change("types type:app/Amount of 2 0", ["format", "email"]), "of[2][0]: `format` constrains Text, not Decimal"),
    (change("types type:app/Amount of 2 0", ["min"]), "an array of 2 was expected"),
    (change("types type:app/Amount of 1", "Text"), "Text was expected, not Decimal"),
    (change("types type:app/Amount of 1", "Json"), "`min` constrains types with an order, not Json"),
    (change("types type:app/Line fields 0 type 2 0", ["length", None, None]), "a length has at least one bound"),
    (change("types type:app/Line fields 0 type 2 0", ["length", 3, 2]), "a length has at least one bound"),
    (change("types type:app/Line fields 0 type 2 0", ["length", -1, 2]), "the number is not within 0 and"),
    (change("types type:app/Tree fields 0 type", "type:app/Tree"), '$.types["type:app/Tree"]: the type has no finite'),
    # callables
    (change("callables strategy:app/x", {}), "a callable's reference is written"),
    (change("callables actor:app/X", {}), "a callable's reference is written `KIND:MODULE/NAME`"),
    (change("callables skill:other/X", {}), "the module `other` is not among `modules`"),
    (change(f"{PAY} code", []), "the member `code` is not known"),
    (remove(f"{PAY} effect"), "the member `effect` is missing"),
    (change(f"{PAY} effect", "maybe"), ".effect: an effect is one of none, read, write"),
    (change(f"{PAY} requires", ["internet"]), ".requires[0]: `internet` is not a grant"),
    (change(f"{PAY} secrets", ["a b"]), ".secrets[0]: `a b` is not written as names are"),
    (change(f"{PAY} timeout_ms", 0), ".timeout_ms: the number is not within 1 and"),
    (change(f"{PAY} timeout_ms", "1"), ".timeout_ms: a whole number was expected"),
    (change(f"{PAY} takes 1 name", "id"), ".takes[1].name: the input `id` stands twice"),
    (change(f"{PAY} takes 1 wire", "id"), "the member `wire` is not known"),
    (change(f"{TOTAL} gives", "Money"), ".gives: the type `Money` is not known"),
    (change(f"{TOTAL} slots 0 0", "other"), ".slots[0]: the first slots are the inputs, with their base types"),
    (change(f"{TOTAL} slots 0 1", "Int"), ".slots[0]: the first slots are the inputs, with their base types"),
    (change(f"{TOTAL} slots 1 1", "type:app/Amount"), ".slots[1][1]: `type:app/Amount` is an alias"),
    (change(f"{TOTAL} slots 1 1", ["is", "Int", [["min", ONE]]]), ".slots[1][1]: this array is not a type here"),
    (change(f"{TOTAL} slots 1 0", "é"), ".slots[1][0]: the name of a slot is ASCII"),
    (change(f"{TOTAL} slots", []), ".slots: the first slots are the inputs"),
    (change(f"{TOTAL} slots", [["lines", "Int"]] * 10_001), ".slots: a callable has at most 10000 slots"),
    (change(f"{TOTAL} code", []), ".code: a callable has at least one instruction"),
    (change(f"{TOTAL} cost", 18), ".cost: the code outside loops costs 19"),
    (change(f"{TOTAL} cost", True), ".cost: a whole number was expected"),
    (change(f"{TOTAL} code 6 2", -1), ".code[6][2]: the number is not within 0 and"),
    (change(f"{TOTAL} code 6 2", 0), ".code[6][2]: the body of this loop costs"),
    (change("digest", "sha256:" + "0" * 64), "$.digest: this is not the digest of the document"),
    # outside the digest
    (change("source_map files", ["/etc/app.tb"]), "$.source_map.files[0]: a source's path is relative"),
    (change("source_map files", ["a/../app.tb"]), "$.source_map.files[0]: a source's path is relative"),
    (change("source_map callables skill:app/Gone", []), '$.source_map.callables["skill:app/Gone"]: the program has no'),
    (change("source_map callables tool:app/Pay", []), "the program has no code under this reference"),
    (change("source_map callables skill:app/Tell", []), "an array of 2 was expected, not of 0"),
    (change("source_map callables skill:app/Tell 0", [1, 1, 1, 1, 1]), "[0][0]: the number is not within 0 and 0"),
    (change("source_map callables skill:app/Tell 0", [0, 2, 1, 1, 9]), "[0]: a span ends before it begins"),
    (change("source_map callables skill:app/Tell 0", [0, 0, 1, 1, 9]), "[0][1]: the number is not within 1 and"),
    (change("build sources app.tb", "sha1"), '$.build.sources["app.tb"]: a source\'s digest is 64 hex digits'),
    (change("build compiler", None), "$.build.compiler: text was expected"),
]


@pytest.mark.parametrize(("do", "message"), DOCUMENT_FAULTS, ids=[message for _, message in DOCUMENT_FAULTS])
def test_faults_of_a_document(do: Callable[[Document], None], message: str) -> None:
    document = review()
    do(document)
    assert message in refusal(document)


def test_every_member_is_checked_for_its_kind() -> None:
    for value in (None, 1, "x", [], {}, True, ["x"], {"x": 1}):
        for name, original in review().items():
            document = review()
            document[name] = value
            if value != original:
                with pytest.raises(ToubaFailure):
                    verify(document)


def test_types_are_finite_where_a_value_can_end() -> None:
    def record(*types: Any) -> Document:
        return {"kind": "record", "fields": [{"name": f"f{at}", "type": form} for at, form in enumerate(types)]}

    def choice(*forms: Any) -> Document:
        return {
            "kind": "choice",
            "variants": [{"name": f"V{at}", "fields": [{"name": "f", "type": form}]} for at, form in enumerate(forms)],
        }

    def check(types: Document) -> None:
        verify(single([GIVE], types=types))

    check({"type:app/A": record(["Optional", "type:app/A"])})
    check({"type:app/A": choice("type:app/A", "Int")})
    check({"type:app/A": record("type:app/B"), "type:app/B": choice(["List", "type:app/A"], "type:app/A")})
    alias = {"type:app/B": {"kind": "alias", "of": "type:app/A"}}
    for types in (
        {"type:app/A": record("type:app/B"), **alias},
        {"type:app/A": choice("type:app/A")},
        {"type:app/A": record("type:app/B"), "type:app/B": choice("type:app/A", "type:app/B")},
    ):
        assert "the type has no finite values" in refusal(single([GIVE], types=types))


def test_long_chains_of_types_are_no_burden() -> None:
    records: Document = {
        f"type:app/R{at}": {"kind": "record", "fields": [{"name": "next", "type": f"type:app/R{at + 1}"}]}
        for at in range(5_000)
    }
    records["type:app/R5000"] = {"kind": "record", "fields": []}
    verify(single([GIVE], types=records))
    aliases: Document = {
        f"type:app/A{at}": {"kind": "alias", "of": f"type:app/A{at + 1}" if at < 5_000 else "Int"}
        for at in range(5_001)
    }
    assert "a type is nested deeper than 100 levels" in refusal(single([GIVE], types=aliases))
    deep: Any = "Int"
    for _ in range(101):
        deep = ["List", deep]
    assert "a type is nested deeper than 100 levels" in refusal(single([GIVE], slots=[("s", deep)]))


# --- instructions -----------------------------------------------------------------------------------------------------

INT_SLOTS: list[tuple[str, Any]] = [("a", "Int"), ("b", "Int"), ("l", ["List", "Int"]), ("p", PROBLEM), ("t", "Text")]

CODE_FAULTS: list[tuple[list[list[Any]], str]] = [
    ([["halt"]], ".code[0]: the instruction `halt` is not known"),
    ([["gve", ONE]], ".code[0]: the instruction `gve` is not known; did you mean `give`?"),
    ([[]], ".code[0]: an instruction is an array that begins with its name"),
    ([[1]], ".code[0]: an instruction is an array that begins with its name"),
    ([["give"]], ".code[0]: an array of 2 was expected, not of 1"),
    ([["jump", -1], GIVE], ".code[0][1]: there is no instruction -1"),
    ([["jump", 2], GIVE], ".code[0][1]: there is no instruction 2"),
    ([["jump", True], GIVE], ".code[0][1]: a whole number was expected"),
    ([["set", 0, ONE], ["jump", 0]], ".code[1][1]: only `again` goes back"),
    ([["jump", 0]], ".code[0][1]: only `again` goes back"),
    ([["again", 1, 0], GIVE], ".code[0][1]: `again` goes back"),
    ([["set", 0, ONE]], ".code[0]: control falls off the end"),
    ([["unless", TRUE, 2], GIVE, ["set", 0, ONE]], ".code[2]: control falls off the end"),
    ([["require", TRUE, TEXT]], ".code[0]: control falls off the end"),
    ([["set", 9, ONE], GIVE], ".code[0][1]: there is no slot 9"),
    ([["set", 0, TEXT], GIVE], ".code[0][2]: Int was expected, not Text"),
    ([["give", TEXT]], ".code[0][1]: Int was expected, not Text"),
    ([["give", slot(0)]], ".code[0][1][1]: slot 0 is read where it may not be set"),
    ([["unless", TRUE, 2], ["set", 0, ONE], ["give", slot(0)]], ".code[2][1][1]: slot 0 is read where it may not"),
    ([["unless", ONE, 1], GIVE], ".code[0][1]: Bool was expected, not Int"),
    ([["require", TRUE, ONE], GIVE], ".code[0][2]: Text was expected, not Int"),
    ([["stop", ONE]], ".code[0][1]: Text was expected, not Int"),
    ([["fail", TRUE]], ".code[0][1]: Text was expected, not Bool"),
    # loops
    ([["set", 0, ONE], ["again", 0, 0], ["again", 0, 0]], ".code[2]: the loop at instruction 0 has another `again`"),
    ([["set", 0, ONE], ["unless", TRUE, 3], ["again", 0, 0], ["again", 1, 0]], ".code[3]: loops overlap"),
    (
        [["unless", TRUE, 2], ["unless", TRUE, 3], ["again", 1, 0], GIVE],
        ".code[0][2]: a jump goes into a loop past its first instruction",
    ),
    ([["each", 2, 0, 1, 2], ["again", 0, 0], GIVE], ".code[0][1]: slot 2 is read where it may not be set"),
    (
        [["set", 2, ["list", "Int", []]], ["each", 2, 0, 1, 3], ["again", 1, 0], GIVE],
        ".code[1][2]: slot 0 is read where it may not be set",
    ),
    (
        [["set", 2, ["list", "Int", []]], ["set", 0, ONE], ["each", 2, 0, 1, 4], ["again", 2, 0], GIVE],
        ".code[1][2]: the index of an `each` is set to",
    ),
    (
        [["set", 2, ["list", "Int", []]], ["set", 0, ["int", 0]], ["each", 2, 0, 0, 4], ["again", 2, 0], GIVE],
        ".code[2][3]: slot 0 is the index of an `each`",
    ),
    (
        [
            ["set", 2, ["list", "Int", []]],
            ["set", 0, ["int", 0]],
            ["each", 2, 0, 1, 4],
            ["again", 2, 0],
            ["give", slot(1)],
        ],
        ".code[4][1][1]: slot 1 is read where it may not be set",
    ),
    (
        [["set", 2, ["list", "Int", []]], ["set", 0, ["int", 0]], ["each", 2, 0, 4, 4], ["again", 2, 0], GIVE],
        ".code[2][3]: slot 4 holds Text, not Int",
    ),
    ([["set", 0, ONE], ["each", 0, 0, 1, 3], ["again", 1, 0], GIVE], ".code[0][2]: the index of an `each` is set to"),
    ([["set", 4, TEXT], ["times", 4, 3], ["again", 1, 0], GIVE], ".code[1][1]: slot 4 does not hold an Int"),
    # attempts
    ([["leave"], GIVE], ".code[0]: no attempt is open here"),
    ([["attempt", 2, 0], ["leave"], GIVE], ".code[0][2]: slot 0 holds Int, not Problem"),
    ([["attempt", 1, 3], GIVE], ".code[1]: paths come together with different attempts open"),
    (
        [["unless", TRUE, 2], ["attempt", 3, 3], GIVE, GIVE],
        ".code[2]: paths come together with different attempts open",
    ),
    (
        [["set", 0, ONE], ["attempt", 3, 3], ["again", 0, 0], GIVE],
        ".code[2]: a loop goes back with other attempts open than it began with",
    ),
    (
        [["attempt", 3, 3], ["leave"], ["jump", 4], ["give", slot(0)], GIVE],
        ".code[3][1][1]: slot 0 is read where it may not be set",
    ),
    (
        [["attempt", 4, 3], ["set", 0, ONE], ["leave"], ["give", slot(0)], ["give", slot(0)]],
        ".code[4][1][1]: slot 0 is read where it may not be set",
    ),
    # effects
    (
        [["call", 1, None, "tool:app/Gone", []], GIVE],
        ".code[0][3]: `tool:app/Gone` is not a tool, skill, strategy or agent",
    ),
    (
        [["call", 1, None, "function:app/F", []], GIVE],
        ".code[0][3]: `function:app/F` is not a tool, skill, strategy or agent",
    ),
    ([["call", 1, None, "strategy:app/Run", [ONE]], GIVE], ".code[0][4]: an array of 0 was expected, not of 1"),
    ([["call", 2, None, "strategy:app/Run", []], GIVE], ".code[0][1]: the next effect site has the number 1"),
    ([["call", 1, 4, "strategy:app/Run", []], GIVE], ".code[0][2]: slot 4 holds Text, not Int"),
    ([["show", 1, "show:app/Run/2", TEXT], GIVE], ".code[0][2]: the interaction of this show is `show:app/Run/1`"),
    ([["show", 1, "show:app/Run/1", ONE], GIVE], ".code[0][3]: Text was expected, not Int"),
    ([["show", 1, "show:app/Run/1", TEXT], ["show", 1, "show:app/Run/2", TEXT], GIVE], ".code[1][1]: the next effect"),
]


@pytest.mark.parametrize(("code", "message"), CODE_FAULTS, ids=[message for _, message in CODE_FAULTS])
def test_faults_of_code(code: list[list[Any]], message: str) -> None:
    assert message in refusal(single(code, slots=INT_SLOTS))


@pytest.mark.parametrize(
    "instruction",
    [
        ["call", 1, None, "function:app/Run", []],
        ["show", 1, "show:app/Run/1", TEXT],
        ["stop", TEXT],
        ["attempt", 1, 3],
        ["leave"],
    ],
)
def test_functions_have_pure_instructions_only(instruction: list[Any]) -> None:
    message = refusal(single([instruction, GIVE], slots=INT_SLOTS, ref="function:app/Run"))
    assert f".code[0]: a function has no `{instruction[0]}`" in message


GOOD_CODE: list[list[list[Any]]] = [
    [["jump", 2], ["set", 0, ONE], GIVE],
    [["give", ONE], ["give", slot(0)]],  # never reached: read as if everything were set
    [["unless", TRUE, 3], ["set", 0, ONE], ["jump", 4], ["set", 0, ONE], ["give", slot(0)]],
    [["set", 0, ONE], ["times", 0, 4], ["set", 1, slot(0)], ["again", 1, 0], ["give", slot(0)]],
    [["set", 0, ONE], ["unless", TRUE, 3], ["again", 1, 0], GIVE],
    [["attempt", 3, 3], ["set", 0, ONE], ["give", slot(0)], ["give", ["length.text", ["field", slot(3), "code"]]]],
    [["attempt", 4, 3], ["set", 0, ONE], ["leave"], ["jump", 5], ["set", 0, ONE], ["give", slot(0)]],
    [["attempt", 4, 3], ["attempt", 3, 3], ["give", ONE], ["fail", TEXT], GIVE],
    [["require", TRUE, TEXT], ["stop", TEXT]],
    [["call", 1, 0, "strategy:app/Run", []], ["call", 2, None, "strategy:app/Run", []], ["give", slot(0)]],
    [["again", 0, 0]],
]


@pytest.mark.parametrize("code", GOOD_CODE)
def test_sound_code(code: list[list[Any]]) -> None:
    verify(single(code, slots=INT_SLOTS))


def test_long_code_with_many_loops_and_attempts_is_no_burden() -> None:
    code: list[list[Any]] = []
    for at in range(2_000):
        code += [["set", 0, ONE], ["times", 0, at * 7 + 6], ["attempt", at * 7 + 4, 3], ["leave"], ["set", 1, ONE]]
        code += [["again", at * 7 + 1, 0], ["set", 1, slot(0)]]
    verify(single([*code, GIVE], slots=INT_SLOTS))
    nested: list[list[Any]] = [["unless", TRUE, 4_000] for _ in range(2_000)]
    nested += [["again", 1_999 - at, 0] for at in range(2_000)]
    verify(single([*nested, GIVE]))
    attempts = [["attempt", 4_000, 3] for _ in range(4_000)]
    assert "paths come together" in refusal(single([*attempts, GIVE], slots=INT_SLOTS))


# --- expressions ------------------------------------------------------------------------------------------------------

LOW = ["make", "type:app/Level", "Low", []]
LINE = ["record", "type:app/Line", [named(TEXT), priced(["dec", "1"]), LOW]]
REFUSED = ["make", "type:app/Decision", "Refused", []]
OPTIONAL = ["some", ONE]

EXPRESSION_FAULTS: list[tuple[Any, str]] = [
    (1, ": an expression is an array that begins with its name"),
    ([], ": an expression is an array that begins with its name"),
    ([ONE], ": an expression is an array that begins with its name"),
    (["addint", ONE, ONE], ": the expression `addint` is not known"),
    (["add.int", ONE], ": an array of 3 was expected, not of 2"),
    (["add.int", ONE, ["dec", "1"]], ": `add.int` does not take Int, Decimal"),
    (["in.list", TEXT, ["list", "Int", []]], ": `in.list` does not take Text, List of Int"),
    (["merge", ["map", "Int", []], ["map", "Text", []]], ": `merge` does not take Map of Int, Map of Text"),
    (["text.choice", REFUSED], ": `text.choice` does not take Decision"),
    (["ordinal", REFUSED], ": a choice without payload was expected, not Decision"),
    (["int", "1"], ": a literal cannot be read"),
    (["int", 1.5], ": a literal cannot be read"),
    (["int", "9223372036854775808"], ": a literal cannot be read"),
    (["dec", "1e3"], ": a literal cannot be read"),
    (["dec", 1], ": a literal cannot be read"),
    (["float", "nan"], ": a literal cannot be read"),
    (["float", "1.50"], ": a literal cannot be read"),
    (["date", "2026-02-30"], ": a literal cannot be read"),
    (["datetime", "2026-01-31 12:00"], ": a literal cannot be read"),
    (["duration", "30s"], ": a literal cannot be read"),
    (["bool", 1], ": a literal cannot be read"),
    (["nothing", 1], ": an array of 1 was expected, not of 2"),
    (["slot", 0.5], "[1]: a whole number was expected"),
    (["absent", "type:app/Amount"], "[1]: `type:app/Amount` is an alias"),
    (["field", LINE, "nam"], "[2]: the field `nam` is not known; did you mean `name`?"),
    (["field", ONE, "name"], "[2]: Int has no fields"),
    (["field", LINE, 1], "[2]: text was expected"),
    (["payload", REFUSED, "Refused", "receipt"], "[3]: the field `receipt` is not known"),
    (["payload", LINE, "Paid", "receipt"], "[2]: Line is not a choice"),
    (["variant", REFUSED, "Paied"], "[2]: the variant `Paied` is not known; did you mean `Paid`?"),
    (["present", ONE], "[1]: an Optional was expected, not Int"),
    (["otherwise", OPTIONAL, TEXT], "[2]: Int was expected, not Text"),
    (["widen", TEXT], "[1]: Int was expected, not Text"),
    (["constrain", "type:app/Amount", "amount", ONE], "[3]: Decimal was expected, not Int"),
    (["constrain", ["is", "Int", [["min", TEXT]]], "amount", ONE], "[1][2][0][1]: Int was expected, not Text"),
    (["constrain", "type:app/Amount", None, ["dec", "1"]], "[2]: text was expected"),
    (["record", "type:app/Decision", []], "[1]: `type:app/Decision` is not a record"),
    (["record", "type:app/Line", []], "[2]: an array of 3 was expected, not of 0"),
    (["make", "type:app/Line", "Paid", []], "[1]: `type:app/Line` is not a choice"),
    (["make", "type:app/Decision", "", []], "[2]: the variant `` is not known"),
    (["make", "type:app/Decision", "Paid", [ONE]], "[3][0]: Text was expected, not Int"),
    (["with", LINE, []], "[2]: no field is changed"),
    (["with", LINE, [["name", named(TEXT)], ["name", named(TEXT)]]], "[2][1]: the field `name` is changed twice"),
    (["with", LINE, [["name", ONE]]], "[2][0][1]: Text was expected, not Int"),
    (["list", "Int", [ONE, TEXT]], "[2][1]: Int was expected, not Text"),
    (["map", "Int", [[ONE, ONE]]], "[2][0][0]: Text was expected, not Int"),
    (["map", "Int", [[TEXT]]], "[2][0]: an array of 2 was expected"),
    (["collect", 0, ONE, None, ONE], "[2]: a List was expected, not Int"),
    (["collect", 4, ["range.to", ONE], None, ONE], "[1]: slot 4 holds Text, not Int"),
    (["collect", 0, ["range.to", ONE], ONE, ONE], "[3]: Bool was expected, not Int"),
    (["add.list", ["collect", 0, ["range.to", ONE], None, ONE], ["list", "Int", [slot(0)]]], "may not be set"),
    (["sorted_by", ["list", "type:app/Line", []], [], False], "[2]: a sort needs a field"),
    (["sorted_by", ["list", "type:app/Invoice", []], ["lines"], False], "[2]: List of Line has no order"),
    (["sorted_by", ["list", "type:app/Line", []], ["name"], 0], "[3]: true or false was expected"),
    (["and", TRUE], ": `and` has at least 2 operands"),
    (["or", TRUE, ONE], "[2]: Bool was expected, not Int"),
    (["concat"], ": `concat` has at least 1 operands"),
    (["concat", ONE], "[1]: Text was expected, not Int"),
    (["not", ONE], "[1]: Bool was expected, not Int"),
    (["if", TRUE, ONE, TEXT], "[3]: Int was expected, not Text"),
    (["chain", ONE, "add.int"], ": a chain is an expression, then pairs"),
    (["chain", ONE, "neg.int", ONE], "[2]: `neg.int` is not an operation with two places"),
    (["chain", ONE, "add.decimal", ONE], "[2]: `add.decimal` does not take Int, Int"),
    (["apply", "strategy:app/Run", []], "[1]: `strategy:app/Run` is not a function of the program"),
    (["round.mode", ["dec", "1"], ONE, ["concat", TEXT]], "[3]: a rounding mode is a literal"),
    (["round.mode", ["dec", "1"], ONE, TEXT], "[3]: a rounding mode is a literal"),
]


@pytest.mark.parametrize(("node", "message"), EXPRESSION_FAULTS, ids=[repr(node)[:60] for node, _ in EXPRESSION_FAULTS])
def test_faults_of_expressions(node: Any, message: str) -> None:
    document = single([GIVE], slots=INT_SLOTS, types=TYPES)
    document["callables"]["strategy:app/Run"]["code"] = [["unless", ["eq", node, node], 1], GIVE]
    found = refusal(document)
    assert found.startswith('$.callables["strategy:app/Run"].code[0][1][1]')
    assert message in found


def test_expressions_are_not_nested_without_end() -> None:
    node: Any = TRUE
    for _ in range(190):
        node = ["not", node]
    verify(single([["unless", node, 1], GIVE]))
    for _ in range(1_000):
        node = ["not", node]
    document = single([GIVE])
    document["callables"]["strategy:app/Run"]["code"] = [["unless", node, 1], GIVE]
    assert "expressions are nested deeper than 200 levels" in refusal(document)


def operand(form: Any) -> Any:
    """An expression of a type form of the operations table."""
    if isinstance(form, tuple):
        if form[0] == "List":
            return ["list", plain(form[1]), []]
        if form[0] == "Map":
            return ["map", plain(form[1]), []]
        return ["absent", plain(form[1])]
    return {
        "Int": ONE, "Decimal": ["dec", "1"], "Float": ["float", "1.0"], "Text": ["text", "up"], "Bool": TRUE,
        "Date": ["date", "2026-01-31"], "DateTime": ["datetime", "2026-01-31T12:00:00Z"],
        "Duration": ["duration", "PT1S"], "T": TEXT, "E": TEXT, "choice": ["make", "type:app/Level", "Low", []],
    }[form]  # fmt: skip


def plain(form: Any) -> Any:
    """A type form with Text for its variables, as JSON."""
    if isinstance(form, tuple):
        return [form[0], plain(form[1])]
    return "Text" if form in ("T", "E") else form


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_typed_by_its_row(name: str) -> None:
    row = OPERATIONS[name]
    node = [name, *map(operand, row.takes)]
    gives = plain(row.gives)

    def typed(expression: Any, form: Any) -> Document:
        return single([["set", 0, expression], GIVE], slots=[("s", form)], types=TYPES)

    verify(typed(node, gives))
    assert f"Json was expected, not {show(freeze(gives))}" in refusal(typed(node, "Json"))
    assert "was expected, not of" in refusal(typed([*node, ONE], gives))
    for at, form in enumerate(row.takes, 1):
        alone = [each for each in row.takes if each in ("T", "E")] == [form]
        if not alone:
            broken = [*node]
            broken[at] = ["nothing"]
            assert name in refusal(typed(broken, gives)) or name == "round.mode"


def test_type_forms_thaw_to_what_was_frozen() -> None:
    form = ["is", ["List", ["Optional", "Text"]], [["length", None, 3]]]
    assert thaw(freeze(form)) == form


def test_a_callable_that_is_named_by_others_is_checked_by_its_declared_types() -> None:
    document = build(
        TYPES,
        {
            "function:app/F": coded([("x", "Decimal")], "type:app/Amount", [], [["give", priced(slot(0))]]),
            "strategy:app/Run": coded(
                [], "Decimal", [], [["give", ["apply", "function:app/F", [priced(["dec", "1"])]]]]
            ),
        },
    )
    declared = document["callables"]["function:app/F"]
    declared["takes"][0]["type"] = "type:app/Amount"
    verify(seal(document))
    declared["slots"][0][1] = "type:app/Amount"
    assert "is an alias" in refusal(seal(document))


#: types whose constraints stand inside other types, and in a variant
PLACES = {
    "type:app/Bag": {
        "kind": "record",
        "fields": [
            {"name": "all", "type": ["List", "type:app/Amount"]},
            {"name": "most", "type": ["Optional", "type:app/Amount"]},
        ],
    },
    "type:app/Paid": {
        "kind": "choice",
        "variants": [{"name": "Cash", "fields": [{"name": "amount", "type": "type:app/Amount"}]}],
    },
}


def bag(items: list[Any]) -> list[Any]:
    """A list as it enters the field `all` of a bag."""
    return ["constrain", ["List", "type:app/Amount"], "all", ["list", "Decimal", items]]


OTHER = ["constrain", ["is", "Decimal", [["min", ["dec", "0"]]]], "amount", ["dec", "1"]]


@pytest.mark.parametrize(
    ("node", "at"),
    [
        (["record", "type:app/Line", [TEXT, priced(["dec", "1"]), LOW]], "[2][0]"),
        (["record", "type:app/Line", [named(TEXT), ["dec", "1"], LOW]], "[2][1]"),
        (["record", "type:app/Line", [named(TEXT), OTHER, LOW]], "[2][1]"),
        (["record", "type:app/Line", [named(TEXT), named(TEXT), LOW]], "[2][1]"),
        (["with", LINE, [["amount", ["field", LINE, "amount"]]]], "[2][0][1]"),
        (["apply", "function:app/F", [["dec", "1"]]], "[2][0]"),
        (["make", "type:app/Paid", "Cash", [["dec", "1"]]], "[3][0]"),
        (["record", "type:app/Bag", [["list", "Decimal", [priced(["dec", "1"])]], ["absent", "Decimal"]]], "[2][0]"),
        (["record", "type:app/Bag", [bag([]), ["some", priced(["dec", "1"])]]], "[2][1]"),
    ],
)
def test_nothing_enters_a_place_with_constraints_unchecked(node: list[Any], at: str) -> None:
    def document(node: list[Any]) -> dict[str, Any]:
        form = {"with": "type:app/Line", "apply": "Decimal"}.get(node[0], node[1])
        return build(
            {**TYPES, **PLACES},
            {
                "function:app/F": coded([("x", "Decimal")], "Decimal", [], [["give", slot(0)]]),
                "strategy:app/Run": coded([], form, [], [["give", node]]),
            },
        )

    def declared(node: list[Any]) -> dict[str, Any]:
        found = document(node)
        found["callables"]["function:app/F"]["takes"][0]["type"] = "type:app/Amount"
        return seal(found)

    message = refusal(declared(node))
    assert f".code[0][1]{at}: " in message
    assert "enters a place with constraints" in message or "was expected, not Text" in message


def test_what_is_absent_needs_no_check() -> None:
    for value in (["absent", "Decimal"], ["constrain", ["Optional", "type:app/Amount"], "most", ["absent", "Decimal"]]):
        node = ["record", "type:app/Bag", [bag([["dec", "1"]]), value]]
        verify(seal(build({**TYPES, **PLACES}, {"strategy:app/Run": coded([], "type:app/Bag", [], [["give", node]])})))


def test_messages_cut_names_and_keep_to_ascii() -> None:
    document = smallest()
    document["ü" * 500] = 1
    message = refusal(document)
    assert message.isascii()
    assert len(message) < 500
