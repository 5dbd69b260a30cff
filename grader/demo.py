"""A class of submissions built from the bank: what an instructor finds in the hand-in folder one evening."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.bank import Specimen, read_bank, texts_with
from grader.stubs import stub_files
from nanolm.course import exercise_files

MARKER = ".made-by-nanolm-demo"

MISTAKES = (
    "rmsnorm/centering", "rmsnorm/wrong-axis", "rmsnorm/forgotten-gamma", "rmsnorm/eps-outside-sqrt",
    "rmsnorm/hardcoded-eps", "rmsnorm/low-precision", "rmsnorm/late-widening", "rmsnorm/wrong-dtype",
    "rmsnorm/uninitialised-gamma", "rmsnorm/detached-statistics", "rmsnorm/in-place",
    "swiglu/swapped-gate-up", "swiglu/gelu-gate__tanh", "swiglu/biased-linear",
    "swiglu/overflowing-sigmoid__gradient-only", "swiglu/rounded-width", "swiglu/missing-down",
    "budget/four-d-three-matrices", "budget/round-down", "budget/mha-not-gqa", "budget/forgotten-final-norm",
    "budget/truncated-first", "budget/missing-validation",
    "qk_norm/kept-sqrt-h", "qk_norm/per-head-instead-of-full", "qk_norm/keys-not-normalized", "qk_norm/across-heads",
    "qk_norm/hard-clip",
    "mhc/rows-only", "mhc/rows-first", "mhc/transposed-mix", "mhc/branch-per-stream", "mhc/overflowing-exp",
    "mhc/single-iteration", "mhc/detached-sinkhorn",
    "placement/normalized-residual", "placement/parallel-branches", "placement/stale-residual__hf",
    "placement/output-for-post", "placement/added-epsilon",
    "gpt_oss/contiguous-halves", "gpt_oss/symmetric-gate-clamp", "gpt_oss/missing-plus-one",
    "elementwise/vector-alpha", "elementwise/raw-b", "elementwise/uninverted-b0", "elementwise/feature-reduction",
    "numpy_bridge/tanh-gelu", "numpy_bridge/overflowing-sigmoid", "numpy_bridge/float64-output",
    "numpy_bridge/unbiased-variance", "numpy_bridge/symmetric-gate-clamp", "numpy_bridge/missing-validation",
)  # fmt: skip
PAIRS = (
    "rmsnorm/centering+forgotten-gamma",
    "rmsnorm/eps-outside-sqrt+wrong-dtype",
    "swiglu/swapped-gate-up+biased-linear",
    "budget/mha-not-gqa+forgotten-norms",
    "qk_norm/forgotten-tau+keys-not-normalized",
    "mhc/rows-first+missing-sigmoid",
    "placement/parallel-branches+shared-norm",
    "gpt_oss/symmetric-gate-clamp+up-clamped-above-only",
    "elementwise/alpha-outside-tanh+raw-b",
    "numpy_bridge/float64-output+tanh-gelu",
)
BOTH = (
    ("rmsnorm/centering__var-mean", "swiglu/swapped-gate-up"),
    ("rmsnorm/missing-eps", "swiglu/sigmoid-gate"),
    ("swiglu/relu-gate", "budget/forgotten-norms"),
    ("budget/round-to-nearest", "mhc/columns-only"),
    ("qk_norm/forgotten-gamma", "mhc/read-mean"),
    ("mhc/rows-only__loop", "placement/post-for-pre"),
)
ACCEPTED = 8
"""How many right answers, written differently, are in the class."""

Files = Mapping[str, str | bytes]


class DemoError(ValueError):
    """The demo's folder cannot be used."""


@dataclass(frozen=True)
class Member:
    """One submission of the class: a label, its files, and how it is handed in."""

    label: str
    files: Files = field(default_factory=dict)
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
    bank = {f"{s.kind}/{s.exercise}/{s.label}": s for s in read_bank(root)}
    forms = ("top", "exercises", "zip", "subfolder")

    def made(*specimens: Specimen, prefix: str = "", form: str = "top") -> Member:
        label = "-and-".join(specimen.label for specimen in specimens)
        return Member(prefix + label, texts_with(root, *specimens), form)

    solution = texts_with(root)
    generated = stub_files(root)  # not what lies in exercises/: somebody may have tried them
    stub = {name: generated[name] for name in exercise_files()}
    yield Member("reference", solution, "exercises")
    yield Member("stub", stub)
    for number, name in enumerate(MISTAKES):
        yield made(bank[f"rejected/{name}"], form=forms[number % 4])
    for name in PAIRS:
        yield made(bank[f"pairs/{name}"])
    for one, other in BOTH:
        yield made(bank[f"rejected/{one}"], bank[f"rejected/{other}"], form="zip")
    right = [specimen for name, specimen in sorted(bank.items()) if specimen.kind == "accepted"]
    step = max(1, len(right) // ACCEPTED)
    for number, specimen in enumerate(right[::step][:ACCEPTED]):
        yield made(specimen, prefix="right-", form=forms[number % 4])
    yield from _broken(solution, stub)


def _broken(solution: dict[str, str], stub: dict[str, str]) -> Iterator[Member]:
    """What the course's bank does not hold: code that does not run, does not end, or is not there."""
    modules = solution["modules.py"]
    forward = "        wide = x.to("
    head, _, _ = modules.partition("class SwiGLU(")
    _, _, unwritten = stub["modules.py"].partition("class SwiGLU(")
    broken = {
        "half-done": f"{head}class SwiGLU({unwritten}",
        "syntax-error": modules.replace("self.eps = eps", "self.eps = = eps"),
        "endless-loop": modules.replace(forward, f"        while True:\n            pass\n{forward}"),
        "crash": modules.replace(forward, f"        import os\n\n        os.abort()\n{forward}"),
        "missing-import": modules.replace("import torch\n", "import tensorflow\nimport torch\n", 1),
        "uses-the-library": f"{modules}\n\nclass RMSNorm(nn.RMSNorm):\n    pass\n",
    }
    for label, text in broken.items():
        yield Member(label, {**solution, "modules.py": text})
    yield Member("one-file-missing", {name: text for name, text in solution.items() if name != "budget.py"})
    yield Member("nothing-in-it", {"notes.txt": "I could not finish in time.\n"})
    yield Member(
        "saved-as-latin-1", {name: f"# Lösung\n{text}".encode("latin-1", "replace") for name, text in solution.items()}
    )


def _write(target: Path, label: str, member: Member) -> None:
    data = {name: text.encode() if isinstance(text, str) else text for name, text in member.files.items()}
    if member.form == "zip":
        target.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target / f"{label}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in data.items():
                archive.writestr(f"exercises/{name}", content)
        return
    inner = {"top": "", "exercises": "exercises", "subfolder": "homework"}[member.form]
    folder = target / label / inner
    folder.mkdir(parents=True)
    for name, content in data.items():
        (folder / name).write_bytes(content)
