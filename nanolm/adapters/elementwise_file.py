"""Adapters of `elementwise.py`: DyT and DyISRU, whose parameters are a number, a gain and a shift."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from nanolm.adapters.modules_file import GAIN_NAMES
from nanolm.adapters.student import CONSTRUCTION_SEED, Student, interface_fault
from nanolm.untrusted import listed

SHIFT_NAMES = ("beta", "bias", "shift", "offset")
GAMMA, BETA = ("gamma", "beta", GAIN_NAMES, 1.0), ("beta", "gamma", SHIFT_NAMES, 0.0)
"""Each role with its counterpart, the names that it usually has, and the number that it starts at."""


@dataclass(frozen=True)
class Curve:
    """One of the two classes: its name, its one-number parameter, and the argument that says where that begins."""

    name: str
    number: str
    start: str


DYT = Curve("DyT", "alpha", "alpha0")
DYISRU = Curve("DyISRU", "r", "b0")


def dyt(student: Student) -> None:
    """`DyT(d_model[, alpha0])(x)` with the parameters that are given; the others are as it was built.

    Tensors: x: [..., D]; alpha: [], gamma: [D] and beta: [D] or absent. Scalars: d_model, alpha0 (absent: the default).
    Output y: [..., D].
    """
    _call(student, DYT)


def dyisru(student: Student) -> None:
    """`DyISRU(d_model[, b0])(x)` with the parameters that are given; the others are as it was built.

    Tensors: x: [..., D]; r: [], gamma: [D] and beta: [D] or absent. Scalars: d_model, b0 (absent: the default).
    Output y: [..., D].
    """
    _call(student, DYISRU)


def dyt_fresh(student: Student) -> None:
    """A fresh `DyT(d_model[, alpha0])`: its parameters. Scalars: d_model, alpha0 (absent: the default).

    Outputs parameter:<name>. Facts: trained, drawn, and roles, the names of alpha, gamma and beta where they are found.
    """
    _describe(student, DYT)


def dyisru_fresh(student: Student) -> None:
    """A fresh `DyISRU(d_model[, b0])`: its parameters, as `dyt_fresh` has them, with r in the place of alpha."""
    _describe(student, DYISRU)


def _build(student: Student, curve: Curve, seed: int = CONSTRUCTION_SEED) -> nn.Module:
    start = student.scalars.get(curve.start)
    sizes = (student.integer("d_model"),) if start is None else (student.integer("d_model"), start)
    return student.build(curve.name, *sizes, seed=seed)


def _call(student: Student, curve: Curve) -> None:
    """A parameter that is not there cannot be set: the module goes on with what it has instead."""
    module = _build(student, curve)
    x = student.tensors["x"]
    student.place(module, x)
    parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
    roles = _roles(student, curve, parameters)
    replaced = {}
    for role in (curve.number, "gamma", "beta"):
        name = roles.get(role) or (role if role in buffers else None)
        if role in student.tensors and name is not None:
            held = parameters[name] if name in parameters else buffers[name]
            replaced[name] = _fitted(student.tensors[role], held)
    student.output(functional_call(module, replaced, (x,)), of=f"{curve.name}.forward")


def _fitted(value: Tensor, held: Tensor) -> Tensor:
    """The value in the shape that the module holds: another shape than the exercise's costs its own test only."""
    if value.numel() == held.numel():
        return value.reshape(held.shape)
    return value.expand(held.shape) if value.numel() == 1 else value


def _describe(student: Student, curve: Curve) -> None:
    module = _build(student, curve)
    student.describe(module)
    parameters = dict(module.named_parameters())
    other = dict(_build(student, curve, CONSTRUCTION_SEED + 1).named_parameters())
    student.facts["drawn"] = [
        name
        for name, value in parameters.items()
        if name in other and value.shape == other[name].shape and not _alike(value, other[name])
    ]
    student.facts["roles"] = {**_roles(student, curve, parameters)}


def _alike(one: Tensor, other: Tensor) -> bool:
    """Equal, and NaN where the other is."""
    return torch.allclose(one.detach().double(), other.detach().double(), rtol=0.0, atol=0.0, equal_nan=True)


def _roles(student: Student, curve: Curve, parameters: Mapping[str, Tensor]) -> dict[str, str]:
    """Which parameter is which: by its own name; else by its shape, and gamma and beta by a usual name or their start.

    Another name is noted and costs nothing. A role that no parameter can have is missing; where two parameters could be
    gamma and beta and nothing tells them apart, that is a fault.
    """
    width = student.integer("d_model")
    roles: dict[str, str] = {}

    def left(fits: Callable[[Tensor], bool]) -> list[str]:
        return [name for name, value in parameters.items() if name not in roles.values() and fits(value)]

    def rows() -> list[str]:
        return left(lambda value: value.numel() == width and value.shape[-1:] == (width,))

    def take(role: str, *groups: list[str]) -> None:
        only = next((group[0] for group in groups if len(group) == 1), None)
        if role not in roles and only is not None:
            roles[role] = only

    for role in (curve.number, "gamma", "beta"):
        take(role, [name for name in parameters if _own(name) == role])
    take(curve.number, left(lambda value: value.numel() == 1))
    for role, other, names, start in (GAMMA, BETA, GAMMA):
        usual = [name for name in rows() if _own(name) in names]
        begun = [name for name in rows() if bool((parameters[name] == start).all())]
        take(role, usual, begun, rows() if other in roles else [])
    if len(rows()) > 1 and not {"gamma", "beta"} & set(roles):
        shown = listed(f"{name} {list(value.shape)}" for name, value in parameters.items())
        raise interface_fault(
            f"{curve.name}({width}) should hold `gamma` and `beta` of shape [{width}]; "
            f"its parameters do not say which is which: {shown}"
        )
    take(curve.number, rows())
    for role, name in roles.items():
        if _own(name) != role:
            student.notes.append(f"{curve.name}'s {role} is called `{_own(name)}`; the exercise calls it `{role}`.")
    return roles


def _own(name: str) -> str:
    """A parameter's name without the modules around it."""
    return name.rpartition(".")[2]
