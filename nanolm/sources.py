"""Where an implementation's code comes from: an importable package, checked texts, or a notebook's namespace."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol


class MissingFile(Exception):
    """The file of an exercise is not there: the exercise is not attempted."""


class Source(Protocol):
    """Gives the text of a file (None: not known) and its names, executed."""

    def text(self, file: str) -> str | None:
        """The source text of `modules.py`, for checks that read and do not run."""
        ...

    def names(self, file: str) -> Mapping[str, Any]:
        """The public names that executing `modules.py` defines; raises what the code raises, or MissingFile."""
        ...


class PackageSource:
    """A package on disk: `exercises/` on the student's own machine, `solutions/` here."""

    def __init__(self, package: str, folder: Path) -> None:
        self.package = package
        self.folder = folder

    def text(self, file: str) -> str | None:
        """The file's text; undecodable bytes stand as U+FFFD, since Python itself will name that error."""
        path = self.folder / file
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None

    def names(self, file: str) -> Mapping[str, Any]:
        """Import `<package>.<module>` (once: Python keeps it)."""
        if not (self.folder / file).is_file():
            raise MissingFile(file)
        return vars(importlib.import_module(f"{self.package}.{Path(file).stem}"))


class NamespaceSource:
    """The names that a notebook's own cells have defined; every file's names live in the one namespace."""

    def __init__(self, namespace: Mapping[str, Any], text: str | None = None) -> None:
        self.namespace = namespace
        self._text = text

    def text(self, file: str) -> str | None:
        """The text of the cells, where the notebook handed it over."""
        return self._text

    def names(self, file: str) -> Mapping[str, Any]:
        """The notebook's namespace, whichever file is asked for."""
        return self.namespace


class TextSource(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Checked texts, executed exactly as they were checked, importable as the package `exercises`."""

    PACKAGE = "exercises"

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    def text(self, file: str) -> str | None:
        """The checked text."""
        return self.texts.get(file)

    def names(self, file: str) -> Mapping[str, Any]:
        """Import `exercises.<module>` from the texts."""
        if file not in self.texts:
            raise MissingFile(file)
        return vars(importlib.import_module(f"{self.PACKAGE}.{Path(file).stem}"))

    def install(self) -> None:
        """Make the texts the only `exercises` that this process can import."""
        self.uninstall()
        sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Forget this and any earlier `exercises`."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, TextSource)]
        if self.PACKAGE not in sys.modules:
            return  # to look at every module's name costs a fresh worker 2 ms
        for name in [name for name in sys.modules if name.partition(".")[0] == self.PACKAGE]:
            del sys.modules[name]
        for name in [name for name in linecache.cache if name.startswith(f"{self.PACKAGE}/")]:
            del linecache.cache[name]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The import system's question: is this name one of the texts?"""
        package, _, module = fullname.partition(".")
        if package != self.PACKAGE or (module and f"{module}.py" not in self.texts):
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=not module)

    def get_source(self, fullname: str) -> str:
        """The text of a module, for whoever asks Python for source lines: `torch.jit.script`, tracebacks."""
        return self.texts.get(f"{fullname.partition('.')[2]}.py", "")

    def exec_module(self, module: ModuleType) -> None:
        """Execute the text in the fresh module; the package itself has none."""
        file = f"{module.__name__.partition('.')[2]}.py"
        if file in self.texts:
            module.__file__ = display_name(file)
            exec(compile(self.texts[file], display_name(file), "exec", dont_inherit=True), vars(module))


def display_name(file: str) -> str:
    """`modules.py` as messages name it, on every machine the same."""
    return f"exercises/{file}"
