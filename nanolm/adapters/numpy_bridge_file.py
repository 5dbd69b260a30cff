"""Adapters of `numpy_bridge.py`: its functions get NumPy arrays and give NumPy arrays.

Tests have tensors; here, beside the student's code, each is an array over the same memory, strides kept. Nothing here
calls torch: a grader's worker takes it away before the first line of such an exercise, and has arrays from the start.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from nanolm.adapters.student import Student, interface_fault
from nanolm.layout import Array
from nanolm.protocol import Outcome, StudentFault

OPTIONS = ("alpha", "gate_limit", "up_limit", "shift_up")


def rms_norm(student: Student) -> None:
    """`rms_norm(x[, gamma][, eps])`. Tensors: x: [..., D], gamma: [D] or absent. Scalars: eps or absent. Output y."""
    _norm(student, "rms_norm", "gamma")


def layer_norm(student: Student) -> None:
    """`layer_norm(x[, gamma][, beta][, eps])`. Tensors: x: [..., D], gamma and beta: [D] or absent. Scalars: eps."""
    _norm(student, "layer_norm", "gamma", "beta")


def stable_sigmoid(student: Student) -> None:
    """`stable_sigmoid(z)`. Tensors: z, of any shape. Output y: as z."""
    _call(student, "stable_sigmoid", "z")


def silu(student: Student) -> None:
    """`silu(z)`. Tensors: z, of any shape. Output y: as z."""
    _call(student, "silu", "z")


def gelu(student: Student) -> None:
    """`gelu(z)`. Tensors: z, of any shape. Output y: as z."""
    _call(student, "gelu", "z")


def gelu_sigmoid(student: Student) -> None:
    """`gelu_sigmoid(z)`. Tensors: z, of any shape. Output y: as z."""
    _call(student, "gelu_sigmoid", "z")


def swiglu(student: Student) -> None:
    """`swiglu(gate, up, **options)`. Tensors: gate, up. Scalars: the options that are given. Output y: as gate."""
    _call(student, "swiglu", "gate", "up", options={k: student.scalars[k] for k in OPTIONS if k in student.scalars})


def swiglu_mlp(student: Student) -> None:
    """`swiglu_mlp(x, w_gate, w_up, w_down)`. Tensors: x: [..., D], w_gate, w_up: [D, F], w_down: [F, D]. Output y."""
    _call(student, "swiglu_mlp", "x", "w_gate", "w_up", "w_down")


def refusal(student: Student) -> None:
    """How a function refuses: output y is 2 for a ValueError, 3 for another exception, 4 where it returns.

    Scalars: function, and its own. For the diagnosis, which takes an exception for a fault: here one is right.
    """
    try:
        REFUSING[str(student.scalars["function"])](student)
        kind = 4.0
    except (NotImplementedError, StudentFault):
        raise
    except Exception as error:
        kind = 2.0 if isinstance(error, ValueError) else 3.0
    student.output_array(np.array(kind, dtype=np.float32))


REFUSING = {function.__name__: function for function in (rms_norm, layer_norm, swiglu)}


def _norm(student: Student, name: str, *parameters: str) -> None:
    """A norm, everything by position: None stands for what is left out before something that is given."""
    given: list[Any] = [student.array(key) if key in student.tensors else None for key in parameters]
    given.append(student.scalars.get("eps"))
    while given and given[-1] is None:
        given.pop()
    _call(student, name, "x", more=tuple(given))


def _call(
    student: Student, name: str, *tensors: str, more: tuple[Any, ...] = (), options: Mapping[str, Any] | None = None
) -> None:
    """Call the student's function with arrays; one that cannot be called like this is a wrong interface."""
    function = student.name(name)
    arguments = [*(student.array(tensor) for tensor in tensors), *more]
    named = options or {}
    try:
        inspect.signature(function).bind(*arguments, **named)
    except TypeError as error:
        raise interface_fault(f"{name} cannot be called as the exercise calls it: {error}") from None
    except ValueError:  # a callable without a readable signature: the call itself will tell
        pass
    # A warning costs nothing: none is printed, and no setting of the student's or of pytest's makes an error of it.
    with np.errstate(all="ignore"):
        value = function(*arguments, **named)
    student.output_array(_floating(value, name))


def _floating(value: Any, name: str) -> Array:
    """A copy of a floating-point array; anything else is a fault that says what came instead."""
    if value is None:
        raise interface_fault(f"{name} returned nothing (None): is a `return` missing?")
    if not isinstance(value, np.ndarray | np.generic):
        raise interface_fault(f"{name} returned a {type(value).__name__}, not a NumPy array")
    array = np.asarray(value)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise StudentFault(
            Outcome.WRONG_DTYPE, f"{name} returned an array of dtype {array.dtype}, not of a floating-point dtype"
        )
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
