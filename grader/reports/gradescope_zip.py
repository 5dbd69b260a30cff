"""The autograder for Gradescope as a zip: what its container needs to grade, and nothing that must stay secret.

In it are `setup.sh` and `run_autograder`, the grader as a wheel, the tests, the stubs with the given files, settings
and a key of this round. No solution, no mistake, and not the course's secret: the key is made from it and cannot be
turned back. Every text, the wheel's too, is scanned as the students' copy is.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import os
import shlex
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from grader.commands import CANNOT_START, FAILED, OK, USAGE
from grader.forges import ForgeError, build_wheel, grader_lock
from grader.house import HouseError, find_root
from grader.late import LatePolicy, LatePolicyError
from grader.leaks import ReleaseError, Secrets
from grader.release import course_files
from grader.reports.autograder import COURSE, KEY, OUR_FAULT, SETTINGS, AutograderSettings
from grader.reports.gradescope import NO_GRADE, VISIBILITIES
from grader.sandbox import BEST, BEST_MEDIUM
from grader.stubs import MARKER_LIKE
from nanolm.course import EXERCISES

TEMPLATES = Path(__file__).parent.parent / "gradescope"
EXECUTABLE = ("setup.sh", "run_autograder")
FOLDERS = ("exercises/", "tests/", "release/")
"""What of the students' copy the container gets: stubs, given files, tests, notebooks. The kit comes in the wheel."""


def write_zip(
    root: Path, target: Path, settings: AutograderSettings, secret: bytes, torch_index: str | None = None
) -> list[str]:
    """Write the zip, whole or not at all; returns the names in it. Raises ReleaseError, ForgeError, OSError."""
    root = root.resolve()
    secrets = Secrets(root)
    files = {f"{COURSE}/{name}": (root / name).read_bytes() for name in course_files(root) if name.startswith(FOLDERS)}
    _prove(secrets, files)
    with tempfile.TemporaryDirectory(prefix="nanolm-gradescope-") as scratch:
        wheel = build_wheel(root, Path(scratch))
        made = _made(root, wheel.name, settings, secret, torch_index)
        _prove(secrets, made | {f"{wheel.name}: {name}": data for name, data in _members(wheel)})
        files |= made
        files[wheel.name] = wheel.read_bytes()
        part = Path(scratch) / "autograder.zip"
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in sorted(files.items()):
                entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same course makes the same zip
                entry.external_attr = (0o100755 if name in EXECUTABLE else 0o100644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, data)
        beside = target.resolve().with_name(f".{target.name}.part")
        try:
            beside.write_bytes(part.read_bytes())
            os.replace(beside, target.resolve())
        finally:
            beside.unlink(missing_ok=True)
    return sorted(files)


def _made(
    root: Path, wheel: str, settings: AutograderSettings, secret: bytes, torch_index: str | None
) -> dict[str, bytes]:
    lock = grader_lock(root)
    (torch,) = (line for line in lock.splitlines() if line.startswith("torch=="))
    values = {
        "WHEEL": wheel,
        "TORCH": torch,
        "TORCH_INDEX": f"--index-url {shlex.quote(torch_index)}" if torch_index else "",
        "UNWRITTEN": NO_GRADE + OUR_FAULT,
    }
    made = {name: (TEMPLATES / f"{name}.in").read_text(encoding="utf-8") for name in EXECUTABLE}
    for place, value in values.items():
        made = {name: text.replace(f"@{place}@", value) for name, text in made.items()}
    fields = {name: getattr(settings, name) for name in AutograderSettings.__struct_fields__}
    made |= {SETTINGS: json.dumps(fields, indent=1) + "\n", KEY: round_key(secret, settings.round) + "\n"}
    return {name: text.encode() for name, text in (made | {"requirements.txt": lock}).items()}


def round_key(secret: bytes, round_name: str) -> str:
    """The secret that the container grades with: other rounds cannot be computed from it."""
    return hmac.new(secret or b"no secret", f"gradescope {round_name}".encode(), hashlib.sha256).hexdigest()


def _prove(secrets: Secrets, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        if leak := secrets.leak(name, _without_marker_words(name, data)):
            raise ReleaseError(f"nothing was written, because {leak}")


def _members(wheel: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            yield name, archive.read(name)


def _without_marker_words(name: str, data: bytes) -> bytes:
    """A file of the grader's own may say what a solution's marker looks like; its other lines are scanned."""
    if ": grader/" not in name:
        return data
    return MARKER_LIKE.sub(" ", data.decode("utf-8", "replace")).encode()


# ── The command ──────────────────────────────────────────────────────────────────────────────────────────────────────

ABOUT = "Gradescope: the autograder itself as a zip, to be uploaded once"
EXAMPLE = "nanolm report gradescope-zip autograder.zip --round week6"


def command(arguments: Sequence[str]) -> int:
    """`nanolm report gradescope-zip FILE`: the autograder for Gradescope."""
    parser = argparse.ArgumentParser(
        prog="nanolm report gradescope-zip", description=f"{ABOUT}.", epilog=f"example:\n  {EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("file", type=Path, metavar="FILE", help="the zip to write")
    parser.add_argument("--round", default="practice", metavar="NAME",
                        help="inputs are drawn from this name and the secret in NANOLM_SECRET")  # fmt: skip
    parser.add_argument("--exercise", action="append", choices=list(EXERCISES), metavar="ID",
                        help=f"only this exercise (repeat for more): {', '.join(EXERCISES)}")  # fmt: skip
    parser.add_argument("--late", default="none", metavar="POLICY",
                        help="what lateness costs; due dates are Gradescope's (default: none)")  # fmt: skip
    parser.add_argument("--visibility", choices=VISIBILITIES, default=VISIBILITIES[0],
                        help="when students see the tests (default: visible, at once)")  # fmt: skip
    parser.add_argument("--isolation", choices=(BEST_MEDIUM, BEST), default=BEST_MEDIUM,
                        help="best also grades where nothing shuts a submission in: it can then give itself "
                             "any grade (default: best-medium)")  # fmt: skip
    parser.add_argument("--torch-index", metavar="URL",
                        help="where the image gets PyTorch: an index of CPU wheels makes it small")  # fmt: skip
    parser.add_argument("--course", type=Path, metavar="DIR", help="the course folder (default: found from here)")
    options = parser.parse_args(arguments)
    try:
        late = str(LatePolicy.parse(options.late))
    except LatePolicyError as error:
        parser.error(f"--late: {error}")
    if not options.file.resolve().parent.is_dir() or options.file.is_dir():
        parser.error(f"{str(options.file)!r} cannot be written: its folder must be there, and it must be no folder")
    exercises = [name for name in EXERCISES if name in (options.exercise or EXERCISES)]
    settings = AutograderSettings(options.round, options.isolation, exercises, late, options.visibility)
    secret = os.environ.get("NANOLM_SECRET", "").encode()
    try:
        names = write_zip(find_root(options.course), options.file, settings, secret, options.torch_index)
    except HouseError as error:
        print(f"nanolm: {error}", file=sys.stderr)
        return CANNOT_START
    except (ReleaseError, ForgeError) as error:
        print(f"nanolm report gradescope-zip: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"nanolm report gradescope-zip: {str(options.file)!r}: {error.strerror}", file=sys.stderr)
        return USAGE
    print(f"{len(names)} files are in {options.file}: no solution line, no marker, no mistake among them")
    if not secret:
        print("NANOLM_SECRET is not set: whoever has this repository can compute the inputs of this round.")
    print("Upload it under Configure Autograder; docs/reports.md says which settings to choose there.")
    return OK
