"""Handler of `Normalize`: the first line of a draft is its topic."""

from touba_sdk import define_tool


def run(request, context):
    topic = request.strip().splitlines()[0].strip()
    return {"topic": topic[:80], "words": len(request.split())}


if __name__ == "__main__":
    define_tool(
        tool_ref="tool:quickstart/Normalize",
        input_signature=[{"name": "draft", "type_ref": "Text"}],
        output_type="type:quickstart/Note",
        run=run,
    )
