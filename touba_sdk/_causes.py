"""Exceptions of this process from which runs fail: what tests put in the place of handlers works here.

A run knows of such an exception only what may be public. The engine that the run was started with finds it here, and
chains it to the error that it raises. Nothing of it leaves the process.
"""

from __future__ import annotations

#: id of the run, reference of the tool → the latest exception
_known: dict[tuple[str, str], BaseException] = {}


def note(run_id: str | None, ref: str, fault: BaseException | None) -> None:
    """Remember from what a call of a tool failed; None where it did not."""
    if run_id is not None and fault is not None:
        _known[run_id, ref] = fault
    elif run_id is not None:
        _known.pop((run_id, ref), None)


def find(run_id: str | None, ref: str | None) -> BaseException | None:
    """From what the last call of a tool in a run failed; None where it did not work in this process."""
    return None if run_id is None or ref is None else _known.get((run_id, ref))


def forget(ref: str) -> None:
    """Drop what is known of a tool."""
    for key in [key for key in _known if key[1] == ref]:
        _known.pop(key, None)
