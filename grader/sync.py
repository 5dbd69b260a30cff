"""Proofs that `exercises/` is what `solutions/` says: current, same surface, nothing of a solution in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from grader.stubs import KNOWN, Region, known_stubs_text, make_stub, read_stub, split, stub_files
from nanolm.course import exercise_files


def problems(root: Path) -> list[str]:
    """Everything that is out of step, one sentence each; empty when all is well."""
    found: list[str] = []
    made = stub_files(root)
    for name, text in {**made, KNOWN: known_stubs_text(made)}.items():
        path = root / "exercises" / name
        if not path.is_file():
            found.append(f"exercises/{name} is missing: run `nanolm sync`")
        elif read_stub(path) != text.encode():
            found.append(f"exercises/{name} is not what solutions/ makes: run `nanolm sync`")
    for name in exercise_files():
        solution = (root / "solutions" / name).read_text(encoding="utf-8")
        stub = make_stub(solution, name)
        if (want := surface(solution)) != (have := surface(stub)):
            found.append(f"{name}: public surface differs: {sorted(set(want) ^ set(have))}")
        path = root / "exercises" / name
        if leaked := leaks(solution, read_stub(path).decode("utf-8", "replace") if path.is_file() else stub):
            more = f" and {len(leaked) - 3} more" if len(leaked) > 3 else ""
            found.append(f"exercises/{name} holds lines of a solution: {', '.join(map(repr, leaked[:3]))}{more}")
        found += [f"exercises/{name}: {problem}" for problem in untasked(solution, stub)]
    return found


def surface(text: str) -> list[str]:
    """Public names with their signatures, decorators, bases and annotations, as one comparable list."""
    return list(_surface(ast.parse(text).body, ""))


def _surface(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield f"{_decorators(node)}class {prefix}{node.name}({', '.join(map(ast.unparse, node.bases))})"
            yield from _surface(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__init__"):
            returns = ast.unparse(node.returns) if node.returns else ""
            yield f"{_decorators(node)}def {prefix}{node.name}({ast.unparse(node.args)}) -> {returns}"


def _decorators(node: ast.ClassDef | ast.FunctionDef) -> str:
    return "".join(f"@{ast.unparse(decorator)} " for decorator in node.decorator_list)


def leaks(solution: str, stub: str) -> list[str]:
    """Statement lines of solution regions that stand in the stub and nowhere outside all regions."""
    parts = list(split(solution, "solution"))
    outside = {_plain(line) for line in parts if isinstance(line, str)}
    inside = {_plain(line) for part in parts if isinstance(part, Region) for line in part.lines}
    standing = {_plain(line) for line in stub.splitlines()}
    return sorted(line for line in (inside & standing) - outside if line and not line.startswith("#"))


def _plain(line: str) -> str:
    return re.sub(r"\s+", " ", line).strip()


def untasked(solution: str, stub: str) -> Iterator[str]:
    """Functions of the solution that hold a region but whose stub does not raise that region's task."""
    tasks = [part.stub.strip() for part in split(solution, "solution") if isinstance(part, Region)]
    raised = [ast.unparse(node) for node in ast.walk(ast.parse(stub)) if isinstance(node, ast.Raise)]
    wanted = [ast.unparse(ast.parse(task)) for task in tasks]
    for task in wanted:
        if task not in raised:
            yield f"the stub does not raise {task}"
