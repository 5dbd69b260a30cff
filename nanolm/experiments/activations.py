"""Experiments on activations: GELU's approximation, gpt-oss's clamped product, a tanh fitted to a norm."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from nanolm.experiments.lab import Lab
from nanolm.experiments.norms import rms
from nanolm.experiments.result import Claim, Number, Panel, Result, Table


def gelu_gap(lab: Lab) -> Result:
    """The largest distance between GELU and its sigmoid form on an even grid, and where it is; ReLU and SiLU beside."""
    gelu, approximation, silu = (lab.name("numpy_bridge.py", name) for name in ("gelu", "gelu_sigmoid", "silu"))
    z = np.linspace(-6, 6, 4001)
    x = z.tolist()
    exact, near = gelu(z), approximation(z)
    gap = abs(exact - near)
    shown = np.array([-6.0, -4, -2, -1, 0, 1, 2, 4, 6])  # the grid's steps of 0.003 miss most of them
    listed = zip(shown.tolist(), gelu(shown).tolist(), approximation(shown).tolist(), strict=True)
    rows = tuple((f"{at:g}", f"{one:.6f}", f"{other:.6f}", f"{abs(one - other):.6f}") for at, one, other in listed)
    curves = {"ReLU": (z + abs(z)) / 2, "SiLU": silu(z), "z · sigmoid(1.702 z)": near, "GELU": exact}
    middle = abs(z) <= 3  # where the eye tells them apart
    return Result(
        tables=(Table(("z", "GELU", "z · sigmoid(1.702 z)", "gap"), rows),),
        numbers=(Number("largest gap on 4001 points of [-6, 6]", float(gap.max()), 0.020335, 5e-7),),
        panels=(
            Panel(
                "Activations",
                "z",
                "value",
                {name: (z[middle].tolist(), y[middle].tolist()) for name, y in curves.items()},
            ),
            Panel("GELU and its sigmoid form, apart", "z", "|difference|", {"gap": (x, gap.tolist())}),
        ),
        remarks=(f"It is largest at z = {z[gap.argmax()]:.3f}.",),
    )


def _packed(gate: Tensor, up: Tensor) -> Tensor:
    """gate, up: [..., F] → [..., 2F], interleaved as gpt-oss's weights are."""
    return torch.stack((gate, up), -1).flatten(-2)


def gpt_oss_slice(lab: Lab) -> Result:
    """The activation along gate = up = z, and its gate factor alone (up = 0)."""
    activation = lab.name("gpt_oss.py", "clamped_swiglu")
    z = torch.tensor([-9.0, 0.0, 7.0, 9.0], dtype=torch.float64)
    product, factor = (activation(_packed(z, up)) for up in (z, torch.zeros_like(z)))
    rows = tuple(
        (f"{value:g}", f"{gate:.6g}", f"{whole:.6g}")
        for value, gate, whole in zip(z.tolist(), factor.tolist(), product.tolist(), strict=True)
    )
    fine = torch.linspace(-12, 12, 481, dtype=torch.float64)
    curves = {
        "product, gate = up = z": (fine.tolist(), activation(_packed(fine, fine)).tolist()),
        "gate factor, up = 0": (fine.tolist(), activation(_packed(fine, torch.zeros_like(fine))).tolist()),
    }
    return Result(
        tables=(Table(("z", "gate factor", "product"), rows),),
        numbers=(
            Number("product at 7", product[2].item(), 56, 0.05),
            Number("product at 9", product[3].item(), 56, 0.05),
            Number("gate factor at 7", factor[2].item(), 7, 0.005),
        ),
        claims=(
            Claim("7 and 9 give exactly the same: both branches are clamped to 7", bool(product[2] == product[3])),
            Claim("at -9 the product is small and positive", 0 < product[0].item() < 1e-4),
        ),
        panels=(Panel("gpt-oss's activation on one slice", "z", "value", curves),),
    )


