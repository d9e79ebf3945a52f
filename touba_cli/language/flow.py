"""Paths through blocks, for messages: where control goes on although something had to be given."""

from __future__ import annotations

from . import tree


def open_path(block: tree.Block) -> tuple[tree.Span, str]:
    """A place where control leaves a block by its end, and why it gets there."""
    if not block.statements:
        return block.span, "this path gives nothing"
    last = block.statements[-1]
    if isinstance(last, tree.If):
        if last.otherwise is None:
            return _first_line(last), "where no branch of this `if` is taken, nothing is given"
        blocks = [*(branch for _, branch in last.branches), last.otherwise]
    elif isinstance(last, tree.When):
        blocks = [*(arm.block for arm in last.arms), *([last.otherwise] if last.otherwise is not None else [])]
    elif isinstance(last, tree.Attempt):
        blocks = [last.block, last.handler]
    elif isinstance(last, (tree.ForEach, tree.Repeat)):
        return _first_line(last), "after this loop nothing is given"
    else:
        return last.span, "after this nothing is given"
    for each in blocks:
        if goes_on(each):
            return open_path(each)
    return last.span, "after this nothing is given"


def damaged(block: tree.Block) -> bool:
    """Whether a line on the paths of a block could not be read, so that nothing is certain about them."""
    if block.damaged:
        return True
    for statement in block.statements:
        blocks: list[tree.Block] = []
        if isinstance(statement, tree.If):
            blocks = [branch for _, branch in statement.branches]
            blocks += [statement.otherwise] if statement.otherwise is not None else []
        elif isinstance(statement, tree.When):
            blocks = [arm.block for arm in statement.arms]
            blocks += [statement.otherwise] if statement.otherwise is not None else []
        elif isinstance(statement, tree.Attempt):
            blocks = [statement.block, statement.handler]
        if any(damaged(each) for each in blocks):
            return True
    return False


def goes_on(block: tree.Block) -> bool:
    """Whether control can leave a block by its end."""
    return all(_goes_on(statement) for statement in block.statements)


def _goes_on(statement: tree.Statement) -> bool:
    if isinstance(statement, (tree.Give, tree.Stop, tree.Fail, tree.Break, tree.Continue)):
        return False
    if isinstance(statement, tree.If):
        return statement.otherwise is None or any(
            goes_on(block) for block in (*(branch for _, branch in statement.branches), statement.otherwise)
        )
    if isinstance(statement, tree.When):
        blocks = [arm.block for arm in statement.arms]
        if statement.otherwise is not None:
            blocks.append(statement.otherwise)
        return any(goes_on(block) for block in blocks)
    if isinstance(statement, tree.Attempt):
        return goes_on(statement.block) or goes_on(statement.handler)
    return True


def _first_line(statement: tree.Statement) -> tree.Span:
    """The part of a statement that is not its blocks."""
    if isinstance(statement, tree.If):
        return tree.Span(statement.span.start, statement.branches[0][0].span.end)
    if isinstance(statement, tree.ForEach):
        return tree.Span(statement.span.start, statement.source.span.end)
    if isinstance(statement, tree.Repeat):
        end = statement.times if statement.condition is None else statement.condition
        return tree.Span(statement.span.start, end.span.end)
    return statement.span
