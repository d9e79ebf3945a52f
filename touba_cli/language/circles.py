"""Circles in a graph of names: imports, aliases, types."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence


def circles(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """One shortest circle for each set of names that reach each other, from its smallest name.

    Names that no entry of the graph has lead nowhere. Nothing here recurses, however long a chain is.

    >>> circles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})
    [['a', 'b', 'c']]
    """
    found = []
    for group in _groups(graph):
        start = min(group)
        circle = _shortest(graph, start, group)
        if circle is not None:
            found.append(circle)
    return sorted(found)


def _groups(graph: Mapping[str, Sequence[str]]) -> list[set[str]]:
    """The strongly connected components (Tarjan, with a stack of its own)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    groups: list[set[str]] = []
    for root in graph:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(graph[root]))]
        while work:
            name, following = work[-1]
            for to in following:
                if to not in graph:
                    continue
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(graph[to])))
                    break
                if to in on_stack:
                    low[name] = min(low[name], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    group = set(stack[stack.index(name) :])
                    del stack[len(stack) - len(group) :]
                    on_stack -= group
                    groups.append(group)
    return groups


def _shortest(graph: Mapping[str, Sequence[str]], start: str, group: set[str]) -> list[str] | None:
    before: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for to in graph[name]:
            if to == start:
                circle = [name]
                while circle[-1] != start:
                    circle.append(before[circle[-1]])
                return circle[::-1]
            if to in group and to not in before:
                before[to] = name
                waiting.append(to)
    return None
