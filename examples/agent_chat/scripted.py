"""What the chat works on: a few notes, two tools, and a scripted model, so that nothing needs a key or the network."""

import anyio

from touba_sdk.agent import RunContext, ToolError, tool
from touba_sdk.models import Role, ToolCallPart
from touba_sdk.testing.models import FunctionModel


def notebook(pace):
    """The tools of a notebook of its own; ``pace`` is how long a search looks at one note, in seconds."""
    notes = {1: "buy tea", 2: "call Ada about the engine", 3: "old: renew the licence", 4: "tea party on Friday"}

    @tool(parallel=True)
    async def search_notes(query: str, ctx: RunContext) -> dict[int, str]:
        "Find the notes that contain a text. The result maps the number of each to its text."
        found = {}
        for looked, (number, text) in enumerate(notes.items(), 1):
            await anyio.sleep(pace)
            if query.lower() in text.lower():
                found[number] = text
            ctx.report_progress(f"{looked} of {len(notes)} notes")
        return found

    @tool
    def delete_note(number: int) -> str:
        "Delete a note for good."
        if number not in notes:
            raise ToolError(f"there is no note {number}")
        return f"deleted: {notes.pop(number)}"

    return [search_notes, delete_note]


def model():
    """A model that understands ``find X``, ``delete N`` and little else."""
    made = iter(range(1, 1_000_000))

    def answer(request):
        last = request.messages[-1]
        if last.role is Role.TOOL:
            return "; ".join(result.text for result in last.tool_results) or "Nothing was found."
        verb, _, rest = last.text.partition(" ")
        if verb == "find" and rest:
            return [ToolCallPart(f"call{next(made)}", "search_notes", f'{{"query": "{rest}"}}')]
        if verb == "delete" and rest.isdigit():
            return [ToolCallPart(f"call{next(made)}", "delete_note", f'{{"number": {rest}}}')]
        return f"I heard: {last.text}. Try `find tea` or `delete 3`."

    return FunctionModel(answer)
