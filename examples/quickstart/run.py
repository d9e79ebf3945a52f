"""Runs the quick start: python examples/quickstart/run.py [DRAFT]"""

import os
import sys

from touba_sdk import ToubaEngine

HERE = os.path.dirname(os.path.abspath(__file__))


def keep(draft, limit=50):
    with ToubaEngine(project_root=HERE) as engine:
        return engine.run("program.tb", inputs={"draft": draft, "limit": limit}, manifest="touba.manifest.json")


if __name__ == "__main__":
    run = keep(sys.argv[1] if len(sys.argv) > 1 else "Invoice 42\nto be paid on Friday")
    for message in run.messages:
        print(message.text)
    print(run.status, run.reason, run.result)
