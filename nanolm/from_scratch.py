"""The from-scratch rule, read off the source: which forbidden names a file uses. Nothing is executed.

A name counts where it is *used as code*: comments, docstrings and strings may mention anything. What names stand for
is read by `nanolm.names`: aliases are followed, and so are look-ups by a name that the source shows. An operator's name
that is looked up on something else (`block.layer_norm`) is the student's own, unless the file hands torch's modules
about as values and makes no attribute of that name itself.

Names that are only put together as the code runs cannot be read; in grading the worker's `grader.operators` blocks what
they lead to. That is why nothing here guesses: honest code that merely looks odd has no finding.
"""

from __future__ import annotations

import ast
import symtable
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from nanolm.names import DICT_GETTERS, GETTERS, ITEM, Names, Scope, made_by

NORM_FUNCTIONS = ("rms_norm", "layer_norm", "native_layer_norm", "fused_rms_norm", "_fused_rms_norm")
NORM_OPERATORS = (*NORM_FUNCTIONS, "RMSNorm", "LayerNorm")

FORBIDDEN_OPERATORS = {"rmsnorm": NORM_OPERATORS, "qk_norm": NORM_OPERATORS}
"""For each exercise, the last parts of torch names that are its answer."""

WITHOUT_TORCH = frozenset({"numpy_bridge"})
"""Exercises in which nothing of torch may be named or imported."""

TORCHS = frozenset({"torch", "functorch"})
"""Its packages."""

FORBIDDEN_BUILTINS = frozenset({"exec", "eval", "compile", "__import__"})
FORBIDDEN_MODULES = frozenset({"importlib", "gc", "ctypes", "inspect"})
FORBIDDEN_PATHS = ("code", "codeop", "runpy", "torch.jit.CompilationUnit")
"""`exec` by other names."""

FRAME_ATTRIBUTES = frozenset(
    {"f_back", "f_locals", "f_globals", "f_builtins", "tb_frame", "gi_frame", "cr_frame", "ag_frame", "__globals__"}
)
FRAME_FUNCTIONS = frozenset({"_getframe", "_current_frames"})
LOOK_UPS = frozenset({"operator.attrgetter", "operator.methodcaller", "pkgutil.resolve_name", "pydoc.locate"})
HOLDERS = frozenset({"torch", "torch.nn", "torch.nn.functional", "torch.nn.modules", "torch.nn.modules.normalization"})
"""Modules that hold the operators."""

INSPECTIONS = frozenset(
    {"getattr", "hasattr", "vars", "dir", "print", "repr", "str", "type", "id", "help", "isinstance"}
)
PACKAGES = ("exercises", "solutions")
SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})
DICT_SETTERS = frozenset({"update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__"})


@dataclass(frozen=True)
class Finding:
    """A forbidden name in a file: the line, the name as it was written, and why it is forbidden."""

    line: int
    name: str
    rule: str  # "answer", "torch" or "way-round"


