"""The syntax tree: what a module says, with its places and nothing computed.

The parser builds it, later passes read it and keep their results in side tables keyed by node (nodes compare and hash
by identity). `parse_lines` makes declarations and statements, `parse_expr` expressions. All nodes are names of this
package, except those of tests in the language, which few modules meet (`tree.tests`).
"""

from __future__ import annotations

from .declarations import *  # noqa: F403
from .expressions import *  # noqa: F403
from .statements import *  # noqa: F403
from .types import *  # noqa: F403
