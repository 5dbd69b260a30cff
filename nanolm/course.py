"""The exercises as data: files, points and sections. A new exercise starts with one entry here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Exercise:
    """One graded exercise; `file` is its name inside `exercises/`, `points` what its tests add up to.

    `names` are the classes and functions that it asks for.
    """

    id: str
    file: str
    points: float
    section: str
    names: tuple[str, ...]


EXERCISES: dict[str, Exercise] = {
    exercise.id: exercise
    for exercise in (
        Exercise("rmsnorm", "modules.py", 14.0, "M6 §5, W6", ("RMSNorm",)),
        Exercise("swiglu", "modules.py", 12.0, "M6 §8, W6", ("SwiGLU",)),
        Exercise(
            "budget",
            "budget.py",
            12.0,
            "M6 §9, §10, W6",
            ("swiglu_ffn_dim", "ffn_params", "attention_params", "block_params", "model_params"),
        ),
        Exercise(
            "qk_norm",
            "qk_norm.py",
            12.0,
            "M6 §7",
            ("l2_qk_scores", "per_head_rms_norm", "full_width_rms_norm", "soft_cap"),
        ),
        Exercise(
            "mhc",
            "hyper_connections.py",
            16.0,
            "M6 §12, W6",
            ("sinkhorn", "mix_streams", "hyper_connection_step", "mhc_step"),
        ),
        Exercise(
            "placement",
            "block.py",
            10.0,
            "M6 §4, §6, W6",
            ("pre_norm_step", "post_norm_step", "peri_norm_step", "output_norm_step", "forward_scale"),
        ),
        Exercise("gpt_oss", "gpt_oss.py", 8.0, "M6 §9, §15", ("split_gate_up", "clamped_swiglu")),
        Exercise("elementwise", "elementwise.py", 6.0, "M6 §11", ("DyT", "DyISRU")),
        Exercise(
            "numpy_bridge",
            "numpy_bridge.py",
            10.0,
            "M6 §5, §8, §9, §13",
            ("rms_norm", "layer_norm", "stable_sigmoid", "silu", "gelu", "gelu_sigmoid", "swiglu", "swiglu_mlp"),
        ),
    )
}

GIVEN_FILES = ("config.py", "attention.py", "model.py")
"""Files that the course supplies; a submission's own version of them is never used."""


def exercise_files(ids: Iterable[str] | None = None) -> tuple[str, ...]:
    """File names of the exercises (of those named, or of all), each once, in course order."""
    wanted = EXERCISES if ids is None else {exercise_id: EXERCISES[exercise_id] for exercise_id in ids}
    return tuple(dict.fromkeys(exercise.file for exercise in wanted.values()))


def is_course(folder: Path) -> bool:
    """Whether a folder is a course's: it holds the graded tests and the exercises."""
    return (folder / "tests" / "tolerances.py").is_file() and (folder / "exercises").is_dir()


def course_above(start: Path) -> Path | None:
    """The nearest course folder, from `start` upwards."""
    return next((folder for folder in (start, *start.parents) if is_course(folder)), None)
