"""All notebooks at once: made, compared with what stands in the course, written."""

from __future__ import annotations

from pathlib import Path

from grader.authoring.release import release_notebooks
from grader.authoring.source import ASSIGNMENT, source_notebooks

FOLDERS = (f"source/{ASSIGNMENT}", f"release/{ASSIGNMENT}")


def made_notebooks(root: Path) -> dict[str, str]:
    """Name, relative to the course, and text of every notebook; raises AuthoringError."""
    sources = source_notebooks(root)
    releases = release_notebooks(root, sources)
    return {f"{folder}/{name}": text for folder, texts in zip(FOLDERS, (sources, releases), strict=True)
            for name, text in texts.items()}  # fmt: skip


def differences(root: Path) -> list[str]:
    """Names of the notebooks that are missing, differ from what their texts make, or have no text any more."""
    return _differences(root, made_notebooks(root))


def write(root: Path) -> list[str]:
    """Write what differs and delete what has no text any more; returns the names."""
    made = made_notebooks(root)
    changed = _differences(root, made)
    for name in changed:
        path = root / name
        if name in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[name], encoding="utf-8", newline="\n")
        else:
            path.unlink()
    return changed


def _differences(root: Path, made: dict[str, str]) -> list[str]:
    standing = {path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).glob("*.ipynb")}
    return sorted(standing - made.keys()) + [name for name, text in made.items() if _standing(root / name) != text]


def _standing(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n") if path.is_file() else None
