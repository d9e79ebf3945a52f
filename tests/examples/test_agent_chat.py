"""The chat example as its user sees it: a process that is typed to while it works."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import anyio
import pytest
import trio.testing

from tests.examples.conftest import load
from tests.examples.places import ROOT

CHAT = ROOT / "examples" / "agent_chat" / "chat.py"


class Terminal:
    """The process, and what it has shown so far."""

    def __init__(self, *options: str):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
        self.process = subprocess.Popen(
            [sys.executable, str(CHAT), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
        )  # fmt: skip
        assert self.process.stdin is not None
        self._keys = self.process.stdin
        self._shown = b""
        self._taken = 0
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while data := os.read(self.process.stdout.fileno(), 4096):
            with self._news:
                self._shown += data
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def wait(self, text: str) -> str:
        """Everything up to a text that is still to come, or has come since the last one."""
        wanted = text.encode()
        with self._news:
            found = self._news.wait_for(lambda: wanted in self._shown[self._taken :], timeout=30)
            rest = self._shown[self._taken :]
            assert found, f"waited for {text!r}, and there was {rest.decode()!r}"
            end = rest.index(wanted) + len(wanted)
            self._taken += end
            return rest[:end].decode()

    def type(self, line: str) -> None:
        self._keys.write(f"{line}\n".encode())
        self._keys.flush()

    def end(self) -> str:
        """Close the input, wait for the end, and give everything that was shown."""
        self._keys.close()
        assert self.process.wait(timeout=30) == 0, self._shown.decode()
        self._reader.join()
        return self._shown.decode()

    def kill(self) -> None:
        if not self._keys.closed:
            self._keys.close()
        self.process.kill()
        self.process.wait()
        self._reader.join()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    found = Terminal("--pace", "0.01")
    yield found
    found.kill()


class Typist:
    """The chat in this process, with a clock that stands still while anybody has something to do."""

    def __init__(self, *steps: tuple[str, str]):
        #: what to wait for, and what to type then
        self.steps = steps
        self.shown = ""
        self.news = anyio.Event()

    def show(self, text: str) -> None:
        self.shown += text
        self.news.set()

    async def lines(self) -> AsyncGenerator[str, None]:
        taken = 0
        for text, line in self.steps:
            while text not in self.shown[taken:]:
                self.news = anyio.Event()
                await self.news.wait()
            taken = self.shown.index(text, taken) + len(text)
            yield line

    def play(self) -> str:
        folder = str(CHAT.parent)
        sys.path.insert(0, folder)
        try:
            chat, scripted = load(CHAT), sys.modules["scripted"]
        finally:
            sys.path.remove(folder)

        async def run() -> None:
            async with aclosing(self.lines()) as lines:
                await chat.Chat(scripted.model(), scripted.notebook(1.0), self.show).talk(lines)

        clock = trio.testing.MockClock(autojump_threshold=0)
        anyio.run(run, backend="trio", backend_options={"clock": clock})
        return self.shown


def in_order(shown: str, *texts: str) -> None:
    place = 0
    for text in texts:
        assert text in shown[place:], f"{text!r} comes too early or not at all in {shown}"
        place = shown.index(text, place) + len(text)


def test_progress_and_steering() -> None:
    shown = Typist(("> ", "find tea"), ("1 of 4 notes", "only parties"), ("I heard", "/quit")).play()
    found = '= {"1":"buy tea","4":"tea party on Friday"}\n'
    in_order(shown, "1 of 4 notes\n", "(heard)\n", "2 of 4 notes\n", "4 of 4 notes\n", found, "I heard: only parties.")


def test_follow_ups_wait_until_the_answer_is_there() -> None:
    shown = Typist(("> ", "find tea"), ("1 of 4", "/later find old"), ("old: renew", "/quit")).play()
    found = '{"1":"buy tea","4":"tea party on Friday"}\n'
    in_order(shown, "(kept for later)\n", "4 of 4 notes\n", found, found, "search_notes", '= {"3":"old: renew')


def test_a_stop_keeps_the_conversation() -> None:
    shown = Typist(("> ", "find ada"), ("1 of 4", "/stop"), ("(stopped)\n> ", "hello"), ("\n> ", "/quit")).play()
    in_order(shown, "1 of 4 notes\n", "(stopped)\n", "I heard: hello.")
    assert "2 of 4" not in shown


def test_progress_in_a_real_terminal(terminal: Terminal) -> None:
    terminal.wait("/quit\n> ")
    terminal.type("find tea")
    terminal.wait("4 of 4 notes\n")
    terminal.wait('= {"1":"buy tea","4":"tea party on Friday"}\n')
    terminal.wait("> ")
    terminal.end()


def test_deleting_is_asked_about(terminal: Terminal) -> None:
    terminal.wait("> ")
    terminal.type("delete 3")
    terminal.wait('delete_note {"number": 3}: allow? [y/n] ')
    terminal.type("no, keep it")
    terminal.wait("failed: the user did not allow it: no, keep it\n")
    terminal.wait("> ")
    terminal.type("delete 3")
    terminal.wait("allow? [y/n] ")
    terminal.type("y")
    terminal.wait("= deleted: old: renew the licence\n")
    terminal.wait("> ")
    terminal.type("delete 3")
    terminal.wait("allow? [y/n] ")
    terminal.type("y")
    terminal.wait("failed: there is no note 3\n")
    terminal.type("/quit")
    assert terminal.process.wait(timeout=30) == 0


def test_the_end_of_input_ends_it_when_the_answer_is_there(terminal: Terminal) -> None:
    terminal.type("delete 1")
    shown = terminal.end()
    assert "nobody is there" in shown
    assert "deleted:" not in shown


def test_an_unknown_model_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, str(CHAT), "--model", "nonsense"],
        capture_output=True, timeout=60, encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "openai:gpt-5-mini" in done.stderr
