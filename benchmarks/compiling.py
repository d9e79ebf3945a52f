"""What compiling and reading a program costs, and that both grow with its size and not faster."""

from __future__ import annotations

import gc
from functools import partial

from measure import Row, interleaved

from touba_cli.air.program import read_program, write_program
from touba_cli.language.compiler import compile_program

#: functions of one module; a file may have 1 MiB
_IN_A_MODULE = 1_500

FUNCTION = """
function F{0}
    takes a as Int, b as Int
    gives Int
    do
        let sum = a + b * {0}
        if sum > 100
            give sum - 1
        give sum
"""


class Files:
    """Sources in memory: a program of so many functions."""

    def __init__(self, functions: int):
        self.files: dict[str, bytes] = {}
        imports, uses = [], []
        for number, first in enumerate(range(0, functions, _IN_A_MODULE)):
            text = f"module part{number}\n" + "".join(
                FUNCTION.format(n) for n in range(first, min(first + _IN_A_MODULE, functions))
            )
            self.files[f"part{number}.tb"] = text.encode()
            imports.append(f"import part{number}\n")
            uses.append(f"        set total = total + part{number}.F{first}(a: 1, b: total)\n")
        main = "module main\n" + "".join(imports) + "\nstrategy Run\n    gives Int\n    do\n        var total = 0\n"
        self.files["main.tb"] = (main + "".join(uses) + "        give total\n").encode()
        self.lines = sum(data.count(b"\n") for data in self.files.values())

    def find(self, module: str) -> list[str]:
        return [path for path in self.places(module) if path in self.files]

    def places(self, module: str) -> list[str]:
        return [module.replace(".", "/") + ".tb"]

    def near(self, module: str) -> list[str]:
        return []

    def read(self, path: str) -> bytes:
        return self.files[path]


def compiler() -> list[Row]:
    small, large = Files(110), Files(11_100)
    found = interleaved(
        {
            "small": lambda: compile_program(small, "main.tb"),
            "large": lambda: compile_program(large, "main.tb"),
        },
        3,
    )
    growth = (found["large"] / large.lines) / (found["small"] / small.lines)
    return [
        Row(f"compile: time a line, {large.lines:,} over {small.lines:,} lines", growth, "x", 1.3),
        Row("compile: a line", found["large"] / large.lines * 1e6, "µs"),
    ]


def reading() -> list[Row]:
    documents = {}
    for name, functions in (("small", 110), ("large", 2_200)):
        air = compile_program(Files(functions), "main.tb").air
        assert air is not None
        documents[name] = write_program(air)
    gc.disable()  # as the runtime has it until a program runs
    found = interleaved({name: partial(read_program, data) for name, data in documents.items()}, 5)
    gc.enable()
    growth = (found["large"] / len(documents["large"])) / (found["small"] / len(documents["small"]))
    return [Row("read and verify AIR: time a byte, 20 times as large", growth, "x", 1.3)]
