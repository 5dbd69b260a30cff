"""Operators that are the answer, reached under names that no reader can see: forbidden as they are called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.bank import given
from grader.isolation import open_zygote
from grader.job import Job
from grader.operators import KERNELS
from grader.pool import grade_all
from grader.remote import Limits, WorkerBackend, Zygote
from grader.results import SubmissionResult
from grader.sandbox import BEST
from grader.session import Settings
from grader.together import settled
from nanolm.from_scratch import NORM_FUNCTIONS, check_source
from nanolm.protocol import Call, Outcome, StudentFault
from nanolm.verdict import NamedMistake, Verdict

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a worker's CPU time is read from /proc")

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = Settings(ROOT, ("rmsnorm", "swiglu"), round="self-test", secret=b"a secret")
FULL = {"rmsnorm": 14.0, "swiglu": 12.0}
TOP = "import sys, threading\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn\n"
SWIGLU = """
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))
"""
RMSNORM = """
{before}

class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    {decorator}
    def forward(self, x):
{body}
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.gamma
"""


def modules(before: str = "", body: str = "pass", decorator: str = "") -> str:
    return TOP + RMSNORM.format(before=before, body=f"        {body}", decorator=decorator) + SWIGLU


# ── Whole submissions ────────────────────────────────────────────────────────────────────────────────────────────────

OP = 'OP = getattr(F, "".join(["rms", "_norm"]))'
USE = "return OP(x, (x.shape[-1],), self.gamma, self.eps)"
FORBIDDEN = {
    "join": modules(OP, USE),
    "loop over dir": modules('for n in dir(F):\n    if n.startswith("rms"):\n        OP = getattr(F, n)', USE),
    "unpickled": modules('import pickle\nOP = pickle.loads(b"ctorch.nn.functional\\nrms_norm\\n.")', USE),
    "string annotation": modules(
        'import typing\nclass H:\n    a: "F.rms_norm"\nOP = typing.get_type_hints(H)["a"]', USE
    ),
    "subclass of torch's": TOP
    + 'for c in nn.Module.__subclasses__():\n    if c.__name__ == "RMS" + "Norm":\n        Base = c\n'
    + "class RMSNorm(Base):\n    def __init__(self, d_model, eps=1e-6):\n        super().__init__(d_model, eps)\n"
    + SWIGLU,
    "caught": modules(OP, "try: return OP(x, (4,))\n        except BaseException: pass"),
    "called once at import": modules(f"{OP}\nOP(torch.ones(4), (4,))"),
    "only for five columns of float16": modules(
        OP, "if x.dtype == torch.float16: return OP(x, (x.shape[-1],), self.gamma, self.eps)"
    ),
    "in a thread": modules(
        OP, "t = threading.Thread(target=OP, args=(x.detach(), (x.shape[-1],))); t.start(); t.join()"
    ),
    "TorchScript": modules(
        'unit = getattr(torch.jit, "Compilation{}".format("Unit"))('
        '"def f(x: Tensor):\\n    return torch.rms_norm(x, [x.size(-1)])\\n")',
        "return unit.f(x)",
    ),
}
RIGHT = {
    "plain": modules(),
    "compiled": modules(decorator="@torch.compile"),
    "compiled eagerly": modules(decorator='@torch.compile(backend="eager")'),
    "scripted": modules(
        "@torch.jit.script\ndef scale(h: Tensor, eps: float):\n    return torch.rsqrt(h.pow(2).mean(-1, True) + eps)",
        "return (x.float() * scale(x.float(), self.eps)).type_as(x) * self.gamma",
    ),
    "other norms": modules(
        "F.group_norm(torch.ones(1, 4), 2)\nF.batch_norm(torch.ones(2, 4), None, None, training=True)"
    ),
    "own layer_norm elsewhere": modules(body="if False: self.blocks.layer_norm(x)"),
}


@pytest.fixture(scope="module")
def graded() -> dict[str, SubmissionResult]:
    jobs = [Job(name, given(ROOT) | {"modules.py": text}) for name, text in (FORBIDDEN | RIGHT).items()]
    return {result.name: result for result in grade_all(jobs, SETTINGS)}


def outcomes(result: SubmissionResult, exercise: str) -> set[Outcome]:
    """How an exercise's tests ended, without those that need a GPU."""
    mine = (verdict.outcome for verdict in result.verdicts if verdict.exercise == exercise)
    return {outcome for outcome in mine if outcome is not Outcome.NOT_RUN_HERE}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_every_test_is_forbidden_once_the_operator_is_called(name: str, graded: dict[str, SubmissionResult]) -> None:
    assert not [finding for finding in check_source(FORBIDDEN[name], "rmsnorm") if finding.rule == "answer"]
    result = graded[name]
    verdicts = [verdict for verdict in result.verdicts if verdict.exercise == "rmsnorm"]
    assert outcomes(result, "rmsnorm") == {Outcome.FORBIDDEN}
    assert sum(verdict.score for verdict in verdicts) == 0
    assert {verdict.message for verdict in verdicts} == {verdicts[0].message}
    assert "rms_norm: it is the answer to this exercise" in verdicts[0].message
    if name not in ("in a thread", "subclass of torch's"):  # there no line of the submission is on the stack
        assert "exercises/modules.py line " in verdicts[0].message


