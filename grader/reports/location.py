"""Where in a student's files a verdict points: the failing line where its message says so, else the definition.

The file is looked at line by line with regular expressions and is never parsed: a text made to break a parser is a
submission like any other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.places import EXERCISES as FOLDER
from grader.submissions import read_submission
from nanolm.course import EXERCISES, exercise_files
from nanolm.untrusted import printable
from nanolm.verdict import Verdict

ENTRY_POINTS: Mapping[str, tuple[str, ...]] = {
    "rmsnorm": ("RMSNorm",),
    "swiglu": ("SwiGLU",),
    "budget": ("swiglu_ffn_dim", "ffn_params", "attention_params", "block_params", "model_params"),
    "qk_norm": ("l2_qk_scores", "per_head_rms_norm", "full_width_rms_norm", "soft_cap"),
    "mhc": ("sinkhorn", "mix_streams", "hyper_connection_step", "mhc_step"),
    "placement": ("pre_norm_step", "post_norm_step", "peri_norm_step", "output_norm_step", "forward_scale"),
    "gpt_oss": ("split_gate_up", "clamped_swiglu"),
    "elementwise": ("DyT", "DyISRU"),
    "numpy_bridge": (
        "rms_norm", "layer_norm", "stable_sigmoid", "silu", "gelu", "gelu_sigmoid", "swiglu", "swiglu_mlp",
    ),
}  # fmt: skip
"""The public names of each exercise, in the order in which its file gives them."""


MAX_PATH = 1000


@dataclass(frozen=True)
class SourceFile:
    """A student's file: where it lies in the repository, and the text that was graded."""

    path: str
    text: str


Sources = Mapping[str, SourceFile]
"""By the exercise file's name, `modules.py`."""


@dataclass(frozen=True)
class Location:
    """A line of a file of the repository; lines count from 1."""

    path: str
    line: int


def locate(verdict: Verdict, sources: Sources) -> Location | None:
    """Where `verdict` points; None where its file was not handed in."""
    file = EXERCISES[verdict.exercise].file
    source = sources.get(file)
    if source is None:
        return None
    return Location(source.path, _line_in_message(verdict, file, source) or _line_of_definition(verdict, source))


def _line_in_message(verdict: Verdict, file: str, source: SourceFile) -> int | None:
    """The line that the message names first; what the student's own code raised may name another, of the same file."""
    named = re.search(rf"\b{re.escape(file)} line ([0-9]{{1,6}})\b", verdict.message)
    if named is None:
        return None
    return min(max(int(named[1]), 1), source.text.count("\n") + 1)


def _line_of_definition(verdict: Verdict, source: SourceFile) -> int:
    """The line that defines what the message says was called, else the exercise's first entry point, else line 1."""
    headline = verdict.message.partition("\n")[0]
    names = ENTRY_POINTS[verdict.exercise]
    called = [name for name in names if re.search(rf"\b{name}\b", headline)]
    for name in (*called, *names):
        defined = list(re.finditer(rf"^(?:(?:class|def)[ \t]+{name}\b|{name}[ \t]*=)", source.text, re.MULTILINE))
        if defined:  # of several definitions Python keeps the last
            return source.text.count("\n", 0, defined[-1].start()) + 1
    return 1


def sources_of(submission: Path, base: Path) -> Sources:
    """The exercise files of a submission, with their paths relative to `base`, the repository.

    A file that lies elsewhere (in a zip, say) is called by the name that it would have in a repository.
    """
    files = read_submission(submission, exercise_files()).files
    return {file: SourceFile(_path_in_repository(submission, file, base), text) for file, text in files.items()}


def _path_in_repository(submission: Path, file: str, base: Path) -> str:
    for path in (submission / file, submission / FOLDER / file, submission):
        inside = Path(os.path.relpath(path, base))
        if path.suffix == ".py" and path.is_file() and ".." not in inside.parts:
            return printable(inside.as_posix(), MAX_PATH)
    return f"{FOLDER}/{file}"
