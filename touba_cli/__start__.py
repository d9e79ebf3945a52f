"""The file that the engine starts: ``python -I -S …/touba_cli/__start__.py run …``.

The folder that holds ``touba_cli`` goes to the *end* of the module path, so nothing that is installed beside it can
take the place of a standard module.
"""

import gc
import os
import sys

# A run makes few cycles and is over soon; the collector would only look at the modules again and again while they load.
gc.disable()
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from touba_cli.__main__ import main  # noqa: E402

main()
