"""Row 29 of the list of nasty inputs: compiled programs that are wrong, through `touba run`.

Each is refused with the JSON path of what is wrong before anything runs: the first instruction of the program shows a
text, and none is ever shown.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.air.samples import Document, build, coded, seal, slot
from tests.shell_kit import Project
from touba_cli.air.program import write_program
from touba_cli.limits import AIR_BYTES

MAIN = "strategy:app/Main"
CODE = f'$.callables["{MAIN}"].code'


def sound() -> Document:
    """A program that shows a text, loops, calls a skill and a function, and gives."""
    return build(
        {"type:app/Line": {"kind": "record", "fields": [{"name": "name", "type": "Text"}]}},
        {
            MAIN: coded([], "Int", [("n", "Int"), ("word", "Text")], [
                ["show", 1, "show:app/Main/1", ["text", "started"]],
                ["set", 0, ["int", 3]],
                ["set", 1, ["text", "a"]],
                ["times", 0, 6],
                ["call", 2, None, "skill:app/Tell", [slot(1)]],
                ["again", 3, 0],
                ["give", ["apply", "function:app/Same", [slot(0)]]],
            ]),
            "skill:app/Tell": coded([("text", "Text")], "Nothing", [], [["give", ["nothing"]]]),
            "function:app/Same": coded([("n", "Int")], "Int", [], [["give", slot(0)]]),
        },
    )  # fmt: skip


def replaced(pc: int, *steps: Any) -> Callable[[Document], None]:
    """Put the last of ``steps`` into the place that the others lead to, within an instruction of `Main`."""

    def do(document: Document) -> None:
        holder: Any = document["callables"][MAIN]["code"]
        *way, last, value = (pc, *steps)
        for step in way:
            holder = holder[step]
        holder[last] = value

    return do


def without_end(document: Document) -> None:
    document["callables"][MAIN]["code"][6] = ["set", 0, ["int", 1]]


def without_cost(document: Document) -> None:
    document["callables"][MAIN]["code"][5] = ["again", 3]


def another_digest(document: Document) -> None:
    document["digest"] = "sha256:" + "0" * 64


def newer(document: Document) -> None:
    document["protocol"] = "touba-air-v2"
    document["unknown"] = document.pop("callables")


def newer_semantics(document: Document) -> None:
    document["semantics"] = 2


def unknown_feature(document: Document) -> None:
    document["requires"] = ["attempt", "time_travel"]


#: what is wrong → how it is made, whether costs and digest are set right behind it, and the words of the refusal
WRONG: dict[str, tuple[Callable[[Document], None], bool, str]] = {
    "a jump to -1": (replaced(3, 2, -1), True, f"{CODE}[3][2]: "),
    "a jump past the end": (replaced(3, 2, 7), True, f"{CODE}[3][2]: "),
    "a jump far past the end": (replaced(3, 2, 10**6), True, f"{CODE}[3][2]: "),
    "a jump that is no number": (replaced(3, 2, "6"), True, f"{CODE}[3][2]: "),
    "a jump back": (replaced(3, ["jump", 0]), True, f"{CODE}[3][1]: "),
    "a back edge forwards": (replaced(5, 1, 6), True, f"{CODE}[5][1]: "),
    "the end is reached": (without_end, True, f"{CODE}[6]: "),
    "a loop without cost": (without_cost, False, f"{CODE}[5]: "),
    "a loop with a cost that is too small": (replaced(5, 2, 0), False, f"{CODE}[5][2]: "),
    "a callable that is too cheap": (
        lambda document: document["callables"][MAIN].update(cost=0), False, f'$.callables["{MAIN}"].cost: ',
    ),
    "a slot of another type": (replaced(1, 2, ["text", "3"]), True, f"{CODE}[1][2]: Int was expected, not Text"),
    "a slot that is read as another type": (replaced(6, 1, slot(1)), True, f"{CODE}[6][1]: Int was expected, not Text"),
    "a slot that is not there": (replaced(6, 1, slot(2)), True, f"{CODE}[6][1]"),
    "a slot that no path has set": (replaced(2, ["set", 0, ["int", 4]]), True, f"{CODE}[4][4][0]"),
    "an instruction that is not known": (replaced(0, ["print", ["text", "x"]]), True, f"{CODE}[0]"),
    "an expression that is not known": (replaced(6, 1, ["eval", "1"]), True, f"{CODE}[6][1]"),
    "a function that is called": (replaced(4, 3, "function:app/Same"), True, f"{CODE}[4][3]: "),
    "a skill that is applied": (replaced(6, 1, 1, "skill:app/Tell"), True, f"{CODE}[6][1][1]: "),
    "a type as a callable": (replaced(4, 3, "type:app/Line"), True, f"{CODE}[4][3]: "),
    "a callable that is not there": (replaced(4, 3, "skill:app/Tel"), True, f"{CODE}[4][3]: "),
    "an argument too few": (replaced(4, 4, []), True, f"{CODE}[4][4]: "),
    "another digest": (another_digest, False, "$.digest: this is not the digest of the document"),
    "a newer protocol": (newer, False, "$.protocol: the protocol is `touba-air-v2`; this runtime reads `touba-air-v1`"),
    "newer semantics": (newer_semantics, True, "$.semantics: the semantics are 2; this runtime has 1"),
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def refusal(project: Project, data: bytes, code: str = "AirInvalid", exit_code: int = 4) -> str:
    project.write("app.air.json", data)
    done = project.touba("run", "--air=app.air.json", "--json")
    message = done.refused(code, exit_code)
    assert done.document["messages"] == []
    assert done.document["usage"]["steps"] == 0
    assert "(app.tb" not in message
    return message


def test_29_the_program_runs_while_nothing_is_wrong(project: Project) -> None:
    project.write("app.air.json", write_program(sound()))
    done = project.touba("run", "--air=app.air.json", "--json").document
    assert (done["result"], [each["text"] for each in done["messages"]]) == (0, ["started"])


@pytest.mark.parametrize("name", WRONG)
def test_29_what_is_wrong_is_named_with_its_path(project: Project, name: str) -> None:
    spoil, sealed, words = WRONG[name]
    document = sound()
    spoil(document)
    assert document != sound()
    message = refusal(project, write_program(seal(document) if sealed else document))
    assert message.startswith(words)


def test_29_an_unknown_feature_is_refused_by_its_name(project: Project) -> None:
    document = copy.deepcopy(sound())
    unknown_feature(document)
    message = refusal(project, write_program(seal(document)), "FeatureUnavailable", 4)
    assert "`time_travel`" in message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.replace(b'"build":', b'"build":{},"build":'), '$: the key "build" stands twice in one object (line'),
        (lambda data: data.replace(b'"semantics":1', b'"semantics": 1'), "$: the document is not canonical at byte"),
        (lambda data: data.replace(b'"app.tb"', b'"\\u0061pp.tb"', 1), "$: the document is not canonical at byte"),
        (lambda data: data.replace(b'["int",3]', b'["int",3.0]'), f"{CODE}[1][2][1]: AIR has whole numbers only"),
        (lambda data: data.replace(b'["int",3]', b'["int",1e400]'), f"{CODE}[1][2][1]: AIR has whole numbers only"),
        (lambda data: data.replace(b'["int",3]', b'["int",NaN]'), "$: `NaN` is not JSON (line"),
        (lambda data: data[:-20], "$: "),
        (lambda data: data + data, "$: text follows the end of the document (line"),
        (lambda data: b"\xef\xbb\xbf" + data, "$: the document is not canonical at byte 0"),
        (lambda data: data + b"\n\n", "$: the document is not canonical at byte"),
        (lambda data: b"[" * 100_000, "$: nested deeper than 200 levels (line 1, column 201)"),
        (lambda data: b"null", "$: the AIR document is not an object"),
        (lambda data: b"", "$: the AIR document is empty"),
    ],
)  # fmt: skip
def test_29_bytes_that_are_not_canonical(project: Project, change: Callable[[bytes], bytes], words: str) -> None:
    data = write_program(sound())
    assert change(data) != data
    assert refusal(project, change(data)).startswith(words)


def test_29_a_file_of_100_megabytes(project: Project) -> None:
    path = project.write("app.air.json", write_program(sound()))
    with path.open("ab") as file:
        file.truncate(100 * 1_000_000)
    done = project.touba("run", "--air=app.air.json", "--json")
    assert f"more than {AIR_BYTES} bytes" in done.refused("FileUnreadable", 2)
    assert done.document["messages"] == []