def oss_mlp(lab: Lab) -> Result:
    """x → projections → gpt-oss's activation → down projection, packed and unpacked, beside the plain gated FFN."""
    activation = lab.name("gpt_oss.py", "clamped_swiglu")
    swiglu, plain_mlp = (lab.name("numpy_bridge.py", name) for name in ("swiglu", "swiglu_mlp"))
    rng = np.random.default_rng(6)
    width, hidden = 4, 8
    w_gate, w_up = rng.normal(size=(2, width, hidden))
    w_down = rng.normal(size=(hidden, width)) / hidden
    unscaled = rng.normal(size=(3, width))
    rows = []
    for scale in (0.1, 1.0, 10.0):
        x = scale * unscaled
        gate, up = x @ w_gate, x @ w_up
        packed = _packed(torch.from_numpy(gate), torch.from_numpy(up))
        by_torch = activation(packed).numpy() @ w_down
        by_numpy = swiglu(gate, up, alpha=1.702, gate_limit=7.0, up_limit=7.0, shift_up=1.0) @ w_down
        plain = plain_mlp(x, w_gate, w_up, w_down)
        clamped = float(np.mean((gate > 7) | (abs(up) > 7)))
        rows.append(
            (
                f"{scale:g}",
                f"{100 * clamped:.0f} %",
                f"{abs(by_torch).max():.4f}",
                f"{abs(plain).max():.4f}",
                f"{abs(by_torch - by_numpy).max() / abs(by_numpy).max():.0e}",
            )
        )
    columns = (
        "scale of x",
        "clamped",
        "largest |output|, gpt-oss",
        "largest |output|, plain SwiGLU",
        "packed against unpacked",
    )
    scales = [float(row[0]) for row in rows]
    curves = {name: (scales, [float(row[i]) for row in rows]) for i, name in ((2, "gpt-oss"), (3, "plain"))}
    panel = Panel(
        "Output as the input grows", "scale of x", "largest |output|", curves, log_x=True, log_y=True, marked=True
    )
    remarks = (
        "Small inputs: the + 1 on the up branch lets the gate through where the plain product is nearly zero.",
        "Large inputs: the clamps bound what reaches the down projection; the plain product grows with the square.",
    )
    same = Claim("packed and unpacked are one function", max(float(row[4]) for row in rows) < 1e-6)
    return Result(tables=(Table(columns, tuple(rows)),), claims=(same,), panels=(panel,), remarks=remarks)


def dyt_fit(lab: Lab) -> Result:
    """The tanh nearest to RMS normalisation on 200,000 standard normals, and the slopes of DyT and DyISRU at zero."""
    dyt, dyisru = (lab.name("elementwise.py", name) for name in ("DyT", "DyISRU"))
    x = torch.from_numpy(np.random.default_rng(5).standard_normal(200_000)).view(200, 1000)
    coefficients = np.linspace(0.3, 2.0, 171)
    # One RMS for all the values together. An RMSNorm's eps, or float32 in it, would show in the sixth digit.
    target = x / rms(x)
    with torch.no_grad():
        errors = [
            (dyt(x.shape[-1], float(alpha)).double()(x) - target).square().mean().item() for alpha in coefficients
        ]
    best = int(np.argmin(errors))
    slopes = [_slope_at_zero(layer) for layer in (dyt(1, 0.5), dyisru(1, 4.0))]
    grid = torch.linspace(-8, 8, 321)
    with torch.no_grad():
        shapes = {
            "DyT, alpha 0.5": (grid.tolist(), dyt(1, 0.5)(grid[:, None])[:, 0].tolist()),
            "DyISRU, b 4": (grid.tolist(), dyisru(1, 4.0)(grid[:, None])[:, 0].tolist()),
        }
    shown = sorted({0, best, *range(20, 171, 50)})
    rows = tuple((f"{coefficients[index]:.2f}", f"{errors[index]:.6f}") for index in shown)
    return Result(
        tables=(Table(("alpha", "mean squared error"), rows, "tanh(alpha x) against x / RMS(x)"),),
        numbers=(
            Number("best alpha of 171", float(coefficients[best]), 1.43, 0.005),
            Number("its mean squared error", errors[best], 0.161704, 5e-7),
            Number("slope of DyT at zero, alpha 0.5", slopes[0], 0.5, 1e-5),
            Number("slope of DyISRU at zero, b 4", slopes[1], 0.5, 1e-5),
        ),
        panels=(
            Panel("Fit of one coefficient", "alpha", "mean squared error", {"error": (coefficients.tolist(), errors)}),
            Panel("Equal slopes at zero", "x", "value", shapes),
        ),
        remarks=(
            "Equal slopes do not make equal functions: a coefficient fitted for one says nothing about the other.",
        ),
    )


def _slope_at_zero(layer: torch.nn.Module) -> float:
    """The slope beside zero, where both curves are straight to six digits: a right answer may turn on the sign of x."""
    x = torch.full((1, 1), 1e-3, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad is not None
    return x.grad.item()
