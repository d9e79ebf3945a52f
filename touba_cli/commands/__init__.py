"""The commands of `touba`, one module each: parse, call, print."""
