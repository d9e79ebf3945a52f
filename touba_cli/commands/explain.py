"""`touba explain CODE`: what a code means, with a wrong and a right program for those of the compiler."""

from __future__ import annotations

from ..errors import CODES, WARNINGS, ToubaFailure
from ..language import diagnostics
from ..language.pages import read_page
from ..options import nearest
from ..project.files import shown
from .arguments import parse
from .findings import FINDINGS
from .tell import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXPLAIN_PROTOCOL = "touba-explain-v1"


def command(words: list[str]) -> int:
    """Run the command and print its document or text; gives the exit code."""
    document: dict[str, Any] = {
        "protocol": EXPLAIN_PROTOCOL, "code": None, "kind": None, "title": None, "why": None, "hint": None,
        "phase": None, "catchable": None, "wrong": [], "right": [], "error": None,
    }  # fmt: skip
    return tell(words, document, lambda: _explain(_read_code(words), document))


def _read_code(words: list[str]) -> str:
    """The one word that is no option. Raises ToubaFailure (UsageError, OptionUnknown)."""
    parse("explain", [word for word in words if word.startswith("-")], lambda: b"")
    codes = [word for word in words if not word.startswith("-")]
    if len(codes) != 1:
        what = "no code is given" if not codes else "`touba explain` takes one code, not several"
        raise ToubaFailure("UsageError", what, hint="Write it like `touba explain TB3003`.")
    return codes[0]


def _explain(code: str, document: dict[str, Any]) -> str:
    """Fill in the document and give the text. Raises ToubaFailure (UsageError) for a code that does not exist.

    The letters of the code may be small or capital.
    """
    known = (*diagnostics.CODES, *CODES, *WARNINGS, *FINDINGS)
    code = next((each for each in known if each.lower() == code.lower()), code)
    if code in diagnostics.CODES:
        page = read_page(code)
        document.update(code=code, kind="diagnostic", title=page.title, why=page.why, phase="compile", catchable=False)
        document["wrong"] = [{"file": name, "text": text} for name, text in page.wrong.items()]
        document["right"] = [{"file": name, "text": text} for name, text in page.right.items()]
        return page.as_text()
    if code in CODES:
        row = CODES[code]
        document.update(code=code, kind="error", title=row.sentence, hint=row.hint)
        document.update(phase=row.phase, catchable=row.catchable)
        seen = "; an `attempt` sees it" if row.catchable else ""
        return f"{code}: {row.sentence}\n\nWhat to do: {row.hint}\n\nIt belongs to the phase `{row.phase}`{seen}."
    if code in WARNINGS:
        title, hint = WARNINGS[code]
        document.update(code=code, kind="warning", title=title, hint=hint)
        return f"{code}: {title}\n\nWhat to do: {hint}\n\nIt is a warning of a run, which goes on."
    if code in FINDINGS:
        title, hint = FINDINGS[code]
        document.update(code=code, kind="finding", title=title, hint=hint)
        return f"{code}: {title}\n\nWhat to do: {hint}\n\n`touba doctor` finds it."
    near = nearest(code, known)
    hint = f"Did you mean `{near}`?" if near else "docs/diagnostics.md and docs/errors.md list the codes."
    raise ToubaFailure("UsageError", f"there is no code `{shown(code[:60])}`", hint=hint)
