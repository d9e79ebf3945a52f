"""Touba's values: what they are, how they are read, checked, compared, computed and written. See `docs/language.md`."""
