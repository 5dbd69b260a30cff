"""Adapters of `modules.py`: RMSNorm and SwiGLU."""

from __future__ import annotations

import torch
from torch import nn
from torch.func import functional_call

from nanolm.adapters.student import CONSTRUCTION_SEED, Student, interface_fault
from nanolm.untrusted import listed

GAIN_NAMES = ("gamma", "weight", "scale", "g", "gain", "w")
PROJECTIONS = ("w_gate", "w_up", "w_down")


def rms_norm(student: Student) -> None:
    """`RMSNorm(d_model[, eps])(x)` with its gain set to `gamma`, or as it was built where none is given.

    Tensors: x: [..., D], gamma: [D] or absent. Scalars: d_model, eps (absent: the default). Output y: [..., D].
    """
    x = student.tensors["x"]
    eps = student.scalars.get("eps")
    d_model = student.integer("d_model")
    module = student.build("RMSNorm", d_model) if eps is None else student.build("RMSNorm", d_model, eps)
    student.place(module, x)
    replaced = {}
    if "gamma" in student.tensors:
        replaced[_gain_name(student, module, d_model)] = student.tensors["gamma"]
    student.output(functional_call(module, replaced, (x,)), of="RMSNorm.forward")


def _gain_name(student: Student, module: nn.Module, d_model: int) -> str:
    """Which parameter is the gain: by its name, else by its shape; another name is noted and costs nothing."""
    shapes = {name: tuple(value.shape) for name, value in module.named_parameters()}
    candidates = [name for name, shape in shapes.items() if shape == (d_model,)]
    named = [name for name in GAIN_NAMES if name in candidates]
    if not candidates or not (named or len(candidates) == 1):
        found = listed(f"{name} {list(shape)}" for name, shape in shapes.items())
        raise interface_fault(
            f"RMSNorm({d_model}) should hold one nn.Parameter `gamma` of shape [{d_model}]; its parameters: {found}"
        )
    name = named[0] if named else candidates[0]
    if name != "gamma":
        student.notes.append(f"RMSNorm's gain is called `{name}`; the exercise calls it `gamma`.")
    return name


def rms_norm_fresh(student: Student) -> None:
    """A fresh `RMSNorm(d_model)`: its parameters. Scalars: d_model. Outputs parameter:<name>.

    Facts: trained; drawn, the parameters that are other numbers when the same is built from another seed.
    """
    d_model = student.integer("d_model")
    module = student.build("RMSNorm", d_model)
    student.describe(module)
    other = dict(student.build("RMSNorm", d_model, seed=CONSTRUCTION_SEED + 1).named_parameters())
    student.facts["drawn"] = [
        name
        for name, value in module.named_parameters()
        if name in other and value.shape == other[name].shape and not _alike(value, other[name])
    ]


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal, and NaN where the other is."""
    return torch.allclose(one.detach().double(), other.detach().double(), rtol=0.0, atol=0.0, equal_nan=True)


def swiglu(student: Student) -> None:
    """`SwiGLU(d_model, d_ff)(x)` with its three maps set.

    Tensors: x: [..., D], w_gate and w_up: [F, D], w_down: [D, F] (the layout of nn.Linear). Scalars: d_model, d_ff.
    Output y: [..., D]. A bias that should not be there is set to zero, so that it costs its own test only.
    """
    module = student.build("SwiGLU", student.integer("d_model"), student.integer("d_ff"))
    x = student.tensors["x"]
    student.place(module, x)
    parameters = dict(module.named_parameters())
    missing = [name for name in PROJECTIONS if f"{name}.weight" not in parameters]
    if missing:
        found = listed(parameters)
        raise interface_fault(
            f"SwiGLU should hold the nn.Linear maps {', '.join(PROJECTIONS)}; "
            f"missing: {', '.join(missing)}; its parameters: {found}"
        )
    replaced = {f"{name}.weight": student.tensors[name] for name in PROJECTIONS}
    replaced |= {name: value.detach() * 0 for name, value in parameters.items() if name.endswith(".bias")}
    student.output(functional_call(module, replaced, (x,)), of="SwiGLU.forward")


def swiglu_fresh(student: Student) -> None:
    """A fresh `SwiGLU(d_model, d_ff)`: its parameters. Scalars: d_model, d_ff. Outputs parameter:<name>.

    Facts: trained; linear, the children that are nn.Linear.
    """
    module = student.build("SwiGLU", student.integer("d_model"), student.integer("d_ff"))
    student.describe(module)
    student.facts["linear"] = [name for name, child in module.named_modules() if isinstance(child, nn.Linear)]
