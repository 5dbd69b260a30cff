"""Experiments on several residual streams: Sinkhorn's residuals, and what mixing does to scale and to sums."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from nanolm.experiments.lab import Lab
from nanolm.experiments.result import Claim, Number, Panel, Result, Table

ROUNDS = (1, 20, 100)
LAYERS = 32


def sinkhorn(lab: Lab) -> Result:
    """Row and column sums after 1, 20 and 100 iterations, from the course's matrix and from a rougher one."""
    function = lab.name("hyper_connections.py", "sinkhorn")
    course = torch.tensor([[3.0, 1.0], [1.0, 1.0]]).log()
    rough = 3 * torch.randn(4, 4, generator=torch.Generator().manual_seed(6))
    matrices = {"[[3, 1], [1, 1]]": course, "4 x 4, rough": rough}
    rows = tuple(
        (name, str(rounds), *(f"{residual:.1e}" for residual in _residuals(function(logits, rounds))))
        for name, logits in matrices.items()
        for rounds in ROUNDS
    )
    one, three = function(course, 1), function(course, 3)
    numbers = (
        *(
            Number(f"one iteration, entry {row + 1}{column + 1}", one[row, column].item(), wanted, 1e-5)
            for row, column, wanted in ((0, 0, 0.6), (0, 1, 0.4), (1, 0, 1 / 3), (1, 1, 2 / 3))
        ),
        Number("three iterations, entry 11", three[0, 0].item(), 0.63, 0.005),
        Number("three iterations, entry 12", three[0, 1].item(), 0.37, 0.005),
    )
    steps = range(1, 31)
    curves = {
        name: (list(steps), [max(_residuals(function(logits, step))[1], 1e-8) for step in steps])
        for name, logits in matrices.items()
    }
    return Result(
        tables=(Table(("start", "iterations", "rows: |sum - 1|", "columns: |sum - 1|"), rows, "largest residuals"),),
        numbers=numbers,
        claims=(
            Claim("rows are normalised last: they sum to one", max(float(row[2]) for row in rows) < 1e-5),
            Claim("columns come nearer with every round", all(_falls(curve) for _, curve in curves.values())),
        ),
        panels=(Panel("Columns approach their sum", "iterations", "largest |column sum - 1|", curves, log_y=True),),
        remarks=("4 x 4, rough: entries are exponentials of normal numbers of spread 3.",),
    )


def _falls(residuals: list[float]) -> bool:
    """Whether no value is above the one before it, down to where float32's rounding begins."""
    return all(after <= max(before, 1e-6) for before, after in pairwise(residuals))


def _residuals(matrix: Tensor) -> tuple[float, float]:
    """Largest distance from one of the row sums and of the column sums."""
    return tuple((matrix.double().sum(axis) - 1).abs().max().item() for axis in (-1, -2))  # type: ignore[return-value]


def two_streams(lab: Lab) -> Result:
    """The same 32 layers of mixing with a matrix that is free and with one that is doubly stochastic."""
    mix = lab.name("hyper_connections.py", "mix_streams")
    free = torch.tensor([[1.0, 0.3], [0.3, 1.0]], dtype=torch.float64)
    bound = torch.tensor([[0.7, 0.3], [0.3, 0.7]], dtype=torch.float64)
    grown, averaged = [torch.ones(2, 1, dtype=torch.float64)], [torch.tensor([[2.0], [0.0]], dtype=torch.float64)]
    for _ in range(LAYERS):
        grown.append(mix(free, grown[-1]))
        averaged.append(mix(bound, averaged[-1]))
    shown = (0, 1, 2, 4, 8, 16, 32)
    rows = tuple(
        (str(layer), _streams(grown[layer]), _streams(averaged[layer]), f"{averaged[layer].sum().item():.6f}")
        for layer in shown
    )
    layers = list(range(LAYERS + 1))
    return Result(
        tables=(Table(("layers", "[[1, 0.3], [0.3, 1]]", "[[0.7, 0.3], [0.3, 0.7]]", "sum of the second"), rows),),
        numbers=(
            Number("free mixing after 32 layers", grown[-1][0, 0].item(), 4428, 0.5),
            Number("doubly stochastic, one layer, stream 1", averaged[1][0, 0].item(), 1.4, 1e-5),
            Number("doubly stochastic, two layers, stream 1", averaged[2][0, 0].item(), 1.16, 1e-5),
            Number("doubly stochastic, 32 layers, sum", averaged[-1].sum().item(), 2, 1e-5),
        ),
        panels=(
            Panel(
                "The largest of two streams",
                "layers",
                "largest stream",
                {
                    "free": (layers, [state.max().item() for state in grown]),
                    "doubly stochastic": (layers, [state.max().item() for state in averaged]),
                },
                log_y=True,
            ),
        ),
    )


def _streams(state: Tensor) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in state[:, 0].tolist()) + ")"


def streams_mix(lab: Lab) -> Result:
    """A doubly stochastic mix keeps the sum and the range of the streams, and no stream itself."""
    mix = lab.name("hyper_connections.py", "mix_streams")
    before = torch.tensor([[2.0], [6.0]])
    after = mix(torch.tensor([[0.75, 0.25], [0.25, 0.75]]), before)
    rows = tuple(
        (name, _streams(state), f"{state.sum().item():g}", f"{state.min().item():g} … {state.max().item():g}")
        for name, state in {"X": before, "A X": after}.items()
    )
    curves = {f"stream {index + 1}": ((0, 1), (before[index, 0].item(), after[index, 0].item())) for index in range(2)}
    return Result(
        tables=(Table(("", "streams", "sum", "range"), rows, "A = [[0.75, 0.25], [0.25, 0.75]]"),),
        numbers=(
            Number("stream 1 of A X", after[0, 0].item(), 3, 1e-5),
            Number("stream 2 of A X", after[1, 0].item(), 5, 1e-5),
        ),
        panels=(Panel("Two streams, mixed once", "layers", "value", curves, marked=True),),
    )
