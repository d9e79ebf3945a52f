"""The `touba` command, the compiler and the runtime that it starts."""

__version__ = "0.1.0"
