"""Adapters of `hyper_connections.py`: Sinkhorn, mixing of streams, and the two steps around a branch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nanolm.adapters.student import Student, interface_fault

LISTED = 8
"""How many of a branch's calls the facts describe; more than these are only counted."""


class Branch:
    """What the student's step calls as `branch`: x → tanh(x Aᵀ + b), which no combination of streams commutes with.

    It keeps count of its calls and of how many vectors each one brought.
    """

    def __init__(self, weight_DD: Tensor, bias_D: Tensor) -> None:
        self.weight_DD, self.bias_D = weight_DD, bias_D
        self.calls = 0
        self.shapes: list[list[int]] = []
        self.dtypes: list[str] = []

    def __call__(self, x: Any) -> Tensor:
        """x: [..., D] → [..., D], in x's own dtype."""
        width = self.bias_D.shape[0]
        if not isinstance(x, Tensor):
            raise interface_fault(f"branch was called with a {type(x).__name__}, not with a Tensor")
        if not x.ndim or x.shape[-1] != width:
            raise interface_fault(
                f"branch was called with an input of shape {list(x.shape)}; it expects [..., {width}]"
            )
        self.calls += 1
        if self.calls <= LISTED:
            self.shapes.append(list(x.shape))
            self.dtypes.append(str(x.dtype).removeprefix("torch."))
        return torch.tanh(x @ self.weight_DD.to(x.dtype).T + self.bias_D.to(x.dtype))


def sinkhorn(student: Student) -> None:
    """`sinkhorn(logits[, n_iters])`. Tensors: logits: [..., n, n]. Scalars: n_iters (absent: the default)."""
    rounds = () if "n_iters" not in student.scalars else (student.integer("n_iters"),)
    student.output(student.name("sinkhorn")(student.tensors["logits"], *rounds), of="sinkhorn")


def mix_streams(student: Student) -> None:
    """`mix_streams(R, X)`. Tensors: R: [n, n], X: [..., n, D]."""
    student.output(student.name("mix_streams")(student.tensors["R"], student.tensors["X"]), of="mix_streams")


def hyper_connection_step(student: Student) -> None:
    """`hyper_connection_step(X, R, read, write, branch)`.

    Tensors: X: [..., n, D], R: [n, n], read and write: [n], and the branch's A: [D, D] and b: [D]. Facts: branch.
    """
    given = student.tensors
    branch = Branch(given["A"], given["b"])
    y = student.name("hyper_connection_step")(given["X"], given["R"], given["read"], given["write"], branch)
    _report(student, y, branch, of="hyper_connection_step")


def mhc_step(student: Student) -> None:
    """`mhc_step(X, residual_logits, read_logits, write_logits, branch[, n_iters])`.

    Tensors: X: [..., n, D], residual_logits: [n, n], read_logits and write_logits: [n], A: [D, D], b: [D]. Scalars:
    n_iters (absent: the default). Facts: branch.
    """
    given = student.tensors
    branch = Branch(given["A"], given["b"])
    rounds = () if "n_iters" not in student.scalars else (student.integer("n_iters"),)
    y = student.name("mhc_step")(
        given["X"], given["residual_logits"], given["read_logits"], given["write_logits"], branch, *rounds
    )
    _report(student, y, branch, of="mhc_step")


def _report(student: Student, y: Any, branch: Branch, *, of: str) -> None:
    student.output(y, of=of)
    student.facts["branch"] = {
        "calls": branch.calls,
        "shapes": [list(shape) for shape in branch.shapes],
        "dtypes": list(branch.dtypes),
    }
