"""A chat with an agent, in the terminal: python examples/agent_chat/chat.py [--model openai:gpt-5-mini]

Type while the agent works, and it hears you before its next step. It asks before it deletes anything.
"""

import argparse
import math
import os
import sys
import threading

import anyio
from anyio.from_thread import BlockingPortal
from scripted import model as scripted_model
from scripted import notebook

from touba_sdk.agent import (
    Agent,
    Allow,
    Deny,
    MessageCommitted,
    ModelStreamEvent,
    Session,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
)
from touba_sdk.models import ModelError, Role, TextDelta, adapters

HELP = "find TEXT · delete N · while it works: any line steers it, /later LINE waits its turn, /stop · /quit"
VENDORS = {
    "openai": "OpenAIModel",
    "anthropic": "AnthropicModel",
    "gemini": "GeminiModel",
    "ollama": "OllamaModel",
}


class Chat:
    """One conversation. What a line means depends on the moment: a question, an answer, or a hint for the agent."""

    def __init__(self, model, tools, show):
        self.session = Session()
        self.agent = Agent(
            model,
            name="chat",
            system="You keep the user's notes. Be brief.",
            tools=tools,
            before_tool=self.ask_first,
        )
        self.show = show
        self.working = None  # the cancel scope of the run that goes on
        self.reply = None  # takes the answer to an open question
        self.alone = False  # whether nobody is there to answer

    async def talk(self, lines):
        """Take lines until there are no more, or until /quit."""
        self.show(f"{HELP}\n> ")
        send, questions = anyio.create_memory_object_stream(math.inf)
        async with questions, send, anyio.create_task_group() as group:
            group.start_soon(self.work, questions)
            async for line in lines:
                if line == "/quit":
                    group.cancel_scope.cancel()
                    break
                self.hear(line, send)
            self.alone = True
            if self.reply is not None:
                self.reply.send_nowait("nobody is there")
            send.close()

    def hear(self, line, questions):
        if self.reply is not None:
            self.reply.send_nowait(line)
        elif self.working is None:
            self.working = anyio.CancelScope()
            questions.send_nowait(line)
        elif line == "/stop":
            self.working.cancel()
        elif line.startswith("/later "):
            self.session.follow_up(line.removeprefix("/later "))
            self.show("  (kept for later)\n")
        else:
            self.session.steer(line)
            self.show("  (heard)\n")

    async def work(self, questions):
        """Answer one question after the other."""
        async for question in questions:
            with self.working as scope:
                await self.answer(question)
                while self.session.has_queued:  # typed in the very moment in which the run ended
                    await self.answer()
            if scope.cancelled_caught:
                self.session.clear_steering()
                self.session.clear_follow_ups()
                self.show("  (stopped)\n")
            self.working = None
            self.show("> ")

    async def answer(self, *question):
        try:
            async with self.agent.stream(self.session, *question) as stream:
                async for event in stream:
                    self.tell(event.payload)
        except ModelError as error:
            self.show(f"  ! {error}\n")

    def tell(self, payload):
        match payload:
            case ModelStreamEvent(event=TextDelta(text=text)):
                self.show(text)
            case MessageCommitted(message=message) if message.role is Role.ASSISTANT and message.text:
                self.show("\n")
            case ToolStarted(call=call):
                self.show(f"  {call.name} {call.args}\n")
            case ToolUpdated(update=update):
                self.show(f"    {update[0].text}\n")
            case ToolCompleted(result=result):
                self.show(f"  {'failed: ' if result.is_error else '= '}{result.text}\n")

    async def ask_first(self, info):
        """The gate: searching is free, deleting needs a yes."""
        if info.call.name != "delete_note":
            return Allow()
        if self.alone:
            return Deny("nobody is there to allow it")
        self.show(f"  {info.call.name} {info.call.args}: allow? [y/n] ")
        self.reply, replies = anyio.create_memory_object_stream(math.inf)
        try:
            said = await replies.receive()
        finally:
            self.reply.close()
            replies.close()
            self.reply = None
        return Allow() if said.strip().lower() in ("y", "yes") else Deny(f"the user did not allow it: {said}")


def read_lines(portal, send):
    """Read the terminal in a thread. Not through `sys.stdin`, whose lock a thread must not hold when Python ends."""
    rest = b""
    try:
        while data := os.read(sys.stdin.fileno(), 65_536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                portal.call(send.send_nowait, line.decode("utf-8", "replace"))
        portal.call(send.close)
    except RuntimeError:
        return  # the chat is over, so nobody wants the line


def show(text):
    sys.stdout.write(text)
    sys.stdout.flush()


async def main(model, tools):
    send, lines = anyio.create_memory_object_stream(math.inf)
    async with lines, send, BlockingPortal() as portal:
        threading.Thread(target=read_lines, args=(portal, send), daemon=True).start()
        await Chat(model, tools, show).talk(lines)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description="A chat with an agent that keeps notes.")
    options.add_argument(
        "--model", default="scripted", help="scripted, or VENDOR:NAME with one of " + ", ".join(VENDORS)
    )
    options.add_argument("--pace", type=float, default=0.4, help="how long a search looks at one note, in seconds")
    given = options.parse_args()
    vendor, _, name = given.model.partition(":")
    if vendor == "scripted":
        model = scripted_model()
    elif vendor in VENDORS and name:
        model = getattr(adapters, VENDORS[vendor])(name)
    else:
        options.error("--model is `scripted` or VENDOR:NAME, such as openai:gpt-5-mini")
    try:
        anyio.run(main, model, notebook(given.pace))
    except KeyboardInterrupt:
        sys.exit(130)
