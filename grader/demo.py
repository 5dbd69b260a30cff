"""A class of submissions built from the bank: what an instructor finds in the hand-in folder one evening."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.bank import Specimen, combine, read_bank

MARKER = ".made-by-nanolm-demo"
FILE = "modules.py"

MISTAKES = (
    "rmsnorm/centering", "rmsnorm/wrong-axis", "rmsnorm/forgotten-gamma", "rmsnorm/eps-outside-sqrt",
    "rmsnorm/hardcoded-eps", "rmsnorm/low-precision", "rmsnorm/late-widening", "rmsnorm/wrong-dtype",
    "rmsnorm/uninitialised-gamma", "rmsnorm/detached-statistics", "rmsnorm/in-place", "rmsnorm/sum-not-mean",
    "swiglu/swapped-gate-up", "swiglu/gelu-gate__tanh", "swiglu/biased-linear",
    "swiglu/overflowing-sigmoid__gradient-only", "swiglu/rounded-width", "swiglu/missing-down",
    "swiglu/rank-restricted",
)  # fmt: skip
PAIRS = (
    "rmsnorm/centering+forgotten-gamma",
    "rmsnorm/eps-outside-sqrt+wrong-dtype",
    "swiglu/swapped-gate-up+biased-linear",
)
BOTH = (
    ("rmsnorm/centering__var-mean", "swiglu/swapped-gate-up"),
    ("rmsnorm/missing-eps", "swiglu/sigmoid-gate"),
    ("rmsnorm/extra-bias", "swiglu/relu-gate"),
)
ACCEPTED = 8
"""How many right answers, written differently, are in the class."""


class DemoError(ValueError):
    """The demo's folder cannot be used."""


@dataclass(frozen=True)
class Member:
    """One submission of the class: a label, the text of `modules.py` (None: it is missing), and how it is handed in."""

    label: str
    text: str | bytes | None
    form: str = "top"


def build_class(root: Path, into: Path) -> int:
    """Write the class below `into`/class; returns its size. A folder that the demo did not make is left alone."""
    target = into / "class"
    if into.exists() and not (into / MARKER).is_file() and any(into.iterdir()):
        raise DemoError(f"{into} is not empty and was not made by the demo: name another folder with --into DIR")
    into.mkdir(parents=True, exist_ok=True)
    (into / MARKER).touch()
    if target.exists():
        shutil.rmtree(target)
    members = list(_members(root))
    for number, member in enumerate(members, 1):
        _write(target, f"{number:02}-{member.label}", member)
    return len(members)


def _members(root: Path) -> Iterator[Member]:
    solution = (root / "solutions" / FILE).read_text(encoding="utf-8")
    stub = (root / "exercises" / FILE).read_text(encoding="utf-8")
    bank = {f"{s.kind}/{s.exercise}/{s.label}": s for s in read_bank(root)}
    forms = ("top", "exercises", "zip", "subfolder")

    def made(label: str, *specimens: Specimen, form: str = "top") -> Member:
        return Member(label, combine(solution, *specimens), form)

    yield Member("reference", solution, "exercises")
    yield Member("stub", stub)
    for number, name in enumerate(MISTAKES):
        yield made(name.partition("/")[2], bank[f"rejected/{name}"], form=forms[number % 4])
    for name in PAIRS:
        yield made(name.partition("/")[2], bank[f"pairs/{name}"])
    for one, other in BOTH:
        label = f"{one.partition('/')[2]}-and-{other.partition('/')[2]}"
        yield made(label, bank[f"rejected/{one}"], bank[f"rejected/{other}"], form="zip")
    right = [specimen for name, specimen in sorted(bank.items()) if specimen.kind == "accepted"]
    step = max(1, len(right) // ACCEPTED)
    for number, specimen in enumerate(right[::step][:ACCEPTED]):
        yield made(f"right-{specimen.label}", specimen, form=forms[number % 4])
    yield from _broken(solution, stub)


def _broken(solution: str, stub: str) -> Iterator[Member]:
    """What the course's bank does not hold: code that does not run, does not end, or is not there."""
    yield Member("half-done", _replace(solution, "SwiGLU", stub))
    yield Member("syntax-error", solution.replace("self.eps = eps", "self.eps = = eps"))
    yield Member(
        "endless-loop",
        solution.replace("        wide = x.to(", "        while True:\n            pass\n        wide = x.to("),
    )
    yield Member(
        "crash",
        solution.replace("        wide = x.to(", "        import os\n\n        os.abort()\n        wide = x.to("),
    )
    yield Member(
        "missing-import", "import tensorflow as tf\n" + solution.replace("from __future__ import annotations\n", "")
    )
    library = "\n\nclass RMSNorm(nn.RMSNorm):\n    pass\n"
    yield Member("uses-the-library", solution + library)
    yield Member("missing-file", None)
    yield Member("saved-as-latin-1", ("# Lösung\n" + solution).encode("latin-1", errors="replace"))


def _replace(solution: str, name: str, stub: str) -> str:
    """The solution with one class put back to its stub."""
    head, _, _ = solution.partition(f"class {name}(")
    return head + f"class {name}(" + stub.partition(f"class {name}(")[2]


def _write(target: Path, label: str, member: Member) -> None:
    text = member.text.encode() if isinstance(member.text, str) else member.text
    if member.form == "zip" and text is not None:
        target.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target / f"{label}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"exercises/{FILE}", text)
        return
    inner = {"top": "", "exercises": "exercises", "subfolder": "homework", "zip": ""}[member.form]
    folder = target / label / inner
    folder.mkdir(parents=True)
    if text is None:
        (folder / "notes.txt").write_text("I could not finish in time.\n", encoding="utf-8")
    else:
        (folder / FILE).write_bytes(text)
