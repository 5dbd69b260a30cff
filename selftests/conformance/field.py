"""Classes of the installed `transformers` package as submission texts. The package is read, never imported."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

PREAMBLE = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
"""What the classes' own files import, as far as these bodies use it."""


@dataclass(frozen=True)
class FieldClass:
    """A class of a model family: its source without decorators and annotations that only its own package knows."""

    family: str
    name: str
    text: str

    @property
    def body(self) -> str:
        """The text without names and docstrings, so that copies in other families count once."""
        node = ast.parse(self.text).body[0]
        assert isinstance(node, ast.ClassDef)
        node.body = [part for part in node.body if getattr(part, "name", "") != "extra_repr"]
        return ast.unparse(_without_annotations(_without_docstrings(node))).replace(self.name, "X")


def package_folder(name: str) -> Path:
    """Where an installed package lies; it is found, not imported."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise LookupError(f"{name} is not installed: install requirements-field.lock first (make setup does)")
    return Path(spec.submodule_search_locations[0])


def models_folder() -> Path:
    """Where transformers keeps its model families."""
    return package_folder("transformers") / "models"


def _gpt_oss_tree() -> ast.Module:
    return ast.parse((package_folder("gpt_oss") / "torch" / "model.py").read_text(encoding="utf-8"))


def gpt_oss_class(name: str) -> FieldClass:
    """A class of the gpt-oss reference's torch model."""
    for node in _gpt_oss_tree().body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return FieldClass("gpt-oss reference", name, _plain(node))
    raise LookupError(f"gpt_oss.torch.model has no class {name}")


def gpt_oss_function(name: str) -> str:
    """A function of the gpt-oss reference's torch model, as it stands."""
    for node in _gpt_oss_tree().body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.unparse(node)
    raise LookupError(f"gpt_oss.torch.model has no function {name}")


def configured(family: str, name: str) -> object:
    """The default of a field in a family's configuration classes, read from their source."""
    path = models_folder() / family / f"configuration_{family}.py"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and node.value is not None:
            value: object = ast.literal_eval(node.value)
            return value
    raise LookupError(f"{path.name} gives {name} no default")


def version() -> str:
    """The installed version."""
    return metadata.version("transformers")


@cache
def _tree(family: str) -> ast.Module:
    path = models_folder() / family / f"modeling_{family}.py"
    return ast.parse(path.read_text(encoding="utf-8"))


def field_class(family: str, name: str) -> FieldClass:
    """One class of one family."""
    for node in _tree(family).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return FieldClass(family, name, _plain(node))
    raise LookupError(f"{family} has no class {name} in transformers {version()}")


def classes_ending_in(suffix: str) -> Iterator[FieldClass]:
    """Every class whose name ends so and which is an nn.Module of its own, over all families."""
    for path in sorted(models_folder().glob("*/modeling_*.py")):
        text = path.read_text(encoding="utf-8")
        if suffix not in text or path.name != f"modeling_{path.parent.name}.py":
            continue
        for node in ast.parse(text).body:
            if not (isinstance(node, ast.ClassDef) and node.name.endswith(suffix)):
                continue
            if [ast.unparse(base) for base in node.bases] == ["nn.Module"]:
                yield FieldClass(path.parent.name, node.name, _plain(node))


def _plain(node: ast.ClassDef) -> str:
    node.decorator_list = []
    return ast.unparse(_without_annotations(node))


def _without_annotations(node: ast.ClassDef) -> ast.ClassDef:
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef):
            part.returns, part.decorator_list = None, []
            for argument in [*part.args.args, *part.args.kwonlyargs, part.args.vararg, part.args.kwarg]:
                if argument is not None:
                    argument.annotation = None
    return node


def _without_docstrings(node: ast.ClassDef) -> ast.ClassDef:
    for part in ast.walk(node):
        if isinstance(part, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(part, clean=False) is not None:
            part.body = part.body[1:] or [ast.Pass()]
    return node
