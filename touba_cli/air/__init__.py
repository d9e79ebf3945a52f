"""The compiled program: references, types, operations, digest and verifier. Read `docs/air.md` first."""
