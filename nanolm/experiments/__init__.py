"""The course's experiments: each prints a table and can draw a figure, computed by your own implementation.

An experiment holds no formula of an exercise: it calls what the exercises ask for. So it checks them once more, against
the numbers that the course prints.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanolm.experiments.lab import Lab
    from nanolm.experiments.result import Result


@dataclass(frozen=True)
class Experiment:
    """One experiment; its function is `<module>.<name>` with underscores, and is imported when it runs."""

    name: str
    module: str
    title: str
    section: str
    needs: tuple[str, ...]

    def run(self, lab: Lab) -> Result:
        """Carry it out on an implementation."""
        function: Callable[[Lab], Result] = getattr(
            importlib.import_module(f"nanolm.experiments.{self.module}"), self.name.replace("-", "_")
        )
        return function(lab)


EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment("epsilon", "norms", "what eps does near zero", "M6 §5", ("rmsnorm",)),
        Experiment("norm-geometry", "norms", "where a norm puts its output", "M6 §5, W6", ("rmsnorm", "numpy_bridge")),
        Experiment("qk-axis", "norms", "which heads feel it when one head grows", "M6 §7", ("qk_norm",)),
        Experiment("forward-scale", "placement", "36 linear steps, three placements", "M6 §6", ("placement",)),
        Experiment("jacobian", "placement", "the derivative of one residual step", "M6 §4, W6", ("placement",)),
        Experiment("decay", "placement", "0.9 to the 32nd, and the path around it", "W6", ("placement",)),
        Experiment(
            "frozen-stack",
            "placement",
            "pre-norm and Peri-LN on one frozen stack",
            "M6 §6",
            ("rmsnorm", "swiglu", "placement"),
        ),
        Experiment("gelu-gap", "activations", "z · sigmoid(1.702 z) against GELU", "M6 §8", ("numpy_bridge",)),
        Experiment("gpt-oss-slice", "activations", "gpt-oss's product along gate = up", "M6 §9", ("gpt_oss",)),
        Experiment(
            "oss-mlp",
            "activations",
            "gpt-oss's activation before the down projection",
            "M6 §13",
            ("gpt_oss", "numpy_bridge"),
        ),
        Experiment("dyt-fit", "activations", "a tanh fitted to x / RMS(x)", "M6 §11", ("elementwise",)),
        Experiment("ledger", "counting", "Llama-3.1-8B to the last parameter", "M6 §10", ("budget",)),
        Experiment("sinkhorn", "streams", "how fast the sums become one", "M6 §12, W6", ("mhc",)),
        Experiment("two-streams", "streams", "32 layers of mixing, free and constrained", "W6", ("mhc",)),
        Experiment("streams-mix", "streams", "what a doubly stochastic mix keeps", "M6 §12", ("mhc",)),
    )
}
