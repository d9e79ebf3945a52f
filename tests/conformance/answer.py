"""The handler of every tool in a conformance case: gives the next answer that the case lists for it."""

import json
import sys
from pathlib import Path

request = json.load(sys.stdin)
counter = Path(".answered.json")
answered = json.loads(counter.read_text("utf-8")) if counter.exists() else {}
ref = request["tool_ref"]
number = answered.get(ref, 0)
counter.write_text(json.dumps({**answered, ref: number + 1}), "utf-8")
answer = json.loads(Path(".answers.json").read_text("utf-8"))[ref][number]
response = {"protocol": "touba-tool-response-v1"}
if "failed" in answer:
    error = {"code": answer["failed"], "message": answer.get("message", ""), "retryable": False}
    response |= {"ok": False, "error": {**error, "effect": answer.get("effect", "none")}}
else:
    response |= {"ok": True, "value": answer["given"], "memory_metadata": answer.get("memories", [])}
json.dump(response, sys.stdout)