def check_source(text: str, exercise: str) -> list[Finding]:
    """Forbidden names that `text` uses in an answer to `exercise`; a text that does not parse has none here."""
    try:
        tree = _parsed(text)
        builtins = _builtins_used(symtable.symtable(text, "", "exec"), set(made_by(tree.body)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    try:
        return sorted(_Judge(tree, exercise, builtins).findings(), key=lambda finding: finding.line)
    except RecursionError:
        return [Finding(1, "an expression nested too deeply to be read", "way-round")]


@lru_cache(maxsize=1)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def imported_files(text: str) -> list[str]:
    """Files of its own package that a text may import, in order: `budget.py` for `from .budget import ffn_params`."""
    try:
        nodes = list(ast.walk(_parsed(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    paths: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            paths += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = ".".join(filter(None, [PACKAGES[0] if node.level else "", node.module]))
            paths += [f"{module}.{name.name}" for name in node.names]
    parts = [path.split(".") for path in paths]
    return list(dict.fromkeys(f"{part[1]}.py" for part in parts if part[0] in PACKAGES and len(part) > 1))


def _builtins_used(top: symtable.SymbolTable, made: set[str]) -> set[str]:
    """The forbidden builtins that some scope of the file refers to as Python's own."""
    used: set[str] = set()
    scopes = [top]
    for scope in scopes:  # which grows: a scope's children follow it
        scopes += scope.get_children()
        shared = {name for name in FORBIDDEN_BUILTINS - made if name in scope.get_identifiers()}
        symbols = [scope.lookup(name) for name in shared]
        falls_through = scope.get_type() != "function"
        used |= {s.get_name() for s in symbols if s.is_referenced() and (falls_through or s.is_global())}
    return used


class _Judge:
    """Reports the forbidden names of one file."""

    def __init__(self, tree: ast.Module, exercise: str, builtins: set[str]) -> None:
        self.names = Names(tree)
        self.builtins = builtins
        self.operators = frozenset(FORBIDDEN_OPERATORS.get(exercise, ()))
        self.without_torch = exercise in WITHOUT_TORCH

    def findings(self) -> Iterator[Finding]:
        """Every forbidden name, once a line."""
        seen: set[tuple[int, str]] = set()
        for node, scope in self.names.nodes:
            for name, rule in self._judge(node, scope):
                line = getattr(node, "lineno", 1)
                if (line, name) not in seen:
                    seen.add((line, name))
                    yield Finding(line, name, rule)

    def _judge(self, node: ast.AST, scope: Scope) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0):
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for name in node.names:
                yield from self._judge_path(prefix + name.name, prefix + name.name)
        elif isinstance(node, ast.Attribute | ast.Call | ast.Subscript | ast.Name):
            paths = self.names.paths(node, scope)
            if not isinstance(node, ast.Name) or (self.names.stars and isinstance(node.ctx, ast.Load)):
                for path in sorted(paths):
                    yield from self._judge_path(path, _written(node))
            yield from self._judge_look_up(node, scope, known=bool(paths))
            yield from self._judge_store(node, scope)
        elif isinstance(node, ast.MatchClass) and self._maybe_torchs(set(node.kwd_attrs)):
            yield _written(node), "answer"

    def _judge_path(self, path: str, written: str) -> Iterator[tuple[str, str]]:
        parts = path.split(".")
        if self.without_torch and not TORCHS.isdisjoint(parts):
            yield written, "torch"
        if "torch" in parts:  # also `torch.nn.functional.torch` and the torch that another module has imported
            last = len(parts) - 1 - parts[::-1].index("torch")
            if parts[-1] in self.operators:
                yield written, "answer"
            first = "".join(parts[last + 1 : last + 2])
            if (first.startswith("_") and not first.startswith("__")) or first in ("ops", "library"):
                yield written, "way-round"
        builtin = "builtins" in parts[:-1] and parts[-1] in FORBIDDEN_BUILTINS
        other_name = f"{path}.".startswith(tuple(f"{forbidden}." for forbidden in FORBIDDEN_PATHS))
        frame = parts[-1] in FRAME_FUNCTIONS and "sys" in parts
        if builtin or other_name or frame or not FORBIDDEN_MODULES.isdisjoint(parts):
            yield written, "way-round"

    def _judge_look_up(self, node: ast.expr, scope: Scope, *, known: bool) -> Iterator[tuple[str, str]]:
        step = self.names.step(node, scope)
        if step is not None:
            held = self.names.step(step[0], scope)
            in_dict = held is not None and "__dict__" in held[1]
            asked = {name.lstrip(ITEM) if in_dict else name for name in step[1]}
            yield from ((name, "way-round") for name in sorted(asked & FRAME_ATTRIBUTES))
            if not known and self._maybe_torchs(asked):
                yield _written(node), "answer"
        elif isinstance(node, ast.Name) and node.id in self.builtins and isinstance(node.ctx, ast.Load):
            yield node.id, "way-round"
        elif isinstance(node, ast.Call) and node.args and LOOK_UPS & self.names.paths(node.func, scope):
            asked = {name.replace(":", ".").rpartition(".")[2] for name in self.names.strings(node.args[0], scope)}
            if asked & self.operators:
                yield _written(node), "answer"
            named = self.names.strings(node.args[0], scope) if self.without_torch else set[str]()
            if any(not TORCHS.isdisjoint(name.replace(":", ".").split(".")) for name in named):
                yield _written(node), "torch"

    def _maybe_torchs(self, asked: set[str]) -> bool:
        """Whether names that are asked of something unknown may be asked of torch."""
        operators = asked & self.operators
        return bool(operators) and self.hands_torch_about and not operators <= self.own_attributes

    def _judge_store(self, node: ast.expr, scope: Scope) -> Iterator[tuple[str, str]]:
        """Stores into torch or numpy: `F.silu = …`, `vars(F)["silu"] = …`, `setattr(F, …)`, `F.__dict__.update(…)`."""
        held: ast.expr | None = None
        called = self.names.called(node, scope) if isinstance(node, ast.Call) else set()
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            held = node.value
        elif isinstance(node, ast.Call) and called & (SETTERS | DICT_SETTERS):
            held = _changed(node)
        in_dict = isinstance(node, ast.Subscript) or bool(called & DICT_SETTERS)
        for target in sorted(self.names.paths(held, scope)) if held is not None else ():
            theirs = target.partition(".")[0] in ("torch", "numpy")
            switch = f"{target}.".rpartition("torch.")[2].startswith("backends.")  # `cudnn.deterministic = True`
            if theirs and not switch and (target.endswith("__dict__") or not in_dict):
                yield f"{_written(node)} (a store into {target})", "way-round"

    @cached_property
    def own_attributes(self) -> set[str]:
        """Attributes that the file makes: it stores them, a class defines them, a call is given them or their names."""
        made: set[str] = set()
        for node, scope in self.names.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                made.add(node.attr)
            elif isinstance(node, ast.keyword) and node.arg:
                made.add(node.arg)
            elif isinstance(node, ast.ClassDef):
                made.update(made_by(node.body))
            elif isinstance(node, ast.Call) and not self.names.called(node, scope) & (GETTERS | DICT_GETTERS):
                for argument in node.args:
                    parts = getattr(argument, "elts", None) or getattr(argument, "keys", None) or [argument]
                    for part in filter(None, parts):
                        made.update(" ".join(self.names.strings(part, scope)).replace(",", " ").split())
        return made

    @cached_property
    def hands_torch_about(self) -> bool:
        """Whether a module that holds operators is used as a value: an argument, an element, a result, an attribute."""
        parents = {child: node for node, _ in self.names.nodes for child in ast.iter_child_nodes(node)}
        for node, scope in self.names.nodes:
            if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or not isinstance(node.ctx, ast.Load):
                continue
            parent = parents[node]
            looked_at = isinstance(parent, ast.Attribute) or not HOLDERS & self.names.paths(node, scope)
            if not looked_at and not self._merely_named(node, parent, parents, scope):
                return True
        return False

    def _merely_named(self, node: ast.AST, parent: ast.AST, parents: dict[ast.AST, ast.AST], scope: Scope) -> bool:
        """Whether a module stands where it gets another name, which is followed, or is only looked at."""
        while isinstance(parent, ast.IfExp | ast.BoolOp | ast.NamedExpr | ast.Tuple) and parent in parents:
            parent = parents[parent]
        if isinstance(parent, ast.Assign | ast.AnnAssign):
            targets = [parent.target] if isinstance(parent, ast.AnnAssign) else parent.targets
            names = [name for target in targets for name in getattr(target, "elts", [target])]
            return scope.kind != "class" and all(isinstance(name, ast.Name) for name in names)
        if isinstance(parent, ast.Call) and node is not parent.func:
            return bool(self.names.called(parent, scope) & INSPECTIONS)
        return isinstance(parent, ast.Expr | ast.Compare | ast.FormattedValue | ast.Attribute | ast.If | ast.Assert)


def _changed(node: ast.Call) -> ast.expr | None:
    """What a call of a setter changes: the first argument of a function or of a class's own method, else its owner."""
    if not isinstance(node.func, ast.Attribute):
        return node.args[0] if node.args else None
    own = {"__setattr__": 2, "__setitem__": 2, "__delattr__": 1, "__delitem__": 1}.get(node.func.attr)
    spread = any(isinstance(argument, ast.Starred) for argument in node.args)
    if own is not None and node.args and (spread or len(node.args) > own):
        return node.args[0]
    return node.args[0] if node.func.attr in ("setattr", "delattr") and node.args else node.func.value


def _written(node: ast.expr | ast.pattern) -> str:
    return textwrap.shorten(ast.unparse(node), 80, placeholder="…")
