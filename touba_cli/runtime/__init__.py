"""Runs compiled programs: the machine computes, the driver around it owns processes, pipes and clocks."""
