"""The from-scratch rule, read off the source: which forbidden names a file uses. Nothing is executed.

A name counts where it is *used as code*: comments, docstrings and strings may mention anything. Aliases are followed
(`import torch.nn.functional as F`, `from torch import nn as N`, `norm = F.layer_norm`), and so are look-ups by a name
that the source shows (`getattr`, `vars(F)[…]`). An operator that is taken from something else (an argument, a result)
counts unless the file itself makes an attribute of that name: a student's own `layer_norm` is theirs to use.
"""

from __future__ import annotations

import ast
import symtable
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

NORM_FUNCTIONS = ("rms_norm", "layer_norm", "native_layer_norm", "fused_rms_norm", "_fused_rms_norm")
NORM_OPERATORS = (*NORM_FUNCTIONS, "RMSNorm", "LayerNorm")

FORBIDDEN_OPERATORS = {"rmsnorm": NORM_OPERATORS, "qk_norm": NORM_OPERATORS}
"""For each exercise, the last parts of torch names that are its answer."""

FORBIDDEN_BUILTINS = frozenset({"exec", "eval", "compile", "__import__"})
FORBIDDEN_MODULES = frozenset({"importlib", "gc", "ctypes", "inspect"})
FRAME_ATTRIBUTES = frozenset(
    {"f_back", "f_locals", "f_globals", "f_builtins", "tb_frame", "gi_frame", "cr_frame", "ag_frame", "__globals__"}
)
FRAME_FUNCTIONS = frozenset({"_getframe", "_current_frames"})
LOOK_UPS = frozenset({"operator.attrgetter", "operator.methodcaller", "pkgutil.resolve_name", "pydoc.locate"})
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})
DICT_SETTERS = frozenset({"update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__"})


@dataclass(frozen=True)
class Finding:
    """A forbidden name in a file: the line, the name as it was written, and whether it is an answer or a way round."""

    line: int
    name: str
    rule: str  # "answer" or "way-round"


