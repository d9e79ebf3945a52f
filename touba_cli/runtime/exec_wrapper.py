"""How a foreign command starts on Linux: ``python -I -S exec_wrapper.py RUNTIME_PID COMMAND…``.

A command that knows nothing of the life line would outlive a runtime that is killed by force. This script asks the
kernel to kill its process when the runtime ends, and then becomes the command. The kernel means the thread that started
the process; in the runtime that thread waits for the call.

Descriptor 4 is a pipe to the runtime. It closes when the command starts; where that fails, it says the error's number.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from _signal import SIG_DFL, SIGKILL, SIGPIPE, SIGXFSZ, signal  # type: ignore[import-not-found]

STATUS = 4
#: exit codes: the runtime is gone; the command could not be started
ABANDONED = 75
NOT_STARTED = 127

_SET_PARENT_DEATH_SIGNAL = 1
_BUSY_TRIES = 10
_BUSY_PAUSE = 0.05


def main(runtime: int, command: list[bytes]) -> None:
    """Become the command. Returns only where that is not possible."""
    os.set_inheritable(STATUS, False)
    _die_with_parent()
    if os.getppid() != runtime:
        os._exit(ABANDONED)  # it ended before the kernel was told
    for number in (SIGPIPE, SIGXFSZ):
        signal(number, SIG_DFL)  # Python ignores them, and what is ignored stays so in a command
    environment = _environment()
    tries = 0
    while True:
        try:
            os.execve(command[0], command, environment)
        except OSError as fault:
            tries += 1
            if fault.errno == errno.ETXTBSY and tries < _BUSY_TRIES:
                time.sleep(_BUSY_PAUSE)  # it is just being written
                continue
            os.write(STATUS, str(fault.errno).encode("ascii"))
            return


def _die_with_parent() -> None:
    try:
        from ctypes import CDLL, c_int, c_ulong

        CDLL(None).prctl(c_int(_SET_PARENT_DEATH_SIGNAL), c_ulong(SIGKILL), *(c_ulong(0),) * 3)
    except (ImportError, OSError, AttributeError):
        return  # no ctypes, or no such call: the command starts all the same, as on other systems


def _environment() -> dict[bytes, bytes]:
    """The environment as the runtime gave it. Python itself may have added a variable to `os.environ`."""
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return dict(os.environb)
    pairs = (entry.partition(b"=") for entry in entries if entry)
    return {name: value for name, _, value in pairs}


if __name__ == "__main__":
    main(int(sys.argv[1]), [os.fsencode(word) for word in sys.argv[2:]])
    os._exit(NOT_STARTED)
