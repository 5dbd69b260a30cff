"""The from-scratch rule, read off the source: which forbidden names a file uses. Nothing is executed.

A name counts where it is *used as code*: comments, docstrings and strings may mention anything. Aliases are followed
(`import torch.nn.functional as F`, `norm = F.layer_norm`, `self.lib = F`), and so are look-ups by a constant name
(`getattr`, `vars(F)[…]`, `sys.modules[…]`). Where an operator is taken from something that the source does not show
(an argument, a function's result), it counts unless the file itself makes an attribute of that name: a student's own
function, class or sub-module that happens to be called `layer_norm` is theirs to use.
"""

from __future__ import annotations

import ast
import symtable
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

NORM_OPERATORS = (
    "rms_norm",
    "layer_norm",
    "native_layer_norm",
    "fused_rms_norm",
    "RMSNorm",
    "LayerNorm",
)

FORBIDDEN_OPERATORS: dict[str, tuple[str, ...]] = {
    "rmsnorm": NORM_OPERATORS,
    "qk_norm": NORM_OPERATORS,
}
"""For each exercise, the last parts of torch names that are its answer."""

FORBIDDEN_BUILTINS = frozenset({"exec", "eval", "compile", "__import__"})
FORBIDDEN_MODULES = frozenset({"importlib", "gc", "ctypes", "inspect"})
FRAME_ATTRIBUTES = frozenset(
    {"f_back", "f_locals", "f_globals", "f_builtins", "tb_frame", "gi_frame", "cr_frame", "ag_frame", "__globals__"}
)
FRAME_FUNCTIONS = frozenset({"_getframe", "_getframemodulename", "_current_frames"})
PROTECTED_PACKAGES = ("torch", "numpy")
LOOK_UPS = frozenset({"operator.attrgetter", "operator.methodcaller", "pkgutil.resolve_name", "pydoc.locate"})
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
        builtins = _builtins_used(symtable.symtable(text, "", "exec"), _made_at_the_top(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted(_Reader(tree, exercise, builtins).findings(), key=lambda finding: finding.line)


def _made_at_the_top(tree: ast.Module) -> set[str]:
    """Names that the top of the file binds whatever happens: below an `if`, Python's own might still be meant."""
    made: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            made.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            made |= {alias.asname or alias.name for alias in statement.names}
        elif isinstance(statement, ast.Assign) and not isinstance(statement.value, ast.Name):
            made |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return made - {name.id for name in ast.walk(tree) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Del)}


def _builtins_used(scope: symtable.SymbolTable, made: set[str]) -> set[str]:
    """The forbidden builtins that a scope or one inside it refers to as Python's own."""
    used = {
        symbol.get_name()
        for symbol in scope.get_symbols()
        if symbol.is_referenced() and (symbol.is_global() or scope.get_type() != "function")
    }
    used = used & FORBIDDEN_BUILTINS - made
    return used.union(*(_builtins_used(child, made) for child in scope.get_children()))


class _Reader:
    """Resolves names of one file to dotted paths of imported modules and reports the forbidden ones."""

    def __init__(self, tree: ast.Module, exercise: str, builtins: set[str]) -> None:
        self.builtins = builtins
        self.nodes = list(ast.walk(tree))
        self.operators = frozenset(FORBIDDEN_OPERATORS.get(exercise, ()))
        self.own = set(_own_names(self.nodes))
        self.stars: list[str] = []
        self.aliases: dict[str, str] = {"__builtins__": "builtins"}
        self.attributes: dict[str, str] = {}
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
            elif isinstance(node, ast.arguments):
                plain = [*node.posonlyargs, *node.args][::-1]
                for argument, default in [
                    *zip(plain, node.defaults[::-1], strict=False),
                    *zip(node.kwonlyargs, node.kw_defaults, strict=True),
                ]:
                    if default is not None:
                        self._bind(ast.Name(argument.arg), default)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
            for one, other in zip(target.elts, value.elts, strict=False):
                self._bind(one, other)
        elif isinstance(target, ast.Name):
            if path := self.dotted(value):
                self.aliases[target.id] = path
            elif (constant := self.string(value)) is not None:
                self.strings[target.id] = constant
        elif isinstance(target, ast.Attribute) and self.dotted(target.value) is None and (path := self.dotted(value)):
            self.attributes[target.attr] = path

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
        attributes: list[str] = []
        while True:
            step = self._step(node)
            if step is None:
                break
            node, name = step
            if name:
                attributes.append(name)
        root = self._root(node)
        while root is None and attributes:  # `self.lib.rms_norm`, where `self.lib = F` stands elsewhere
            root = self.attributes.get(attributes.pop())
        return ".".join([root, *reversed(attributes)]) if root else None

    def _step(self, node: ast.expr) -> tuple[ast.expr, str] | None:
        """One look-up by name: what it is done on, and the name."""
        if isinstance(node, ast.Attribute):
            return node.value, node.attr
        if isinstance(node, ast.NamedExpr):
            return node.value, ""
        if isinstance(node, ast.Call) and len(node.args) >= 2 and _called(node) in ("getattr", "__getattribute__"):
            name = self.string(node.args[1])
            return (node.args[0], name) if name else None
        if isinstance(node, ast.Call) and len(node.args) == 1 and _called(node) == "vars":
            return node.args[0], "__dict__"
        if isinstance(node, ast.Subscript) and (name := self.string(node.slice)):
            inner = self._step(node.value)
            return (inner[0], name) if inner and inner[1] == "__dict__" else None
        return None

    def _root(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            if node.id in self.aliases or node.id in self.own or not self.stars:
                return self.aliases.get(node.id)
            return f"{self.stars[-1]}.{node.id}"
        if isinstance(node, ast.Subscript) and (name := self.string(node.slice)):
            if isinstance(node.value, ast.Call) and _called(node.value) in ("globals", "locals", "vars"):
                return self.aliases.get(name)
            if isinstance(node.value, ast.Name | ast.Attribute):
                held = self.dotted(node.value) or ""
                return name if held.endswith("sys.modules") else f"builtins.{name}" if held == "builtins" else None
        return None

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
        if isinstance(node, ast.Attribute):
            if node.attr in FRAME_ATTRIBUTES:
                yield node.attr, "way-round"
            if path is None and node.attr in self.operators and node.attr not in self.own:
                yield _written(node), "answer"
        elif isinstance(node, ast.Name) and node.id in self.builtins and isinstance(node.ctx, ast.Load):
            yield node.id, "way-round"
        elif isinstance(node, ast.Call) and self.dotted(node.func) in LOOK_UPS and node.args:
            name = self.string(node.args[0]) or ""
            if name.replace(":", ".").rpartition(".")[2] in self.operators:
                yield _written(node), "answer"

    def _judge_store(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """Stores into torch or numpy: `F.silu = …`, `vars(F)["silu"] = …`, `setattr(F, …)`, `F.__dict__.update(…)`."""
        target: str | None = None
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            base = self.dotted(node.value) or ""
            target = base if isinstance(node, ast.Attribute) or base.endswith("__dict__") else None
        elif isinstance(node, ast.Call) and _called(node) in SETTERS:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            held = [self.dotted(item) for item in (owner, *node.args[:1]) if item is not None]
            target = next((path for path in held if path), None)
        elif isinstance(node, ast.Call) and _called(node) in DICT_SETTERS and isinstance(node.func, ast.Attribute):
            base = self.dotted(node.func.value) or ""
            target = base if base.endswith("__dict__") else None
        if target and target.partition(".")[0] in PROTECTED_PACKAGES:
            yield f"{_written(node)} (a store into {target})", "way-round"


def _own_names(nodes: list[ast.AST]) -> Iterator[str]:
    """Names that the file itself makes: definitions, arguments, and variables and attributes that it stores."""
    for node in nodes:
        if isinstance(getattr(node, "ctx", ast.Store()), ast.Store) and not isinstance(node, ast.alias):
            names = (getattr(node, field, None) for field in ("name", "id", "attr", "arg"))
            yield from (name for name in names if isinstance(name, str))


def _called(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _written(node: ast.expr) -> str:
    try:
        return textwrap.shorten(ast.unparse(node), 80, placeholder="…")
    except RecursionError:
        return "a deeply nested name"
