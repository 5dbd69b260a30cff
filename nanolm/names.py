"""What the names of one file stand for: dotted paths of imported modules, scope by scope. Nothing is executed.

`F.silu` under `import torch.nn.functional as F` is `torch.nn.functional.silu`, and so it is after `G = F`, as
`getattr(F, "silu")`, as `vars(F)["silu"]`, or as `G.silu` in a function that the file calls with F. A name that may
stand for several things stands for all of them; one that comes from elsewhere stands for nothing.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence

LONGEST, MOST_MEANINGS, MOST_NAMESAKES, MOST_PASSES = 200, 32, 8, 6
"""Bounds on what one file may make the reader remember: no operator's name and no honest file comes near them."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
GETTERS = frozenset({"getattr", "__getattribute__", "__getattr__"})
DICT_GETTERS = frozenset({"get", "pop", "setdefault", "__getitem__"})
ITEM = "["
"""Begins the name of a look-up in a mapping, until it is known whether that is a module's `__dict__`."""


class Scope:
    """A scope of the file: what its names may stand for, as paths and as strings."""

    def __init__(self, parent: Scope | None = None, kind: str = "module") -> None:
        self.parent = parent
        self.kind = kind
        self.paths: dict[str, set[str]] = {}
        self.strings: dict[str, set[str]] = {}
        self.functions: dict[str, list[ast.AST]] = {}
        self.ends: dict[str, int] = {}
        self.shared: dict[str, Scope] = {}

    @property
    def home(self) -> Scope:
        """The scope that a walrus binds in."""
        return self.parent.home if self.kind == "comprehension" and self.parent else self

    def holder(self, name: str) -> Scope | None:
        """The scope whose name this is, seen from here; None for a builtin."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.shared:
                return scope.shared[name]
            if name in scope.paths and (scope is self or scope.kind != "class"):
                return scope
            scope = scope.parent
        return None

    def bind(self, name: str, paths: Iterable[str] = (), strings: Iterable[str] = (), end: int = 0) -> bool:
        """Add meanings of a name; whether any was new."""
        scope = self.shared.get(name, self)
        new = name not in scope.paths
        scope.ends.setdefault(name, end)
        for kept, found in ((scope.paths, paths), (scope.strings, strings)):
            known = kept.setdefault(name, set())
            more = {meaning for meaning in found if len(meaning) <= LONGEST} - known
            if more and len(known) < MOST_MEANINGS:
                known |= more
                new = True
        return new


class Names:
    """Every node of a file with its scope, and what it may stand for."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope()
        self.scopes: dict[ast.AST, Scope] = {}
        self.stars: list[str] = []
        self.certain = set(made_by(tree.body))
        self.learned = False
        self._known: dict[ast.AST, set[str]] = {}
        self.nodes: list[tuple[ast.AST, Scope]] = [(tree, self.module)]
        for node, scope in self.nodes:  # which grows
            self.nodes += self._children(node, scope)
        for node, scope in self.nodes:
            self._bind_name(node, scope)
        self.module.bind("__builtins__", ["builtins"])
        binding = [(n, s) for n, s in self.nodes if isinstance(n, _BINDING)]
        for _ in range(MOST_PASSES):
            self.learned = False
            for node, scope in binding:
                self._bind_value(node, scope)
            self._known.clear()
            if not self.learned:
                break

    def _children(self, node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
        inner, inside = scope, set[ast.AST]()
        if isinstance(node, FUNCTIONS):
            inner = Scope(scope, "function")
            for argument in _arguments(node.args):
                inner.bind(argument.arg)
            inside = set(node.body) if isinstance(node.body, list) else {node.body}
        elif isinstance(node, ast.ClassDef):
            inner, inside = Scope(scope, "class"), set(node.body)
        elif isinstance(node, COMPREHENSIONS):
            inner, inside = Scope(scope, "comprehension"), set(ast.iter_child_nodes(node))
        elif isinstance(node, ast.NamedExpr):
            inner, inside = scope.home, {node.target}
        elif isinstance(node, ast.Global):
            scope.shared |= dict.fromkeys(node.names, self.module)
        elif isinstance(node, ast.Nonlocal) and scope.parent:
            scope.shared |= {name: scope.parent.holder(name) or self.module for name in node.names}
        if inner is not scope:
            self.scopes[node] = inner
        for child in ast.iter_child_nodes(node):
            yield child, inner if child in inside else scope

    def _bind_name(self, node: ast.AST, scope: Scope) -> None:
        """Let the scope know that it binds a name, whatever the value."""
        end = getattr(node, "end_lineno", None) or 0
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            scope.bind(node.id, end=end)
        elif isinstance(node, DEFINITIONS):
            scope.bind(node.name, end=end)
            scope.functions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            scope.bind(node.name, end=end)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            scope.bind(node.rest, end=end)
        elif isinstance(node, ast.Import):
            for name in node.names:
                top = name.name.partition(".")[0]
                scope.bind(name.asname or top, [name.name if name.asname else top], end=end)
        elif isinstance(node, ast.ImportFrom):
            module = ".".join(filter(None, ["exercises" if node.level else "", node.module or ""]))
            self.stars += [module for name in node.names if name.name == "*"]
            for name in node.names:
                if name.name != "*":
                    scope.bind(name.asname or name.name, [f"{module}.{name.name}"], end=end)

    def _bind_value(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value, scope, scope)
        elif isinstance(node, ast.NamedExpr):
            self._bind(node.target, node.value, scope.home, scope)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._bind(node.target, node.value, scope, scope)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            if isinstance(node.iter, ast.Tuple | ast.List | ast.Set):
                for element in node.iter.elts:
                    self._bind(node.target, element, scope, scope)
        elif isinstance(node, FUNCTIONS):
            positional = [*node.args.posonlyargs, *node.args.args]
            defaults = list(zip(reversed(positional), reversed(node.args.defaults), strict=False))
            defaults += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d]
            for argument, default in defaults:
                self._bind_argument(node, argument.arg, default, scope)
        elif isinstance(node, ast.Call):
            for function in self._functions(node.func, scope):
                self._bind_arguments(function, node, scope)

    def _bind(self, target: ast.expr, value: ast.expr, into: Scope, scope: Scope) -> None:
        if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
            for one, other in zip(target.elts, value.elts, strict=False):
                self._bind(one, other, into, scope)
        elif isinstance(target, ast.Name):
            self.learned |= into.bind(target.id, self.paths(value, scope), self.strings(value, scope))

    def _functions(self, called: ast.expr, scope: Scope) -> Sequence[ast.AST]:
        if isinstance(called, ast.Name):
            holder = scope.holder(called.id)
            return holder.functions.get(called.id, ())[-MOST_NAMESAKES:] if holder else ()
        return [called] if isinstance(called, ast.Lambda) else ()

    def _bind_arguments(self, function: ast.AST, call: ast.Call, scope: Scope) -> None:
        if not isinstance(function, FUNCTIONS):
            return
        for argument, value in zip((*function.args.posonlyargs, *function.args.args), call.args, strict=False):
            self._bind_argument(function, argument.arg, value, scope)
        for keyword in call.keywords:
            if keyword.arg:
                self._bind_argument(function, keyword.arg, keyword.value, scope)

    def _bind_argument(self, function: ast.AST, name: str, value: ast.expr, scope: Scope) -> None:
        inner = self.scopes[function]
        if name in inner.paths:
            self.learned |= inner.bind(name, self.paths(value, scope), self.strings(value, scope))

    def strings(self, node: ast.expr, scope: Scope) -> set[str]:
        """Strings that the source shows: a constant, a variable that holds one, a sum or a choice of these."""
        found: set[str] = set()
        if isinstance(node, ast.Constant):
            found = {node.value} if isinstance(node.value, str) else set()
        elif isinstance(node, ast.Name):
            holder = scope.holder(node.id)
            found = holder.strings.get(node.id, set()) if holder else set()
        elif isinstance(node, ast.NamedExpr):
            found = self.strings(node.value, scope)
        elif isinstance(node, ast.IfExp):
            found = self.strings(node.body, scope) | self.strings(node.orelse, scope)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = self.strings(node.left, scope), self.strings(node.right, scope)
            found = {left + right for left, right in itertools.product(*parts)}
        return {text for text in itertools.islice(found, MOST_MEANINGS) if len(text) <= LONGEST}

    def paths(self, node: ast.expr, scope: Scope) -> set[str]:
        """Dotted paths that an expression may stand for; none for anything that is not rooted in an import."""
        if node not in self._known:
            self._known[node] = self._paths(node, scope)
        return self._known[node]

    def _paths(self, node: ast.expr, scope: Scope) -> set[str]:
        steps: list[set[str]] = []
        outermost = node
        while (step := self.step(node, scope)) is not None:
            node = step[0]
            if step[1]:
                steps.append(step[1])
        if isinstance(node, ast.NamedExpr):
            roots = self.paths(node.value, scope)
        elif isinstance(node, ast.IfExp):
            roots = self.paths(node.body, scope) | self.paths(node.orelse, scope)
        elif isinstance(node, ast.BoolOp):
            roots = set().union(*(self.paths(value, scope) for value in node.values))
        elif isinstance(node, ast.Name):
            roots = self._named(node.id, getattr(outermost, "lineno", 0), scope)
        elif isinstance(node, ast.Call) and steps and self.called(node, scope) & {"globals", "locals"}:
            roots = {path for name in steps.pop() for path in self._named(name.lstrip(ITEM), 0, scope)}
        else:
            return set()
        found = (".".join(parts) for parts in itertools.product(roots, *reversed(steps))) if roots else ()
        return set(filter(None, map(_without_items, itertools.islice(found, MOST_MEANINGS))))

    def step(self, node: ast.expr, scope: Scope) -> tuple[ast.expr, set[str]] | None:
        """One look-up: what it is done on, and the names that it may ask for (none: it gives the thing itself)."""
        if isinstance(node, ast.Attribute):
            return node.value, {node.attr}
        if isinstance(node, ast.Subscript):
            names = self.strings(node.slice, scope)
            return (node.value, {ITEM + name for name in names}) if names else None
        if not isinstance(node, ast.Call) or not node.args:
            return None
        called = self.called(node, scope)
        bound = node.func.value if isinstance(node.func, ast.Attribute) else None
        if called & GETTERS:
            one = len(node.args) == 1
            held, names = (bound if one else node.args[0]), self.strings(node.args[0 if one else 1], scope)
            return (held, names) if held is not None and names else None
        if called & DICT_GETTERS and bound is not None:
            names = self.strings(node.args[0], scope)
            return (bound, {ITEM + name for name in names}) if names else None
        if len(node.args) == 1 and called & {"vars", "dict"} and bound is None:
            return node.args[0], {"__dict__"} if "vars" in called else set()
        return None

    def called(self, node: ast.Call, scope: Scope) -> set[str]:
        """The last part of what is called, also under another name: `g` after `g = getattr` is `getattr`."""
        if isinstance(node.func, ast.Name):
            paths = self._named(node.func.id, 0, scope)
            return {path.rpartition(".")[2] for path in paths} or {node.func.id}
        return {getattr(node.func, "attr", "")}

    def _named(self, name: str, line: int, scope: Scope) -> set[str]:
        holder = scope.holder(name)
        found = set(holder.paths[name]) if holder and name in holder.paths else set()
        if holder is None and name in ("getattr", "vars", "setattr", "delattr"):
            found.add(f"builtins.{name}")
        if self.stars and holder in (None, self.module):
            early = scope is self.module and 0 < line <= self.module.ends.get(name, 0)
            if early or name not in self.certain:
                found |= {f"{star}.{name}" for star in self.stars if not star.startswith("exercises")}
        return found


