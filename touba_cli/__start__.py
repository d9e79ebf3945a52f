"""Where every `touba` starts: ``python -I -S …/touba_cli/__start__.py run …`` of the engine, and the command `touba`.

The folder that holds ``touba_cli`` goes to the *end* of the module path, so nothing that is installed beside it can
take the place of a standard module.
"""

# Before anything else: from here on a signal waits until the command can take it (`runtime/interrupts.py`).
import _signal  # type: ignore[import-not-found]

_signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGINT, _signal.SIGTERM))

import gc  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402

# A run makes few cycles and is over soon; the collector would only look at the modules again and again while they load.
gc.disable()
if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from touba_cli.__main__ import main  # noqa: E402

if __name__ == "__main__":
    main()
