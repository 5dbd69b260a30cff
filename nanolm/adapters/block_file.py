"""Adapters of `block.py`: the four steps round sublayers and norms of ours, and the scale of a linear stream."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from nanolm.adapters.student import Student, interface_fault
from nanolm.course_stack import take_course_stack

CALLABLES = {
    "pre_norm_step": ("attn", "ffn", "norm1", "norm2"),
    "post_norm_step": ("attn", "ffn", "norm1", "norm2"),
    "peri_norm_step": ("attn", "ffn", "in1", "out1", "in2", "out2"),
    "output_norm_step": ("attn", "ffn", "out1", "out2"),
}
"""What each step is handed after x, in the order of its signature."""

PLACEMENTS = ("none", "pre", "post")
LISTED = 8
"""How many calls of a callable the facts describe; more than these are only counted."""


class StandIn(nn.Module):
    """What a student's step calls as `attn`, as `ffn` or as a norm: x → tanh(x Aᵀ) + b, or x Aᵀ + b where `straight`.

    No two of them commute, and none is the identity. It is a module, so that it fits wherever a layer fits, and its
    last operation keeps nothing for the way back, so that a step may add to its result in place. It keeps count of its
    calls and of what each one brought.
    """

    def __init__(self, name: str, weight_DD: Tensor, bias_D: Tensor, *, straight: bool = False) -> None:
        super().__init__()
        self._called = name
        self._weight_DD, self._bias_D, self._straight = weight_DD, bias_D, straight
        self.calls = 0
        self.given: list[str] = []
        self.shapes: list[list[int]] = []
        self.dtypes: list[str] = []

    def forward(self, *arguments: Any, **named: Any) -> Tensor:
        """x: [..., D] → [..., D], in x's own dtype."""
        if named or len(arguments) != 1:
            also = f" and {', '.join(sorted(named))} by name" if named else ""
            raise interface_fault(
                f"{self._called} was called with {len(arguments)} arguments{also}; it takes one tensor, by position"
            )
        (x,) = arguments
        width = self._bias_D.shape[0]
        if not isinstance(x, Tensor):
            raise interface_fault(f"{self._called} was called with a {type(x).__name__}, not with a Tensor")
        if not x.ndim or x.shape[-1] != width or not x.is_floating_point():
            raise interface_fault(
                f"{self._called} was called with {str(x.dtype).removeprefix('torch.')} numbers of shape "
                f"{list(x.shape)}; it expects floating-point numbers [..., {width}]"
            )
        self.calls += 1
        if self.calls <= LISTED:
            self.given.append(f"{float(x.detach().reshape(-1)[0]):.6g}" if x.numel() else "")
            self.shapes.append(list(x.shape))
            self.dtypes.append(str(x.dtype).removeprefix("torch."))
        y = x @ self._weight_DD.to(x.dtype).T
        return (y if self._straight else torch.tanh(y)) + self._bias_D.to(x.dtype)


def pre_norm_step(student: Student) -> None:
    """`pre_norm_step(x, attn, ffn, norm1, norm2)`."""
    _step(student, "pre_norm_step")


def post_norm_step(student: Student) -> None:
    """`post_norm_step(x, attn, ffn, norm1, norm2)`."""
    _step(student, "post_norm_step")


def peri_norm_step(student: Student) -> None:
    """`peri_norm_step(x, attn, ffn, in1, out1, in2, out2)`."""
    _step(student, "peri_norm_step")


def output_norm_step(student: Student) -> None:
    """`output_norm_step(x, attn, ffn, out1, out2)`."""
    _step(student, "output_norm_step")


def _step(student: Student, name: str) -> None:
    """Tensors: x: [..., D], and A: [D, D] and b: [D] of each callable (`attn_A`, …). Facts: callables.

    Scalars: straight (true: affine callables, without the tanh).
    """
    given, straight = student.tensors, bool(student.scalars.get("straight", False))
    callables = {
        callee: StandIn(callee, given[f"{callee}_A"], given[f"{callee}_b"], straight=straight)
        for callee in CALLABLES[name]
    }
    student.output(student.name(name)(given["x"], *callables.values()), of=name)
    student.facts["callables"] = {
        callee: {
            "calls": used.calls,
            "given": list(used.given),
            "shapes": [list(shape) for shape in used.shapes],
            "dtypes": list(used.dtypes),
        }
        for callee, used in callables.items()
    }


def forward_scale(student: Student) -> None:
    """`forward_scale(h0, weights, placement)`. Tensors: h0: [D], weights: [L, D, D]. Scalars: placement."""
    given = student.tensors
    scale = student.name("forward_scale")(given["h0"], given["weights"], student.scalars["placement"])
    student.output(scale, of="forward_scale")


def course_forward_scales(student: Student) -> None:
    """`forward_scale` of the course's stack for each placement, each an output under its own name."""
    h0, weights = take_course_stack()
    for placement in PLACEMENTS:
        scale = student.name("forward_scale")(h0.clone(), weights, placement)
        student.output(scale, name=placement, of=f"forward_scale(…, {placement!r})")


def forward_scale_refusal(student: Student) -> None:
    """How `forward_scale` refuses: output y is 1 for a ValueError, 2 for another exception, 0 where it returns.

    For the diagnosis, which takes an exception for a fault: here one is the right answer.
    """
    try:
        forward_scale(student)
        refusal = 0.0
    except ValueError:
        refusal = 1.0
    except (LookupError, AssertionError, TypeError, NameError):
        refusal = 2.0
    student.outputs["y"] = torch.tensor(refusal)
