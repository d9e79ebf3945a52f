"""Programs that are written to make the compiler slow or large."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from touba_cli.air.program import read_program, write_program
from touba_cli.language.compiler import Compiled, compile_program
from touba_cli.limits import CALLABLE_SLOTS, LEFT_OUT_FIELDS, SOURCE_BYTES, TYPE_MEMBERS
from touba_cli.project.sources import ProjectSources

HEAD = "module app\n\n"


def compiled(folder: Path, text: str) -> Compiled:
    assert len(text) <= SOURCE_BYTES
    (folder / "app.tb").write_text(text)
    return compile_program(ProjectSources(str(folder)), "app.tb")


def record(fields: int, of: str = "Optional Int") -> str:
    return "type R\n" + "".join(f"    field_{number} as {of}\n" for number in range(fields)) + "\n"


def choice(variants: int) -> str:
    return "choice C\n" + "".join(f"    Variant{number}\n" for number in range(variants)) + "\n"


def strategy(*lines: str, takes: str = "") -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"strategy Main\n{takes}    gives Int\n    do\n{body}        give 1\n"


@pytest.mark.parametrize("make", [record, choice])
def test_a_type_has_so_many_members(tmp_path: Path, make: Callable[[int], str]) -> None:
    most = compiled(tmp_path, HEAD + make(TYPE_MEMBERS) + strategy())
    assert most.air is not None
    assert read_program(write_program(most.air)).types
    more = compiled(tmp_path, HEAD + make(TYPE_MEMBERS + 1) + strategy())
    assert [each.code for each in more.diagnostics] == ["TB9007"]


def test_a_program_leaves_out_so_many_fields(tmp_path: Path) -> None:
    sites = LEFT_OUT_FIELDS // 1_000
    lines = [f"let _r{number} = R()" for number in range(sites)]
    assert compiled(tmp_path, HEAD + record(1_000) + strategy(*lines)).air is not None
    found = compiled(tmp_path, HEAD + record(1_000) + strategy(*lines, "let _over = R()"))
    assert [each.code for each in found.diagnostics] == ["TB9008"]


def test_a_callable_has_so_many_slots(tmp_path: Path) -> None:
    lines = [f"let _a{number} = 1" for number in range(CALLABLE_SLOTS)]
    most = compiled(tmp_path, HEAD + strategy(*lines))
    assert most.air is not None
    assert read_program(write_program(most.air)).callables
    found = compiled(tmp_path, HEAD + strategy(*lines, "let _over = 1"))
    assert [each.code for each in found.diagnostics] == ["TB9009"]
    inside = ["parallel for each n in [1, 2]", *(f"    let _b{number} = n" for number in range(CALLABLE_SLOTS + 1))]
    assert [each.code for each in compiled(tmp_path, HEAD + strategy(*inside)).diagnostics] == ["TB9009"]


WIDE = record(1_000)
NEEDED = record(1_000, "Int")
#: what is wrong → the program with so many mistakes
MISTAKES: dict[str, Callable[[int], str]] = {
    "fields": lambda n: WIDE + strategy("let r = R()", *(f"let _a{i} = r.fxeld_{i}" for i in range(n))),
    "changes": lambda n: WIDE + strategy("var r = R()", *(f"set r = r with (fxeld_{i}: 2)" for i in range(n))),
    "missing fields": lambda n: NEEDED + strategy(*(f"let _a{i} = R()" for i in range(n))),
    "names": lambda n: strategy(*(f"let _abc{i} = xyz_{i}" for i in range(n))),
    "functions": lambda n: "".join(
        f"function F{i}\n    gives Int\n    do\n        give gx{i}(1)\n\n" for i in range(n)
    ),
    "types": lambda n: "".join(f"type T{i}\n    a as Ux{i}\n\n" for i in range(n)),
    "variants": lambda n: choice(1_000) + strategy(*(f"let _v{i} = C.Wariant{i}" for i in range(n))),
    "capitals": lambda n: (
        "".join(f"choice C{i}\n    V\n\n" for i in range(n)) + strategy(*(f"let _v{i} = Zz{i}" for i in range(n)))
    ),
    "cases": lambda n: (
        choice(1_000)
        + strategy(
            *('when c\n            is Variant1\n                show ""' for _ in range(n)), takes="    takes c as C\n"
        )
    ),
}


@pytest.mark.parametrize("kind", list(MISTAKES))
def test_twice_the_mistakes_take_no_four_times_as_long(tmp_path: Path, kind: str) -> None:
    took = []
    for count in (3_000, 6_000):
        text = HEAD + MISTAKES[kind](count)
        started = time.process_time()
        found = compiled(tmp_path, text)
        took.append(time.process_time() - started)
        assert found.failed
    # Quadratic work would make it four times as long; hints for names are looked for only so often.
    assert took[1] < 3.2 * took[0] + 0.5


def test_messages_about_wide_types_are_short(tmp_path: Path) -> None:
    for text in (NEEDED + strategy("let _r = R()"), NEEDED + strategy("let _r = R(other: 1)")):
        found = compiled(tmp_path, HEAD + text)
        assert found.failed
        for each in found.diagnostics:
            assert len(each.title) + len(each.label) + len(each.help or "") < 4_000
            assert len(each.candidates) <= 50
