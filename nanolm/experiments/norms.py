"""Experiments on norms: eps near zero, the geometry of a normalised vector, and the axis of Q/K norms."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from nanolm.experiments.lab import Lab
from nanolm.experiments.result import Bars, Claim, Number, Panel, Result, Table

EPSILONS = (1e-6, 1e-5)


def rms(x: Tensor) -> float:
    """The size of a whole tensor: x.norm() over the root of how many numbers it holds."""
    return float(torch.linalg.vector_norm(x.double())) / math.sqrt(x.numel())


def epsilon(lab: Lab) -> Result:
    """The gain of RMSNorm at small inputs, and the input scale below which its output is not scale-free."""
    norms = {eps: lab.name("modules.py", "RMSNorm")(64, eps) for eps in EPSILONS}
    signs = torch.tensor([1.0, -1.0]).repeat(32)  # RMS one

    def gain(eps: float, size: float) -> float:
        with torch.no_grad():
            return rms(norms[eps](size * signs)) / size

    def keeps(eps: float, size: float) -> bool:
        """With a hundredth of the output's size lost, nobody would call it unchanged."""
        return gain(eps, size) * size > 0.99

    scales = [10.0**power for power in range(1, -8, -1)]
    rows = tuple((f"{rms:.0e}", *(f"{gain(eps, rms) * rms:.6f}" for eps in EPSILONS)) for rms in scales)
    fine = [10.0 ** (power / 8) for power in range(8, -57, -1)]
    breaks = {eps: _threshold(partial(keeps, eps), 1e-7, 10.0) for eps in EPSILONS}
    return Result(
        tables=(Table(("RMS of x", *(f"RMS out, eps {eps:g}" for eps in EPSILONS)), rows, "the same vector, scaled"),),
        numbers=tuple(
            Number(f"gain at RMS 1e-3, eps {eps:g}", gain(eps, 1e-3), course, 0.05)
            for eps, course in zip(EPSILONS, (707.1, 301.5), strict=True)
        ),
        panels=(
            Panel(
                "Gain of RMSNorm",
                "RMS of the input",
                "RMS out / RMS in",
                {f"eps = {eps:g}": (fine, [gain(eps, rms) for rms in fine]) for eps in EPSILONS},
                log_x=True,
                log_y=True,
            ),
        ),
        remarks=tuple(
            f"eps {eps:g}: scaling x changes the output by more than 1 % once its RMS is below {rms:.2e}."
            for eps, rms in breaks.items()
        ),
    )


