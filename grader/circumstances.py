"""What a verdict depends on beside the submission: hashes of the tests, of the software, and of the round."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import grader
import nanolm
from grader.bank import given
from grader.ledger import Circumstances
from grader.session import Settings

DECIDING = ("torch", "numpy", "hypothesis", "pytest", "einops", "jaxtyping", "safetensors", "msgspec")
"""Packages whose version may change how a test ends."""

BUNDLE_SUFFIXES = (".py", ".toml", ".safetensors")


def circumstances(settings: Settings) -> Circumstances:
    """The circumstances of a run with these settings. Raises CannotStart where a given file cannot be read."""
    kit = _folder(nanolm)
    bundle = _hash([*_files(settings.root / "tests"), *_files(kit)], json.dumps(given(settings.root), sort_keys=True))
    environment = hashlib.sha256((described() + _hash(_files(_folder(grader)))).encode()).hexdigest()
    # The round's key, not its name alone: another secret draws other inputs. The hash does not tell the key.
    key = hashlib.sha256(b"round" + settings.key).hexdigest()
    return Circumstances(bundle, environment, f"{settings.round}:{key[:16]}")


def described() -> str:
    """This environment in words: Python, machine, versions."""
    versions = ", ".join(f"{name} {_version(name)}" for name in DECIDING)
    return f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; {versions}"


def _version(name: str) -> str:
    """Its version; the GPU job runs without some of them."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def _folder(package: object) -> Path:
    file = getattr(package, "__file__", None)
    assert isinstance(file, str)
    return Path(file).parent


def _files(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*") if path.suffix in BUNDLE_SUFFIXES and "__pycache__" not in path.parts
    )


def _hash(paths: Iterable[Path], more: str = "") -> str:
    whole = hashlib.sha256(more.encode())
    for path in paths:
        whole.update(f"\0{path.name}\0".encode())
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()
