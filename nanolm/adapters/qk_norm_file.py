"""Adapters of `qk_norm.py`: L2 scores, the two RMS norms and the soft cap."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from nanolm.adapters.student import Student, interface_fault


def l2_qk_scores(student: Student) -> None:
    """`l2_qk_scores(q, k, tau[, eps])`.

    Tensors: q: [..., S, H], k: [..., T, H], tau: [] (or a scalar of that name). Scalars: tau, eps (absent: the
    default). Output y: [..., S, T].
    """
    tau = student.tensors["tau"] if "tau" in student.tensors else student.scalars["tau"]
    _call(student, "l2_qk_scores", student.tensors["q"], student.tensors["k"], tau, *_eps(student))


def per_head_rms_norm(student: Student) -> None:
    """`per_head_rms_norm(q, gamma[, eps])`.

    Tensors: q: [B, S, N, H], gamma: [H]. Scalars: eps (absent: the default). Output y: [B, S, N, H].
    """
    _call(student, "per_head_rms_norm", student.tensors["q"], student.tensors["gamma"], *_eps(student))


def full_width_rms_norm(student: Student) -> None:
    """`full_width_rms_norm(q, gamma, n_heads[, eps])`.

    Tensors: q: [B, S, N*H], gamma: [N*H]. Scalars: n_heads, eps (absent: the default). Output y: [B, S, N, H].
    """
    q, gamma = student.tensors["q"], student.tensors["gamma"]
    _call(student, "full_width_rms_norm", q, gamma, student.integer("n_heads"), *_eps(student))


def soft_cap(student: Student) -> None:
    """`soft_cap(scores, cap)`. Tensors: scores, of any shape. Scalars: cap. Output y: as scores."""
    _call(student, "soft_cap", student.tensors["scores"], student.scalars["cap"])


def soft_cap_refusal(student: Student) -> None:
    """How `soft_cap(scores, cap)` refuses: output y is 1 for a ValueError, 2 for an assertion, 0 where it returns.

    For the diagnosis, which takes an exception for a fault: here one is the right answer.
    """
    try:
        soft_cap(student)
        refusal = 0.0
    except ValueError:
        refusal = 1.0
    except AssertionError:
        refusal = 2.0
    student.outputs["y"] = torch.tensor(refusal)


def _eps(student: Student) -> tuple[Any, ...]:
    return (student.scalars["eps"],) if "eps" in student.scalars else ()


def _call(student: Student, name: str, *arguments: Any) -> None:
    """Call the student's function; one that cannot be called with these arguments is a wrong interface."""
    function = student.name(name)
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise interface_fault(f"{name} cannot be called as the exercise calls it: {error}") from None
    except ValueError:  # a callable without a readable signature: the call itself will tell
        pass
    student.output(function(*arguments), of=name)