def check_source(text: str, exercise: str) -> list[Finding]:
    """Forbidden names that `text` uses in an answer to `exercise`; a text that does not parse has none here."""
    try:
        tree = ast.parse(text)
        builtins = _builtins_used(symtable.symtable(text, "", "exec"), set(_made_by(tree.body)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    try:
        return sorted(_Reader(tree, exercise, builtins).findings(), key=lambda finding: finding.line)
    except RecursionError:
        return [Finding(1, "an expression nested too deeply to be read", "way-round")]


def _made_by(body: list[ast.stmt]) -> Iterator[str]:
    """Names that statements bind whatever happens; `eval = eval` makes nothing new, nor does what `if` may skip."""
    for item in body:
        if isinstance(item, ast.Import | ast.ImportFrom):
            yield from (name.asname or name.name for name in item.names)
        elif not isinstance(item, ast.Delete) and not isinstance(getattr(item, "value", None), ast.Name):
            targets = [item.target] if isinstance(item, ast.AnnAssign) else getattr(item, "targets", [item])
            yield from (getattr(target, "id", getattr(target, "name", "")) for target in targets)


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


class _Reader:
    """Resolves names of one file to dotted paths of imported modules and reports the forbidden ones."""

    def __init__(self, tree: ast.Module, exercise: str, builtins: set[str]) -> None:
        self.builtins = builtins
        self.nodes = list(ast.walk(tree))
        self.operators = frozenset(FORBIDDEN_OPERATORS.get(exercise, ()))
        self.names = {node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.names |= {node.name for node in self.nodes if isinstance(node, DEFINITIONS)}
        self.own_attributes = set(_own_attributes(self.nodes))
        self.stars: list[str] = []
        self.aliases: dict[str, str] = {"__builtins__": "builtins"}
        self.strings: dict[str, str] = {}
        self._collect_imports()
        for _ in range(2):  # twice: `nn = torch.nn; F = nn.functional`, whatever their order in the walk
            self._collect_assignments()

    def _collect_imports(self) -> None:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for name in node.names:
                    top = name.name.partition(".")[0]
                    self.aliases[name.asname or top] = name.name if name.asname else top
            elif isinstance(node, ast.ImportFrom):
                module = ".".join(filter(None, ["exercises" if node.level else "", node.module or ""]))
                for name in node.names:
                    if name.name == "*":
                        self.stars.append(module)
                    else:
                        self.aliases[name.asname or name.name] = f"{module}.{name.name}"

    def _collect_assignments(self) -> None:
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._bind(target, node.value)
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                self._bind(node.target, node.value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
            for one, other in zip(target.elts, value.elts, strict=False):
                self._bind(one, other)
        elif isinstance(target, ast.Name):
            if path := self.dotted(value):
                self.aliases[target.id] = path
            elif (constant := self.string(value)) is not None:
                self.strings[target.id] = constant

    def string(self, node: ast.expr) -> str | None:
        """A string that the source shows: a constant, a variable that holds one, a sum of these."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self.strings.get(node.id)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = [self.string(node.left), self.string(node.right)]
            return None if None in parts else "".join(filter(None, parts))
        return None

    def dotted(self, node: ast.expr) -> str | None:
        """`F.rms_norm` → `torch.nn.functional.rms_norm`; None for anything that is not rooted in an import."""
        names: list[str] = []
        while (step := self._step(node)) is not None:
            node, name = step
            names.append(name)
        root = self._root(node)
        return ".".join([root, *reversed(names)]) if root else None

    def _step(self, node: ast.expr) -> tuple[ast.expr, str] | None:
        """One look-up by name: what it is done on, and the name."""
        if isinstance(node, ast.Attribute):
            return node.value, node.attr
        if isinstance(node, ast.Call) and len(node.args) >= 2 and _called(node) in ("getattr", "__getattribute__"):
            name = self.string(node.args[1])
            return (node.args[0], name) if name else None
        if isinstance(node, ast.Call) and len(node.args) == 1 and _called(node) == "vars":
            return node.args[0], "__dict__"
        if isinstance(node, ast.Subscript) and (name := self.string(node.slice)):
            if isinstance(node.value, ast.Name) and node.value.id == "__builtins__":
                return node.value, name
            inner = self._step(node.value)
            return (inner[0], name) if inner and inner[1] == "__dict__" else None
        return None

    def _root(self, node: ast.expr) -> str | None:
        if not isinstance(node, ast.Name):
            return None
        starred = self.stars and node.id not in self.names and node.id not in self.aliases
        return f"{self.stars[-1]}.{node.id}" if starred else self.aliases.get(node.id)

    def findings(self) -> Iterator[Finding]:
        seen: set[tuple[int, str]] = set()
        for node in self.nodes:
            for name, rule in self._judge(node):
                line = getattr(node, "lineno", 1)
                if (line, name) not in seen:
                    seen.add((line, name))
                    yield Finding(line, name, rule)

    def _judge(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0):
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for name in node.names:
                yield from self._judge_path(prefix + name.name, prefix + name.name)
        elif isinstance(node, ast.Attribute | ast.Call | ast.Subscript | ast.Name):
            path = self.dotted(node)
            if path and not (isinstance(node, ast.Name) and not self.stars):
                yield from self._judge_path(path, _written(node))
            yield from self._judge_look_up(node, path)
            yield from self._judge_store(node)

    def _judge_path(self, path: str, written: str) -> Iterator[tuple[str, str]]:
        parts = path.split(".")
        if "torch" in parts:  # also `torch.nn.functional.torch` and the torch that another module has imported
            last = len(parts) - 1 - parts[::-1].index("torch")
            if parts[-1] in self.operators:
                yield written, "answer"
            first = "".join(parts[last + 1 : last + 2])
            if (first.startswith("_") and not first.startswith("__")) or first in ("ops", "library"):
                yield written, "way-round"
        builtin = "builtins" in parts[:-1] and parts[-1] in FORBIDDEN_BUILTINS
        if builtin or not FORBIDDEN_MODULES.isdisjoint(parts) or (parts[-1] in FRAME_FUNCTIONS and "sys" in parts):
            yield written, "way-round"

    def _judge_look_up(self, node: ast.expr, path: str | None) -> Iterator[tuple[str, str]]:
        step = self._step(node)
        if step is not None:
            if step[1] in FRAME_ATTRIBUTES:
                yield step[1], "way-round"
            if path is None and step[1] in self.operators and step[1] not in self.own_attributes:
                yield _written(node), "answer"
        elif isinstance(node, ast.Name) and node.id in self.builtins and isinstance(node.ctx, ast.Load):
            yield node.id, "way-round"
        elif isinstance(node, ast.Call) and self.dotted(node.func) in LOOK_UPS and node.args:
            name = self.string(node.args[0]) or ""
            if name.replace(":", ".").rpartition(".")[2] in self.operators:
                yield _written(node), "answer"

    def _judge_store(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """Stores into torch or numpy: `F.silu = …`, `vars(F)["silu"] = …`, `setattr(F, …)`, `F.__dict__.update(…)`."""
        held: list[ast.expr] = []
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            held = [node.value]
        elif isinstance(node, ast.Call) and _called(node) in SETTERS | DICT_SETTERS:
            held = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            held += node.args[:1] if _called(node) in SETTERS else []
        in_dict = isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and _called(node) in DICT_SETTERS)
        for target in filter(None, map(self.dotted, held)):
            if target.partition(".")[0] in ("torch", "numpy") and (target.endswith("__dict__") or not in_dict):
                yield f"{_written(node)} (a store into {target})", "way-round"


def _own_attributes(nodes: list[ast.AST]) -> Iterator[str]:
    """Attributes that the file itself makes: it stores them, a class body defines them, a call is given them."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.ClassDef):
            yield from _made_by(node.body)


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _written(node: ast.expr) -> str:
    return textwrap.shorten(ast.unparse(node), 80, placeholder="…")
