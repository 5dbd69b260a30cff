"""Experiments on placement: scale through depth, the derivative of a step, decay, and a frozen stack of real blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from nanolm.course_stack import take_course_stack
from nanolm.experiments.lab import Lab
from nanolm.experiments.norms import rms
from nanolm.experiments.result import Claim, Number, Panel, Result, Table

Step = Callable[[Tensor], Tensor]


class Map(nn.Module):
    """A formula as a module, as a real block's parts are: an answer may put them into containers of modules."""

    def __init__(self, formula: Step) -> None:
        super().__init__()
        if not callable(formula):
            raise TypeError(f"a map is made of a formula, not of {formula!r}")
        self.formula = formula

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., D] → [..., D]."""
        return self.formula(x)


def _silent() -> Map:
    return Map(torch.zeros_like)


def _same() -> Map:
    return Map(torch.clone)


def forward_scale(lab: Lab) -> Result:
    """RMS of the state through 36 linear steps from one input and one stack of matrices."""
    function = lab.name("block.py", "forward_scale")
    h0, weights = take_course_stack()
    scales = {placement: function(h0, weights, placement).tolist() for placement in ("none", "pre", "post")}
    shown = (1, 2, 4, 8, 16, 24, 36)
    rows = tuple((str(step), *(f"{scales[placement][step - 1]:.6g}" for placement in scales)) for step in shown)
    steps = list(range(1, 37))
    return Result(
        tables=(Table(("step", "no norm", "pre", "post"), rows, "RMS after a step"),),
        numbers=(
            Number("no norm, step 36", scales["none"][-1], 412442.094, 0.0005),
            Number("pre, step 36", scales["pre"][-1], 6.42348, 5e-6),
            Number("post, step 36", scales["post"][-1], 1.0, 1e-9),
        ),
        panels=(
            Panel(
                "RMS of the state", "step", "RMS", {name: (steps, scale) for name, scale in scales.items()}, log_y=True
            ),
        ),
        remarks=("Nothing is trained here: this is scale going forward, not a verdict on optimisation.",),
    )


def _jacobian(step: Step, at: list[float]) -> Tensor:
    """The derivative of a step: row i holds the gradient of output i."""
    x = torch.tensor(at, dtype=torch.float64)
    jacobian: Tensor = torch.autograd.functional.jacobian(step, x)  # type: ignore[no-untyped-call]
    return jacobian


def jacobian(lab: Lab) -> Result:
    """I + J of one residual step: an ordinary branch, F(h) = -h, and a branch that forgets a coordinate."""
    pre_norm_step = lab.name("block.py", "pre_norm_step")
    matrix = torch.tensor([[0.1, -0.4], [0.3, 0.2]], dtype=torch.float64)
    branches: dict[str, Step] = {
        "F(h) = W h": lambda h: h @ matrix.T,
        "F(h) = -h": lambda h: -h,
        "F(h) = (-h1, 3)": lambda h: torch.stack((-h[..., 0], torch.full_like(h[..., 1], 3.0)), -1),
    }

    def step(branch: Step) -> Step:
        return lambda x: pre_norm_step(x, Map(branch), _silent(), _same(), _same())

    rows, found = [], {}
    for name, branch in branches.items():
        found[name] = _jacobian(step(branch), [2.0, 1.0])
        flat = "; ".join(" ".join(f"{value:g}" for value in row) for row in found[name].tolist())
        rows.append((name, f"[{flat}]", f"{torch.linalg.det(found[name]).item():g}"))
    forgetful = step(branches["F(h) = (-h1, 3)"])
    outputs = [forgetful(torch.tensor(x, dtype=torch.float64)).tolist() for x in ([2.0, 1.0], [5.0, 1.0])]
    off = (found["F(h) = W h"] - torch.eye(2) - matrix).abs().max().item()
    return Result(
        tables=(Table(("branch", "Jacobian of h + F(h)", "determinant"), tuple(rows)),),
        numbers=(
            Number("I + W, furthest entry", off, 0, 1e-9),
            Number("largest entry for F(h) = -h", found["F(h) = -h"].abs().max().item(), 0, 1e-9),
            Number("determinant for F(h) = (-h1, 3)", torch.linalg.det(found["F(h) = (-h1, 3)"]).item(), 0, 1e-9),
            *(
                Number(f"{start} after it, coordinate {index + 1}", output[index], course, 1e-9)
                for start, output in zip(("(2, 1)", "(5, 1)"), outputs, strict=True)
                for index, course in enumerate((0.0, 4.0))
            ),
        ),
        panels=(_circles({name: step(branch) for name, branch in branches.items()}),),
        remarks=("A residual connection adds; it does not promise that the input can be recovered.",),
    )


def _circles(steps: dict[str, Step]) -> Panel:
    """Where each step takes the unit circle around (2, 1)."""
    angle = torch.linspace(0, 2 * torch.pi, 121, dtype=torch.float64)
    circle = torch.stack((2 + angle.cos(), 1 + angle.sin()), -1)
    curves = {"before": circle, **{name: step(circle) for name, step in steps.items()}}
    return Panel(
        "A circle of states after one step",
        "h1",
        "h2",
        {name: (points[:, 0].tolist(), points[:, 1].tolist()) for name, points in curves.items()},
        equal=True,
    )


LAYERS = 32


def decay(lab: Lab) -> Result:
    """The gradient at the first of 32 layers whose norm has slope 0.9, with the norm on the stream and off it."""
    post_norm_step = lab.name("block.py", "post_norm_step")
    pre_norm_step = lab.name("block.py", "pre_norm_step")
    rng = np.random.default_rng(6)
    matrices = torch.from_numpy(rng.normal(0.0, 0.1 / 4, (LAYERS, 16, 16)))

    def gradient(step: Callable[..., Tensor], weight: float) -> list[float]:
        """Mean size of d(sum of the stream after l layers)/d(the stream before them), for every l."""
        branches = [Map(lambda y, matrix=matrix: weight * (y @ matrix.T)) for matrix in matrices]  # type: ignore[misc]
        sizes = []
        for depth in range(1, LAYERS + 1):
            x = torch.ones(16, dtype=torch.float64, requires_grad=True)
            h: Tensor = x
            for branch in branches[:depth]:
                h = step(h, branch, _silent(), Map(lambda y: 0.9 * y), _same())
            h.sum().backward()  # type: ignore[no-untyped-call]
            assert x.grad is not None
            sizes.append(x.grad.abs().mean().item())
        return sizes

    bare = {"post-norm": gradient(post_norm_step, 0.0), "pre-norm": gradient(pre_norm_step, 0.0)}
    busy = {"post-norm": gradient(post_norm_step, 1.0), "pre-norm": gradient(pre_norm_step, 1.0)}
    shown = (1, 2, 4, 8, 16, 32)
    rows = tuple(
        (str(depth), *(f"{sizes[name][depth - 1]:.4f}" for sizes in (bare, busy) for name in ("post-norm", "pre-norm")))
        for depth in shown
    )
    columns = (
        "layers",
        "post, silent branches",
        "pre, silent branches",
        "post, working branches",
        "pre, working branches",
    )
    depths = list(range(1, LAYERS + 1))
    curves = {
        f"{name}, {what} branches": (depths, sizes[name])
        for what, sizes in (("silent", bare), ("working", busy))
        for name in sizes
    }
    return Result(
        tables=(Table(columns, rows, "size of the gradient at the first layer; every norm is 0.9 x"),),
        numbers=(
            Number("post-norm, silent branches, 32 layers", bare["post-norm"][-1], 0.034, 0.0005),
            Number("pre-norm, silent branches, 32 layers", bare["pre-norm"][-1], 1, 1e-9),
        ),
        panels=(Panel("The gradient's way back", "layers", "size of the gradient", curves, log_y=True),),
        remarks=("Pre-norm keeps a path that no norm touches; post-norm multiplies every path by every norm's slope.",),
    )


def frozen_stack(lab: Lab) -> Result:
    """RMS of the stream through 24 frozen blocks, pre-norm against Peri-LN, with weights of two sizes."""
    rms_norm, swiglu = lab.name("modules.py", "RMSNorm"), lab.name("modules.py", "SwiGLU")
    pre, peri = lab.name("block.py", "pre_norm_step"), lab.name("block.py", "peri_norm_step")
    attention = lab.name("attention.py", "CausalGQA")
    cfg = lab.name("config.py", "ModelConfig")(V=1, D=64, L=24, N=4, K=2, H=16, F=176)
    generator = torch.Generator().manual_seed(6)
    start = torch.randn(1, 32, cfg.D, generator=generator)
    blocks = [(attention(cfg), swiglu(cfg.D, cfg.F)) for _ in range(cfg.L)]
    matrices = [weight for block in blocks for part in block for weight in part.parameters()]
    with torch.no_grad():
        for weight in matrices:
            weight.normal_(0.0, weight.shape[-1] ** -0.5, generator=generator)
    norm = rms_norm(cfg.D)
    steps: dict[str, tuple[Callable[..., Tensor], int]] = {"pre-norm": (pre, 2), "Peri-LN": (peri, 4)}
    scales: dict[tuple[str, float], list[float]] = {}
    with torch.no_grad():
        for factor in (1.0, 3.0):
            for weight in matrices:
                weight.mul_(factor)
            for name, (step, norms) in steps.items():
                h, sizes = start, [rms(start)]
                for attn, ffn in blocks:
                    h = step(h, attn, ffn, *[norm] * norms)
                    sizes.append(rms(h))
                scales[name, factor] = sizes
    grown = {name: scales[name, 3.0][-1] / scales[name, 1.0][-1] for name in steps}
    # Two branches a block, each of RMS one at most.
    bounded = all(
        size <= 1.0001 * (scales["Peri-LN", factor][0] + 2 * layer)
        for factor in (1.0, 3.0)
        for layer, size in enumerate(scales["Peri-LN", factor])
    )
    labels = {key: f"{key[0]}, weights x {key[1]:g}" for key in scales}
    shown = (0, 1, 2, 4, 8, 16, 24)
    rows = tuple((str(layer), *(f"{sizes[layer]:.3f}" for sizes in scales.values())) for layer in shown)
    layers = list(range(cfg.L + 1))
    return Result(
        tables=(Table(("blocks", *labels.values()), rows, "RMS of the stream"),),
        claims=(
            Claim("a Peri-LN branch adds RMS 1 at most, whatever its weights", bounded),
            Claim(
                "larger weights make pre-norm's stream larger and leave Peri-LN's as it is",
                grown["pre-norm"] > 2 and abs(grown["Peri-LN"] - 1) < 0.1,
            ),
        ),
        panels=(
            Panel(
                "One frozen stack, two placements",
                "blocks",
                "RMS of the stream",
                {labels[key]: (layers, sizes) for key, sizes in scales.items()},
                log_y=True,
            ),
        ),
        remarks=(
            "Pre-norm bounds only what a branch reads; Peri-LN also what it adds, until learned scales change it.",
            "Frozen weights say nothing about training.",
        ),
    )
