"""Fixtures of the graded tests: an exercise's entry points as plain calls, wherever the code behind them runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from nanolm.implementation import Implementation
from nanolm.protocol import Scalar

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class FreshModule:
    """A module just built: parameter shapes and values by name, and which children are nn.Linear."""

    shapes: dict[str, list[int]]
    values: dict[str, Tensor]
    linear: list[str]


class ModuleCalls:
    """Calls of one module class of `modules.py`; `entry` is its adapter's name."""

    def __init__(self, implementation: Implementation, entry: str) -> None:
        self._implementation = implementation
        self._entry = entry

    def _value(self, tensors: Mapping[str, Tensor | None], scalars: Mapping[str, Scalar]) -> Tensor:
        return self._implementation.call(self._entry, tensors, scalars).tensors["y"]

    def _gradients(
        self, tensors: Mapping[str, Tensor | None], scalars: Mapping[str, Scalar], upstream: Tensor
    ) -> dict[str, Tensor]:
        return self._implementation.call(self._entry, tensors, scalars, upstream={"y": upstream}).gradients

    def _arguments(self, tensors: Mapping[str, Tensor | None], scalars: Mapping[str, Scalar]) -> dict[str, Tensor]:
        return self._implementation.call(self._entry, tensors, scalars, return_arguments=True).arguments

    def _fresh(self, scalars: Mapping[str, Scalar]) -> FreshModule:
        reply = self._implementation.call(f"{self._entry}_fresh", {}, scalars)
        prefix = "parameter:"
        values = {name.removeprefix(prefix): value for name, value in reply.tensors.items() if name.startswith(prefix)}
        facts: Any = reply.facts
        return FreshModule(facts["parameters"], values, facts.get("linear", []))


class RMSNormCalls(ModuleCalls):
    """`RMSNorm(D, eps)(x)` with a given gain: x: [..., D], gamma: [D]; D is read off x."""

    def __call__(self, x: Tensor, gamma: Tensor | None = None, eps: float | None = None) -> Tensor:
        """The output y: [..., D]."""
        return self._value({"x": x, "gamma": gamma}, {"d_model": x.shape[-1], "eps": eps})

    def gradients(self, x: Tensor, gamma: Tensor, eps: float, upstream: Tensor) -> dict[str, Tensor]:
        """Gradients of sum(upstream · y) with respect to x and gamma."""
        return self._gradients({"x": x, "gamma": gamma}, {"d_model": x.shape[-1], "eps": eps}, upstream)

    def arguments_after(self, x: Tensor, gamma: Tensor, eps: float) -> dict[str, Tensor]:
        """x and gamma as the call left them."""
        return self._arguments({"x": x, "gamma": gamma}, {"d_model": x.shape[-1], "eps": eps})

    def fresh(self, d_model: int) -> FreshModule:
        """A module just built by `RMSNorm(d_model)`."""
        return self._fresh({"d_model": d_model})


class SwiGLUCalls(ModuleCalls):
    """`SwiGLU(D, F)(x)` with given maps: x: [..., D], w_gate and w_up: [F, D], w_down: [D, F] (nn.Linear's layout)."""

    def __call__(self, x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
        """The output y: [..., D]."""
        return self._value(*self._pack(x, w_gate, w_up, w_down))

    def gradients(self, x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, upstream: Tensor) -> dict[str, Tensor]:
        """Gradients of sum(upstream · y) with respect to x and the three maps."""
        return self._gradients(*self._pack(x, w_gate, w_up, w_down), upstream)

    def arguments_after(self, x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> dict[str, Tensor]:
        """x and the maps as the call left them."""
        return self._arguments(*self._pack(x, w_gate, w_up, w_down))

    def fresh(self, d_model: int, d_ff: int) -> FreshModule:
        """A module just built by `SwiGLU(d_model, d_ff)`."""
        return self._fresh({"d_model": d_model, "d_ff": d_ff})

    @staticmethod
    def _pack(
        x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor
    ) -> tuple[dict[str, Tensor | None], dict[str, Scalar]]:
        tensors: dict[str, Tensor | None] = {"x": x, "w_gate": w_gate, "w_up": w_up, "w_down": w_down}
        return tensors, {"d_model": x.shape[-1], "d_ff": w_gate.shape[0]}


@pytest.fixture(scope="session")
def rms_norm(implementation: Implementation) -> RMSNormCalls:
    """The exercise rmsnorm."""
    return RMSNormCalls(implementation, "rms_norm")


@pytest.fixture(scope="session")
def swiglu(implementation: Implementation) -> SwiGLUCalls:
    """The exercise swiglu."""
    return SwiGLUCalls(implementation, "swiglu")
