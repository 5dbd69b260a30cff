"""Wrong answers that are in no bank: no evidence, no name. A name that does fit is allowed beside each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.bank import given
from grader.job import Job
from grader.pool import grade_all
from grader.results import SubmissionResult
from grader.session import Settings

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = Settings(ROOT, ("rmsnorm", "swiglu"), round="self-test", secret=b"a secret")

TOP = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
NORM = """
class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d))
        {build}

    def forward(self, x):
        wide, eps, gamma = x.to(torch.promote_types(x.dtype, torch.float32)), self.eps, self.gamma
        ms = wide.square().mean(-1, keepdim=True)
        n = wide / (ms + eps).sqrt()
        y = n * gamma
        {give}
        return y.to(x.dtype)
"""
FFN = """
class SwiGLU(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.w_gate, self.w_up = nn.Linear(d, f, bias=False), nn.Linear(d, f, bias=False)
        self.w_down = nn.Linear(f, d, bias=False)
        {build}

    def forward(self, x):
        g, u, down = self.w_gate(x), self.w_up(x), self.w_down
        s = F.silu(g)
        y = down(s * u)
        {give}
        return y
"""


def norm(give: str = "pass", build: str = "pass") -> str:
    return TOP + NORM.format(build=build, give=give)


def ffn(give: str = "pass", build: str = "pass") -> str:
    return TOP + FFN.format(build=build, give=give)


MAPS = "self.w_gate, self.w_up, self.w_down = (nn.Linear(*s, bias=False) for s in ((d, f), (d, f), (f, d)))"
FIXED = "del self.w_down; self.register_buffer('fixed', torch.ones(d, f))"

RMSNORM: Mapping[str, tuple[str, set[str]]] = {
    "zeros": (norm("y = y * 0"), set()),
    "zeros of a right one": (norm("y = n * 0 * gamma"), set()),
    "ones": (norm("y = y * 0 + 1"), set()),
    "signs": (norm("y = y.sign()"), set()),
    "where positive": (norm("y = (y > 0) * 1.0"), set()),
    "x itself": (norm("y = x * 1"), set()),
    "x times gamma": (norm("y = x * gamma"), set()),
    "gamma itself": (norm("y = gamma + 0 * y"), set()),
    "infinity": (norm("y = y * float('inf')"), set()),
    "NaN": (norm("y = y * float('nan')"), set()),
    "half of it": (norm("y = y * 0.5"), set()),
    "twice": (norm("y = y * 2"), set()),
    "three times": (norm("y = y * 3"), set()),
    "turned": (norm("y = -y"), set()),
    "gain doubled in place": (norm("gamma.data.mul_(2); y = n * gamma"), set()),
    "gain plus a half": (norm("y = n * (gamma + 0.5)"), set()),
    "clamped": (norm("y = y.clamp(-1, 1)"), set()),
    "size one": (norm("y = wide / wide.abs().sum(-1, keepdim=True).clamp_min(eps) * gamma"), set()),
    "by the largest": (norm("y = wide / (wide.abs().amax(-1, keepdim=True) + eps) * gamma"), set()),
    "by the largest, squared": (
        norm("y = wide / (wide.abs().amax(-1, keepdim=True) ** 2 + eps).sqrt() * gamma"),
        set(),
    ),
    "by the median": (norm("y = wide / (wide.abs().median(-1, keepdim=True).values + eps) * gamma"), set()),
    "by the range": (norm("y = wide / (wide.amax(-1, True) - wide.amin(-1, True) + eps) * gamma"), set()),
    "a softmax": (norm("y = wide.softmax(-1) * gamma"), set()),
    "mish": (norm("y = F.mish(n) * gamma"), set()),
    "tanh": (norm("y = n.tanh() * gamma"), set()),
    "cube root": (norm("y = wide / (ms + eps) ** (1 / 3) * gamma"), set()),
    "fourth root": (norm("y = wide / (ms + eps) ** 0.25 * gamma"), set()),
    "fourth moment": (norm("y = wide / ((wide**4).mean(-1, keepdim=True) + eps) ** 0.25 * gamma"), set()),
    "gamma squared and one": (norm("y = n * (gamma**2 + gamma) / 2"), set()),
    "gamma's root": (norm("y = n * gamma.sqrt()"), set()),
    "gamma divided": (norm("y = n / gamma"), set()),
    "gamma added": (norm("y = n + gamma"), set()),
    "gamma's mean": (norm("y = n * gamma.mean()"), set()),
    "gamma turned round": (norm("y = n * gamma.flip(0)"), set()),
    "features turned round": (norm("y = n.flip(-1) * gamma"), set()),
    "a constant eps": (norm("y = wide / (ms + 1e-3).sqrt() * gamma"), {"hardcoded-eps"}),
    "eps ten times": (norm("y = wide / (ms + 10 * eps).sqrt() * gamma"), set()),
    "eps halved": (norm("y = wide / (ms + eps / 2).sqrt() * gamma"), set()),
    "eps taken away": (norm("y = wide / (ms - eps).sqrt() * gamma"), set()),
    "eps on x": (norm("y = (wide + eps) / ms.sqrt().clamp_min(1e-12) * gamma"), {"missing-eps"}),
    "eps twice": (norm("y = wide / ((ms + eps).sqrt() + eps) * gamma"), set()),
    "eps is a parameter": (norm(build="self.eps = nn.Parameter(torch.tensor(eps))"), set()),
    "a second gain": (norm("y = y * self.other", "self.other = nn.Parameter(torch.ones(d))"), set()),
    "a bias of ones": (norm("y = y + self.other - 1", "self.other = nn.Parameter(torch.ones(d))"), set()),
    "an unused map": (norm(build="self.map = nn.Linear(d, d)"), set()),
    "gain counts up": (norm(build="self.gamma = nn.Parameter(torch.arange(d).float())"), set()),
    "gain from 1 to 2": (norm(build="self.gamma = nn.Parameter(torch.linspace(1, 2, d))"), set()),
    "gain alternates": (norm(build="self.gamma = nn.Parameter((-1.0) ** torch.arange(d))"), set()),
    "gain of halves": (norm(build="self.gamma = nn.Parameter(torch.full((d,), 0.5))"), set()),
    "gain of 1/sqrt(D)": (norm(build="self.gamma = nn.Parameter(torch.ones(d) / d**0.5)"), set()),
    "drops out": (norm("y = F.dropout(y, 0.5, True)"), set()),
    "rounded": (norm("y = y.round()"), set()),
    "to float16 and back": (norm("y = y.half()"), set()),
    "fp32 result for half": (norm("return y"), {"wrong-dtype"}),
    "first token only": (norm("y = y * (torch.arange(y.shape[-2] if y.dim() > 1 else 1) == 0)[:, None]"), set()),
    "cumulated": (norm("y = wide / (wide.square().cumsum(-1) + eps).sqrt() * gamma"), set()),
    "without the last feature": (
        norm("y = wide / (wide[..., :-1].square().mean(-1, keepdim=True) + eps).sqrt()"),
        set(),
    ),
}

SWIGLU: Mapping[str, tuple[str, set[str]]] = {
    "zeros": (ffn("y = y * 0"), set()),
    "ones": (ffn("y = y * 0 + 1"), set()),
    "x itself": (ffn("y = x * 1"), set()),
    "NaN": (ffn("y = y * float('nan')"), set()),
    "infinity": (ffn("y = y * float('inf')"), set()),
    "half of it": (ffn("y = y * 0.5"), set()),
    "twice": (ffn("y = y * 2"), set()),
    "turned": (ffn("y = -y"), set()),
    "residual inside": (ffn("y = x + y"), set()),
    "mish gate": (ffn("y = down(F.mish(g) * u)"), set()),
    "tanh gate": (ffn("y = down(g.tanh() * u)"), set()),
    "times tanh": (ffn("y = down(g * g.tanh() * u)"), set()),
    "ELU gate": (ffn("y = down(F.elu(g) * u)"), set()),
    "softplus gate": (ffn("y = down(F.softplus(g) * u)"), set()),
    "leaky gate": (ffn("y = down(F.leaky_relu(g) * u)"), set()),
    "hard gate": (ffn("y = down(F.hardswish(g) * u)"), set()),
    "squared ReLU": (ffn("y = down(F.relu(g) ** 2 * u)"), set()),
    "sharper SiLU": (ffn("y = down(g * torch.sigmoid(2 * g) * u)"), set()),
    "softmax gate": (ffn("y = down(g.softmax(-1) * u)"), set()),
    "gate clamped": (ffn("y = down(F.silu(g.clamp(-7, 7)) * u)"), set()),
    "product clamped": (ffn("y = down((s * u).clamp(-7, 7))"), set()),
    "no activation": (ffn("y = down(g * u)"), set()),
    "SiLU only on the output": (ffn("y = F.silu(down(g * u))"), set()),
    "tanh on the output": (ffn("y = down(s * u).tanh()"), set()),
    "SiLU twice": (ffn("y = down(F.silu(s) * u)"), set()),
    "up squared": (ffn("y = down(s * u * u)"), set()),
    "gate squared": (ffn("y = down(s * s * u)"), set()),
    "the difference": (ffn("y = down(s - u)"), set()),
    "the larger": (ffn("y = down(torch.maximum(s, u))"), set()),
    "up plus one": (ffn("y = down(s * (u + 1))"), set()),
    "gate alone": (ffn("y = down(s)"), set()),
    "dropped out": (ffn("y = down(F.dropout(s * u, 0.5, True))"), set()),
    "the width by D": (ffn(build=f"f = 4 * d; {MAPS}"), set()),
    "a fixed width": (ffn(build=f"f = 64; {MAPS}"), set()),
    "twice the width": (ffn(build=f"f = 2 * f; {MAPS}"), {"rounded-width"}),
    "a norm inside": (ffn("y = down(self.mid(s * u))", "self.mid = nn.BatchNorm1d(f)"), set()),
    "a fourth map": (ffn("y = self.w_out(y)", "self.w_out = nn.Linear(d, d, bias=False)"), set()),
    "transposed maps": (ffn(build=f"d, f = f, d; {MAPS}"), set()),
    "a down map that is no parameter": (ffn("y = F.linear(s * u, self.fixed)", FIXED), {"missing-down"}),
    "gradients of NaN": (ffn("y = y + (x.sum() * 0).sqrt() * 0"), set()),
}


@pytest.fixture(scope="module")
def graded() -> dict[str, SubmissionResult]:
    """All of them, graded in one go."""
    jobs = [
        Job(f"{exercise}: {name}", {"modules.py": source} | given(ROOT), exercises=(exercise,))
        for exercise, variants in (("rmsnorm", RMSNORM), ("swiglu", SWIGLU))
        for name, (source, _) in variants.items()
    ]
    return {result.name: result for result in grade_all(jobs, SETTINGS)}


def test_every_variant_is_wrong(graded: dict[str, SubmissionResult]) -> None:
    assert [name for name, result in graded.items() if result.ungradable or result.score == result.max_score] == []


@pytest.mark.parametrize(("exercise", "variants"), [("rmsnorm", RMSNORM), ("swiglu", SWIGLU)])
def test_no_variant_is_given_the_name_of_another_mistake(
    graded: dict[str, SubmissionResult], exercise: str, variants: Mapping[str, tuple[str, set[str]]]
) -> None:
    false = {
        name: wrong
        for name, (_, allowed) in variants.items()
        if (
            wrong := [
                f"{cause.id} by {cause.evidence}: {cause.message}"
                for cause in graded[f"{exercise}: {name}"].root_causes
                if cause.id.removeprefix(f"{exercise}-") not in allowed
            ]
        )
    }
    assert false == {}
