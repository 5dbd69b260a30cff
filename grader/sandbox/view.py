"""What of the file system a worker needs: the interpreter, its packages, this package and the kit. Nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import grader
import nanolm

SYSTEM = tuple(map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")))
"""Shared libraries and where the loader finds them."""

DEVICES = tuple(map(Path, ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")))


class CannotHide(OSError):
    """A folder that workers must not see lies inside one that they need."""


@dataclass(frozen=True)
class View:
    """Paths that are shown to the zygote, and those of them that a worker may read."""

    bound: tuple[Path, ...]
    readable: tuple[Path, ...]


def view(hidden: Iterable[Path] = ()) -> View:
    """The paths for this interpreter; raises CannotHide where one of them would show a hidden folder."""
    hidden = [path.resolve() for path in hidden]
    house = tuple(_folder(package) for package in (nanolm, grader))
    prefixes = dict.fromkeys(Path(prefix) for prefix in (sys.base_prefix, sys.prefix))
    packages = [Path(entry) for entry in sys.path if entry and Path(entry).is_dir()]
    # A folder on the path that holds ours holds the whole repository: only ours are shown of it.
    packages = [
        path for path in packages if not any(_inside(package, path) and not _is_site(path) for package in house)
    ]
    libraries = [prefix / name for prefix in prefixes for name in ("lib", "lib64")]
    readable = [path for path in (*SYSTEM, *libraries, *packages, *house) if path.exists()]
    for secret in hidden:
        for path in readable:
            if _inside(secret, path.resolve()):
                raise CannotHide(f"{secret} lies inside {path}, which a worker must read: move the course elsewhere")
    return View((*_existing((*SYSTEM, *prefixes, *packages, *house)),), tuple(dict.fromkeys(readable)))


def _folder(package: object) -> Path:
    file = getattr(package, "__file__", None)
    assert isinstance(file, str)
    return Path(file).resolve().parent


def _inside(path: Path, folder: Path) -> bool:
    return folder == path or folder in path.parents


def _is_site(path: Path) -> bool:
    return path.name in ("site-packages", "dist-packages")


def _existing(paths: Iterable[Path]) -> list[Path]:
    return [path for path in dict.fromkeys(paths) if path.exists()]