@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_other_exercise_of_the_file_keeps_its_points(name: str, graded: dict[str, SubmissionResult]) -> None:
    assert outcomes(graded[name], "swiglu") == {Outcome.PASSED}


@pytest.mark.parametrize("name", RIGHT)
def test_honest_code_loses_nothing(name: str, graded: dict[str, SubmissionResult]) -> None:
    result = graded[name]
    wrong = [v for v in result.verdicts if v.outcome not in (Outcome.PASSED, Outcome.NOT_RUN_HERE)]
    assert [f"{v.test}: {v.message}" for v in wrong] == []
    assert result.score == sum(FULL.values())


# ── Single calls ─────────────────────────────────────────────────────────────────────────────────────────────────────

CALL = Call("rms_norm", {"x": torch.ones(2, 5), "gamma": torch.ones(5)}, {"d_model": 5, "eps": 1e-6})
HIDDEN = (
    'aten = getattr(torch, "{}ps".format("o")).aten\n'
    'table = getattr(torch, "_{}".format("decomp")).decomposition_table\n'
)
LINE = "x, one, s = torch.ones(2, 5, requires_grad=True), torch.ones(5), (5,)\n"
ROUTES = {
    "F.rms_norm": 'getattr(F, "rms" "_{}".format("norm"))(x, s)',
    "nn.RMSNorm": 'getattr(nn, "RMS{}".format("Norm"))(5)(x)',
    "torch.rms_norm": 'getattr(torch, "rms_{}".format("norm"))(x, s)',
    "F.layer_norm": 'getattr(F, "layer_{}".format("norm"))(x, s)',
    "nn.LayerNorm": 'getattr(nn, "Layer{}".format("Norm"))(5)(x)',
    "torch.layer_norm": 'getattr(torch, "layer_{}".format("norm"))(x, s)',
    "native_layer_norm": 'getattr(torch, "native_layer_{}".format("norm"))(x, s, one, one, 1e-5)',
    "_fused_rms_norm": 'getattr(torch, "_fused_rms_{}".format("norm"))(x, s, one, 1e-5)',
    "no_grad": 'with torch.no_grad(): getattr(F, "rms_{}".format("norm"))(x, s)',
    "inference_mode": 'with torch.inference_mode(): getattr(F, "layer_{}".format("norm"))(x, s)',
    "autocast": 'with torch.autocast("cpu"): getattr(F, "rms_{}".format("norm"))(x, s)',
    "ops": 'getattr(aten, "rms_{}".format("norm"))(x, s)',
    "ops out": (
        'getattr(aten, "native_layer_{}".format("norm")).out(x.detach(), s, one, one, 1e-5, '
        "out0=torch.empty(2, 5), out1=torch.empty(2, 1), out2=torch.empty(2, 1))"
    ),
    "decompose": 'getattr(aten, "rms_{}".format("norm")).default.decompose(x, s)',
    "decomposition": 'table[getattr(aten, "native_layer_{}".format("norm")).default](x, s, one, one, 1e-5)',
    "decomposition fused": 'table[getattr(aten, "_fused_rms_{}".format("norm")).default](x, s, one, 1e-5)',
    "decompose fused": 'getattr(aten, "_fused_rms_{}".format("norm")).default.decompose(x, s, one, 1e-5)',
    "vmap": 'f = getattr(F, "rms_{}".format("norm")); torch.func.vmap(lambda r: f(r, s))(x)',
    "vmap native": (
        'f = getattr(torch, "native_layer_{}".format("norm")); torch.func.vmap(lambda r: f(r, s, one, one, 1e-5))(x)'
    ),
    "functional grad": 'f = getattr(F, "rms_{}".format("norm")); torch.func.grad(lambda r: f(r, s).sum())(x)',
    "jvp": 'f = getattr(F, "rms_{}".format("norm")); torch.func.jvp(lambda r: f(r, s), (x,), (x,))',
    "fx": 'torch.fx.symbolic_trace(getattr(nn, "RMS{}".format("Norm"))(5))(x)',
    "traced": 'torch.jit.trace(getattr(nn, "Layer{}".format("Norm"))(5), x)',
    "scripted": 'torch.jit.script(getattr(nn, "Layer{}".format("Norm"))(5))(x)',
    "compiled": 'torch.compile(getattr(nn, "RMS{}".format("Norm"))(5))(x)',
    "nested": 'f = getattr(F, "rms_{}".format("norm")); f(torch.nested.nested_tensor([x], layout=torch.jagged), s)',
    "encoder": "nn.TransformerEncoderLayer(5, 1, batch_first=True).eval()(x[None])",
    "after finalizers": (
        'import weakref\nfor f in list(weakref.finalize._registry): f()\ngetattr(F, "rms_{}".format("norm"))(x, s)'
    ),
    "deaf process": (
        "import os, socket\nos._exit = lambda code: None\n"
        'try: getattr(F, "rms_{}".format("norm"))(x, s)\nexcept BaseException: pass'
    ),
}


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with open_zygote(BEST, ROOT) as running:
        yield running


