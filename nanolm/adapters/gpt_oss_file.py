"""Adapters of `gpt_oss.py`: the split of a packed projection and the clamped activation."""

from __future__ import annotations

from typing import Any

from nanolm.adapters.student import Student, interface_fault


def split_gate_up(student: Student) -> None:
    """`split_gate_up(packed)`. Tensors: packed: [..., 2F]. Outputs gate and up: [..., F] each."""
    gate, up = _pair(student.name("split_gate_up")(student.tensors["packed"]))
    student.output(gate, name="gate", of="split_gate_up, as the gate,")
    student.output(up, name="up", of="split_gate_up, as up,")


def clamped_swiglu(student: Student) -> None:
    """`clamped_swiglu(packed[, alpha[, limit]])`.

    Tensors: packed: [..., 2F]. Scalars: alpha, limit (absent: the default; limit comes with alpha). Output y: [..., F].
    """
    settings = [student.scalars[name] for name in ("alpha", "limit") if name in student.scalars]
    student.output(student.name("clamped_swiglu")(student.tensors["packed"], *settings), of="clamped_swiglu")


def _pair(returned: Any) -> tuple[Any, Any]:
    """Whatever a caller can unpack as `gate, up = …`: a tuple, a list, a tensor with two members."""
    if returned is None:
        raise interface_fault("split_gate_up returned nothing (None): is a `return` missing?")
    try:
        gate, up = returned
    except (TypeError, ValueError):
        kind = type(returned).__name__
        raise interface_fault(f"split_gate_up returned a {kind} that is not a pair (gate, up)") from None
    return gate, up
