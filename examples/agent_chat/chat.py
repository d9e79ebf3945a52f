"""A chat with an agent, in the terminal: python examples/agent_chat/chat.py [--model openai:gpt-5-mini]

Type while the agent works and it hears you before it goes on; it asks before it deletes anything.
"""

import argparse
import math
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
from touba_sdk.models import ModelError, Role, TextDelta

HELP = "find TEXT · delete N · while it works: any line steers it, /later LINE waits, /stop stops it · /quit"


class Chat:
    """One conversation. A line that is typed means what the moment makes of it: a question, an answer, or a hint."""

    def __init__(self, model, tools, lines, show):
        self.session = Session()
        self.agent = Agent(
            model,
            name="chat",
            system="You keep the user's notes. Be brief.",
            tools=tools,
            before_tool=self.ask_first,
        )
        self.lines = lines
        self.show = show
        self.working = None  # the cancel scope of the run that goes on
        self.answers = None  # where the answer to an open question goes

    async def talk(self):
        """Take lines until there are no more."""
        send, questions = anyio.create_memory_object_stream(math.inf)
        async with anyio.create_task_group() as group:
            group.start_soon(self.work, questions)
            async for line in self.lines:
                if line == "/quit":
                    break
                await self.heard(line, send)
            send.close()
            if line_is_quit := self.working is not None and line == "/quit":
                self.working.cancel()
            del line_is_quit

    async def heard(self, line, questions):
        if self.answers is not None:
            self.answers.send_nowait(line)
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