def _threshold(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The size from which on something holds, by bisection of its logarithm; NaN if it is not between the two."""
    if holds(low) or not holds(high):
        return math.nan
    while high / low > 1 + 1e-5:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def norm_geometry(lab: Lab) -> Result:
    """Lengths of normalised vectors against √D, LayerNorm's mean, and how ‖x‖² gathers around D."""
    layer_norm = lab.name("numpy_bridge.py", "layer_norm")
    rms_norm = lab.name("modules.py", "RMSNorm")
    rng = np.random.default_rng(6)
    rows, spread, expected = [], [], []
    off_sphere, off_plane = {"RMSNorm": 0.0, "LayerNorm": 0.0}, 0.0
    widths = (16, 64, 256, 1024, 4096)
    for width in widths:
        x = rng.standard_normal((1000, width))
        ratio = (x**2).sum(-1) / width
        with torch.no_grad():
            on_sphere = rms_norm(width)(torch.from_numpy(x).float()).double().numpy()
        centred = layer_norm(x)
        lengths = {
            name: _furthest(np.linalg.norm(vectors, axis=-1) / math.sqrt(width))
            for name, vectors in (("RMSNorm", on_sphere), ("LayerNorm", centred))
        }
        off_sphere = {name: max(off, abs(lengths[name] - 1)) for name, off in off_sphere.items()}
        mean = float(abs(centred.mean(-1)).max())
        off_plane = max(off_plane, mean)
        spread.append(float(ratio.std()))
        expected.append(math.sqrt(2 / width))
        rows.append(
            (
                str(width),
                f"{ratio.mean():.4f}",
                f"{spread[-1]:.4f}",
                f"{expected[-1]:.4f}",
                *(f"{length:.6f}" for length in lengths.values()),
                f"{mean:.0e}",
            )
        )
    three_four = rms_norm(2)(torch.tensor([3.0, 4.0])).tolist()
    minus_plus = layer_norm(np.array([3.0, 4.0])).tolist()
    four = rms_norm(4)(torch.tensor([2.0, -1.0, 3.0, 0.0])).tolist()
    four_centred = layer_norm(np.array([2.0, -1.0, 3.0, 0.0])).tolist()
    columns = (
        "D",
        "mean ‖x‖²/D",
        "its spread",
        "√(2/D)",
        "RMSNorm",
        "LayerNorm",
        "its mean",
    )
    worked = (
        *_worked("RMSNorm(3, 4)", three_four, (0.85, 1.13), 0.005),
        *_worked("LayerNorm(3, 4)", minus_plus, (-1.0, 1.0), 1e-5),
        *_worked("RMSNorm(2, -1, 3, 0)", four, (1.069, -0.535, 1.604, 0.0), 0.0005),
        *_worked("LayerNorm(2, -1, 3, 0)", four_centred, (0.632, -1.265, 1.265, -0.632), 0.0005),
    )
    return Result(
        tables=(
            Table(
                columns,
                tuple(rows),
                "1000 vectors of standard normals a width; RMSNorm, LayerNorm: length / √D, the furthest from 1",
            ),
        ),
        numbers=worked,
        claims=(
            Claim("before its gain, RMSNorm puts a vector on the sphere of radius √D", off_sphere["RMSNorm"] < 1e-4),
            Claim("LayerNorm puts it on that sphere too", off_sphere["LayerNorm"] < 1e-4),
            Claim("and into the hyperplane whose coordinates sum to zero", off_plane < 1e-6),
        ),
        panels=(
            Panel(
                "How far ‖x‖² strays from D",
                "D",
                "spread of ‖x‖²/D",
                {"measured": (widths, spread), "√(2/D)": (widths, expected)},
                log_x=True,
                log_y=True,
                marked=True,
            ),
        ),
    )


def _furthest(ratios: np.ndarray) -> float:
    """Of ratios that should be one, the one furthest from it."""
    return float(ratios[np.argmax(abs(ratios - 1))])


def _worked(name: str, values: list[float], course: tuple[float, ...], within: float) -> tuple[Number, ...]:
    return tuple(
        Number(f"{name}, coordinate {index + 1}", value, wanted, within)
        for index, (value, wanted) in enumerate(zip(values, course, strict=True))
    )


def qk_axis(lab: Lab) -> Result:
    """Two heads of width two; one of them is scaled. Who notices depends on the axis of the mean."""
    per_head = lab.name("qk_norm.py", "per_head_rms_norm")
    full_width = lab.name("qk_norm.py", "full_width_rms_norm")
    q = torch.tensor([[3.0, -1.0], [1.0, 2.0]])  # [N, H]
    scaled = q * torch.tensor([[7.0], [1.0]])
    norms: dict[str, Callable[[Tensor], Tensor]] = {
        "per head": lambda heads: per_head(heads[None, None], torch.ones(2))[0, 0],
        "full width": lambda heads: full_width(heads.reshape(1, 1, 4), torch.ones(4), 2)[0, 0],
    }
    rows, moved = [], {}
    for kind, norm in norms.items():
        before, after = norm(q), norm(scaled)
        for head in range(2):
            change = (after[head] - before[head]).abs().max().item()
            moved[kind, head] = change
            rows.append((kind, str(head), _vector(before[head]), _vector(after[head]), f"{change:.4f}"))
    columns = ("norm", "head", "before", "head 0 times 7", "largest change")
    claims = (
        Claim("per head, scaling one head changes no head", max(moved["per head", head] for head in (0, 1)) < 1e-5),
        Claim("over the full width, it changes both", min(moved["full width", head] for head in (0, 1)) > 0.1),
    )
    bars = {f"{kind}\nhead {head}": change for (kind, head), change in moved.items()}
    return Result(
        tables=(Table(columns, tuple(rows)),),
        claims=claims,
        panels=(Bars("Head 0 times 7", "largest change of the output", bars),),
    )


def _vector(x: Tensor) -> str:
    return f"({', '.join(f'{value:.4f}' for value in x.tolist())})"
