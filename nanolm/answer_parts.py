"""What an answer uses of a notebook's other cells. Text and syntax only: nothing runs.

A student may put a helper or an import into a cell of its own. Of such cells exactly the statements count that give a
name which the answer uses, directly or through one another: a plot, a print or an experiment beside them has no part
in the answer. The check cell reads the from-scratch rule off this text and grading executes it.

Grading does this in a process with limits, since parsing a student's text may end it: standard library only.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nanolm.one_file import one_file

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `ast.parse` answers text with that is no program, or one nested too deeply to be read."""

TIMING_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
"""Cell magics whose cell is Python all the same."""

STUB = "raise NotImplementedError("
"""How the line begins that a student is to replace."""

_LAZY = "from __future__ import annotations"
"""In a kernel it holds for all cells that are run after it."""

_MAGIC = re.compile(
    r"^(?P<indent>[ \t]*)(?![ \t])(?:%[%A-Za-z_].*|![^=].*|\?+[\w.]+|[\w.]+\?{1,2}|[\w, ]+=[ \t]*[%!].*)$"
)


@dataclass(frozen=True)
class Parts:
    """An answer with what it uses: `before` and `after` are statements of other cells, in their order."""

    before: str
    answer: str
    after: str
    magics: int = 0
    """Lines of the answer that only IPython understands; they stand empty in it."""
    ignored: Sequence[str] = ()
    """What the exercise asks for and the answer gives, and another cell has given or changed as well: to no effect."""

    @property
    def text(self) -> str:
        """The whole, as one file's text."""
        there = [part for part in (self.before, self.answer, self.after) if part.strip()]
        return there[0] if len(there) == 1 else one_file(there)


@dataclass(frozen=True)
class _Statement:
    source: str
    gives: frozenset[str]
    uses: frozenset[str]


def parts(answer: str, others: Sequence[str], given: Sequence[str] = (), entries: Sequence[str] = ()) -> Parts:
    """The answer cell's text with what it uses of the student's other code cells.

    `given` are cells that came with the notebook: of those only the imports that nothing else gives. `entries` are the
    names that the exercise asks for: where the answer cell lacks one, or has its stub still, another cell's counts.
    """
    answer, magics = _python(answer)
    try:
        tree = ast.parse(answer)
        own = _Statement(answer, _given_names(tree), _used_names(answer))
    except UNPARSABLE:
        return Parts("", answer, "", magics)
    statements = [statement for cell in others for statement in _statements(_python(cell)[0])]
    settled = own.gives - _still_stubs(tree, answer)
    elsewhere = frozenset(entries) - settled
    wanted = (own.uses - own.gives - set(dir(builtins))) | elsewhere
    chosen = _closure(wanted, statements, own.gives)
    served = frozenset[str]().union(*(statements[position].gives for position in chosen))
    missing = (
        (wanted | frozenset[str]().union(*(statements[position].uses for position in chosen))) - served - own.gives
    )
    imports = [
        statement
        for cell in given
        for statement in _statements(_python(cell)[0], imports_only=True)
        if statement.gives & missing
    ]
    # A statement that itself uses the answer's names can only follow it; the others stand before it, since a default
    # or a decorator may need them at once.
    late: set[int] = set()
    names = own.gives
    for position in chosen:
        if statements[position].uses & names or statements[position].gives & elsewhere:
            late.add(position)
            names = names | statements[position].gives
    early = [*imports, *(statements[position] for position in chosen if position not in late)]
    lazy = [_LAZY] if any(statement.source == _LAZY for statement in statements) else []
    return Parts(
        "\n".join([*lazy, *(statement.source for statement in early)]),
        answer,
        "\n".join(statements[position].source for position in chosen if position in late),
        magics,
        sorted(frozenset(entries) & settled & frozenset[str]().union(*(statement.gives for statement in statements))),
    )


def _still_stubs(tree: ast.Module, answer: str) -> frozenset[str]:
    """Functions and classes of the answer in which a released `raise NotImplementedError("…")` still stands."""
    lines = answer.split("\n")
    return frozenset(
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and any(line.lstrip().startswith(STUB) for line in lines[node.lineno - 1 : node.end_lineno])
    )


def _closure(wanted: frozenset[str], statements: Sequence[_Statement], own: frozenset[str]) -> list[int]:
    """Positions of the statements that give what is wanted, and what those use in turn."""
    chosen: set[int] = set()
    open_names, seen = set(wanted), set(wanted)
    while open_names:
        found = {
            position
            for position, statement in enumerate(statements)
            if position not in chosen and ("*" in statement.gives or statement.gives & open_names)
        }
        chosen |= found
        new = {name for position in found for name in statements[position].uses} - own
        open_names, seen = new - seen, seen | new
    return sorted(chosen)


def _python(cell: str) -> tuple[str, int]:
    """A cell without the lines that only IPython understands, and how many there were. What parses stays as it is."""
    lines = cell.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%"):
        if not first.startswith(TIMING_MAGICS):
            return "", 1
        lines[lines.index(first)] = ""
        return _python("\n".join(lines))[0], 1
    suspects = {number: match for number, line in enumerate(lines) if (match := _MAGIC.match(line))}
    if not suspects:
        return cell, 0
    try:
        ast.parse(cell)
    except UNPARSABLE:
        for number, match in suspects.items():
            # Indented it may be the only line of its block.
            lines[number] = f"{match['indent']}pass" if match["indent"] else ""
        return "\n".join(lines), len(suspects)
    return cell, 0


def _statements(cell: str, *, imports_only: bool = False) -> Iterator[_Statement]:
    """The statements of a cell that give a name; of a cell that is no Python none, since it could not have run."""
    try:
        body = ast.parse(cell).body
    except UNPARSABLE:
        return
    lines = cell.split("\n")
    for node in body:
        if imports_only and not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        gives = _given_names(ast.Module([node], []))
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            # The name that it gives is nothing that an answer uses.
            if any(alias.name == "annotations" for alias in node.names):
                yield _Statement(_LAZY, frozenset(), frozenset())
            continue
        if not gives:
            continue
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        source = "\n".join(lines[first - 1 : node.end_lineno])
        if node.col_offset or ";" in source:  # `a = 1; b = 2` are two statements of one line
            source = ast.unparse(node)
        try:
            yield _Statement(source, gives, _used_names(source))
        except UNPARSABLE:
            continue


def _given_names(tree: ast.Module) -> frozenset[str]:
    """Names that statements give to the module: by definition, import, assignment, or by changing what a name holds."""
    gives: set[str] = set()
    for node in _module_level(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            gives.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            gives.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            gives.add(node.id)
        elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            gives.update(_root(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            gives.update(_root(node.value.func) if isinstance(node.value.func, ast.Attribute) else ())
    return frozenset(gives - {"__future__"})


def _module_level(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node outside functions, classes, lambdas and comprehensions; those themselves included."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, inner):
            yield from _module_level(node)


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _used_names(text: str) -> frozenset[str]:
    """Names that a text takes from the module or from Python itself, in whatever scope."""
    used: set[str] = set()
    tables = [symtable.symtable(text, "", "exec")]
    for table in tables:  # which grows: a scope's children follow it
        tables += table.get_children()
        at_top = table.get_type() == "module"
        used |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and (at_top or symbol.is_global())
        }
    return frozenset(used)