_BINDING = (
    ast.Assign | ast.NamedExpr | ast.AnnAssign | ast.For | ast.AsyncFor | ast.comprehension | ast.Call
    | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
)  # fmt: skip


def made_by(body: list[ast.stmt]) -> Iterator[str]:
    """Names that statements bind whatever happens; `eval = eval` makes nothing new, nor does what `if` may skip."""
    for item in body:
        if isinstance(item, ast.Import | ast.ImportFrom):
            yield from (name.asname or name.name for name in item.names)
        elif not isinstance(item, ast.Delete) and not isinstance(getattr(item, "value", None), ast.Name):
            targets = [item.target] if isinstance(item, ast.AnnAssign) else getattr(item, "targets", [item])
            yield from (getattr(target, "id", getattr(target, "name", "")) for target in targets)


def _arguments(args: ast.arguments) -> Iterator[ast.arg]:
    yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
    yield from filter(None, (args.vararg, args.kwarg))


def _without_items(path: str) -> str | None:
    """`torch.__dict__.[silu` → `torch.silu`, `sys.modules.[torch` → `torch`; None for an item of any other mapping."""
    path = path.replace(f".__dict__.{ITEM}", ".").replace(f"builtins.{ITEM}", "builtins.")
    path = path.removeprefix(f"sys.modules.{ITEM}")
    return None if ITEM in path else path