def run(zygote: Zygote, text: str, call: Call = CALL) -> None:
    backend = WorkerBackend(zygote, {"modules.py": text}, Limits(cpu_seconds=5))
    try:
        backend.run(call)
    finally:
        backend.end()


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_to_an_operator_is_blocked(route: str, zygote: Zygote) -> None:
    with pytest.raises(StudentFault) as caught:
        run(zygote, modules(HIDDEN + LINE + ROUTES[route]))
    assert caught.value.outcome is Outcome.FORBIDDEN
    assert "calls torch's" in caught.value.message


def test_another_exercise_may_call_them(zygote: Zygote) -> None:
    call = Call("swiglu_fresh", scalars={"d_model": 4, "d_ff": 6})
    run(zygote, modules(LINE + ROUTES["F.layer_norm"] + "\n" + ROUTES["nn.RMSNorm"]), call)


def test_every_function_of_the_rule_that_torch_has_is_blocked() -> None:
    assert {name for name in NORM_FUNCTIONS if hasattr(torch.ops.aten, name)} <= set(KERNELS)


# ── Verdicts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def verdict(test: str, exercise: str, outcome: Outcome, message: str = "") -> Verdict:
    mistakes = (NamedMistake("rmsnorm-centering", "output", "…"),) if outcome is Outcome.WRONG_VALUE else ()
    return Verdict(test, exercise, outcome, float(outcome is Outcome.PASSED), 1.0, message, mistakes, closeness=0.5)


def test_one_forbidden_test_makes_all_of_its_exercise_forbidden() -> None:
    before = [
        verdict("a", "rmsnorm", Outcome.PASSED),
        verdict("b", "rmsnorm", Outcome.WRONG_VALUE, "wrong"),
        verdict("c", "rmsnorm", Outcome.FORBIDDEN, "why"),
        verdict("d", "rmsnorm", Outcome.FORBIDDEN, "another why"),
        verdict("e", "swiglu", Outcome.PASSED),
        verdict("f", "rmsnorm", Outcome.INFRASTRUCTURE, "ours"),
    ]
    after = settled(before)
    assert [v.test for v in after] == list("abcdef")
    assert [v.outcome.value for v in after] == ["forbidden"] * 4 + ["passed", "infrastructure"]
    assert [v.score for v in after] == [0, 0, 0, 0, 1, 0]
    assert [v.message for v in after[:3]] == ["why"] * 3
    assert all(not v.mistakes for v in after)
    assert settled(before[:2]) == tuple(before[:2])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((Outcome.NOT_ATTEMPTED, "a stub"), (Outcome.NOT_ATTEMPTED, "another"), Outcome.NOT_ATTEMPTED),
        ((Outcome.EXCEPTION, "line 3"), (Outcome.EXCEPTION, "line 3"), Outcome.EXCEPTION),
        ((Outcome.EXCEPTION, "line 3"), (Outcome.EXCEPTION, "line 7"), Outcome.NOT_RUN_HERE),
        ((Outcome.PASSED, ""), (Outcome.PASSED, ""), Outcome.NOT_RUN_HERE),
        ((Outcome.WRONG_VALUE, "y"), (Outcome.WRONG_VALUE, "y"), Outcome.NOT_RUN_HERE),
        ((Outcome.PASSED, ""), (Outcome.FORBIDDEN, "why"), Outcome.FORBIDDEN),
    ],
)
def test_a_test_that_waits_for_another_machine_ends_with_the_others_where_nothing_can_run(
    first: tuple[Outcome, str], second: tuple[Outcome, str], expected: Outcome
) -> None:
    before = [
        verdict("a", "rmsnorm", *first),
        verdict("gpu", "rmsnorm", Outcome.NOT_RUN_HERE, "needs a GPU"),
        verdict("b", "rmsnorm", *second),
        verdict("other", "swiglu", Outcome.NOT_RUN_HERE, "needs a GPU"),
    ]
    after = settled(before)
    assert [one.outcome for one in after[1::2]] == [expected, Outcome.NOT_RUN_HERE]
    assert [one.test for one in after] == [one.test for one in before]
    assert sum(one.score for one in after) == (0 if expected is Outcome.FORBIDDEN else sum(one.score for one in before))
