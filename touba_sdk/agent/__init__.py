"""The in-process agent loop: a model that calls tools, in turns, until it is done."""
