"""The from-scratch rule, read off the source: which forbidden names a file uses. Nothing is executed.

A name counts where it is *used as code*: comments, docstrings and strings may mention anything. Aliases are followed
(`import torch.nn.functional as F`, `from torch import nn as N`, `norm = F.layer_norm`), and so is `getattr` with a
constant name. A student's own function or class that happens to be called `layer_norm` is theirs to use.
"""

from __future__ import annotations

import ast
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

FORBIDDEN_BUILTINS = ("exec", "eval", "compile", "__import__")
FORBIDDEN_MODULES = ("importlib", "gc", "ctypes", "inspect")
FRAME_ATTRIBUTES = ("f_back", "f_locals", "f_globals", "f_builtins", "tb_frame", "gi_frame", "cr_frame", "ag_frame")
FRAME_FUNCTIONS = ("sys._getframe", "sys._current_frames")
PROTECTED_PACKAGES = ("torch", "numpy")


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
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted(_Reader(tree, exercise).findings(), key=lambda finding: finding.line)


class _Reader:
    """Resolves names of one file to dotted paths of imported modules and reports the forbidden ones."""

    def __init__(self, tree: ast.Module, exercise: str) -> None:
        self.tree = tree
        self.operators = FORBIDDEN_OPERATORS.get(exercise, ())
        self.aliases: dict[str, str] = {}
        self.own = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        }
        self._collect_aliases()

    def _collect_aliases(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    top = name.name.partition(".")[0]
                    self.aliases[name.asname or top] = name.name if name.asname else top
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                for name in node.names:
                    self.aliases[name.asname or name.name] = f"{node.module}.{name.name}"
        # Two rounds follow `nn = torch.nn; F = nn.functional` whatever their order in the walk.
        for _ in range(2):
            for node in ast.walk(self.tree):
                if isinstance(node, ast.Assign) and (path := self.dotted(node.value)):
                    for target in node.targets:
                        if isinstance(target, ast.Name):
                            self.aliases[target.id] = path

    def dotted(self, node: ast.expr) -> str | None:
        """`F.rms_norm` → `torch.nn.functional.rms_norm`; None for anything that is not rooted in an import."""
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else None
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "getattr"
            and len(node.args) >= 2
            and isinstance(node.args[1], ast.Constant)
            and isinstance(node.args[1].value, str)
        ):
            base = self.dotted(node.args[0])
            return f"{base}.{node.args[1].value}" if base else None
        return None

    def findings(self) -> Iterator[Finding]:
        seen: set[tuple[int, str]] = set()
        for node in ast.walk(self.tree):
            for line, name, rule in self._judge(node):
                if (line, name) not in seen:
                    seen.add((line, name))
                    yield Finding(line, name, rule)

    def _judge(self, node: ast.AST) -> Iterator[tuple[int, str, str]]:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from self._judge_path(node.lineno, name.name, name.name)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for name in node.names:
                path = f"{node.module}.{name.name}"
                yield from self._judge_path(node.lineno, path, path)
        elif isinstance(node, ast.Attribute | ast.Call) and (path := self.dotted(node)):
            yield from self._judge_path(node.lineno, path, ast.unparse(node))
        if isinstance(node, ast.Attribute) and node.attr in FRAME_ATTRIBUTES:
            yield node.lineno, node.attr, "way-round"
        if isinstance(node, ast.Name) and node.id in FORBIDDEN_BUILTINS and node.id not in self.own | set(self.aliases):
            if isinstance(node.ctx, ast.Load):
                yield node.lineno, node.id, "way-round"
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
            yield from self._judge_store(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
            if node.args and (path := self.dotted(node.args[0])) and path.partition(".")[0] in PROTECTED_PACKAGES:
                yield node.lineno, ast.unparse(node.func) + f"({path}, …)", "way-round"

    def _judge_path(self, line: int, path: str, written: str) -> Iterator[tuple[int, str, str]]:
        parts = path.split(".")
        if parts[0] == "torch":
            if parts[-1] in self.operators:
                yield line, written, "answer"
            private = [part for part in parts[1:] if part.startswith("_") and not part.startswith("__")]
            if private or parts[1:2] in (["ops"], ["library"]):
                yield line, written, "way-round"
        if parts[0] in FORBIDDEN_MODULES or path in FRAME_FUNCTIONS or path.startswith("builtins."):
            if parts[0] != "builtins" or parts[1] in FORBIDDEN_BUILTINS:
                yield line, written, "way-round"

    def _judge_store(self, node: ast.Assign | ast.AugAssign | ast.Delete) -> Iterator[tuple[int, str, str]]:
        targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
        for target in targets:
            if isinstance(target, ast.Attribute) and (path := self.dotted(target)):
                if path.partition(".")[0] in PROTECTED_PACKAGES:
                    yield node.lineno, f"{ast.unparse(target)} = …", "way-round"
