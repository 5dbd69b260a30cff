"""Odd but loadable modules: whatever a student's class returns or holds, a test fails and never breaks."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

from grader.bank import given
from grader.job import Job
from grader.pool import grade_all
from grader.results import SubmissionResult, submission_data
from grader.session import Settings
from nanolm import checks
from nanolm.fixtures.budget_file import CfgCalls, WidthCalls
from nanolm.fixtures.modules_file import RMSNormCalls, SwiGLUCalls
from nanolm.implementation import Implementation, TestCut
from nanolm.protocol import Call, Fact, Outcome, Reply
from nanolm.untrusted import listed

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = Settings(ROOT, ("rmsnorm", "swiglu"), round="self-test", secret=b"a secret")

NORM = """
class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        {build}

    def norm(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return (wide / (wide.square().mean(-1, keepdim=True) + self.eps).sqrt() * self.gamma).to(x.dtype)

    def forward(self, x):
        {give}
"""
FFN = """
class SwiGLU(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.w_gate, self.w_up = nn.Linear(d, f, bias=False), nn.Linear(d, f, bias=False)
        self.w_down = nn.Linear(f, d, bias=False)
        {build}

    def ffn(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))

    def forward(self, x):
        {give}
"""
GAIN = "self.gamma = nn.Parameter(torch.ones(d))"


def text(norm: str = "return self.norm(x)", ffn: str = "return self.ffn(x)", gain: str = GAIN, maps: str = "") -> str:
    """A modules.py: what the two classes give, and what their constructors make."""
    top = "import itertools\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
    top += "TURN = itertools.count()\n"
    return top + NORM.format(build=gain, give=norm) + FFN.format(build=maps or "pass", give=ffn)


def both(give: str) -> str:
    """The same oddity in both classes: `{}` stands for the right output."""
    return text(f"return {give.format('self.norm(x)')}", f"return {give.format('self.ffn(x)')}")


ODD: Mapping[str, str] = {
    "the output has no axes": both("{}.sum()"),
    "the output is empty": both("{}[..., :0]"),
    "the output is int64": both("{}.long()"),
    "the output is bool": both("{} > 0"),
    "the output is complex": both("{} + 0j"),
    "the output is a tuple": both("({}, None)"),
    "the output is a list": both("[{}]"),
    "the output is None": both("None if {} is not None else None"),
    "the output is sparse": both("{}.to_sparse()"),
    "the output has one more axis": both("{}[..., None]"),
    "the output has one axis less": both("{}.flatten()"),
    "the output has 20 axes": both("{}.reshape((1,) * 20 + x.shape)"),
    "the shape varies from call to call": both("{}.sum(0) if next(TURN) % 2 else x"),
    "the dtype varies from call to call": both("{}.double() if next(TURN) % 2 else x"),
    "every other output is empty": both("x[:0] if next(TURN) % 2 else {}"),
    "the numbers vary from call to call": both("{} * next(TURN)"),
    "a huge constant": both("{} * 0 + 1e38"),
    "NaN": both("{} * float('nan')"),
    "an infinity": both("{}.abs() * float('inf')"),
    "a float64 too large for float32": both("{}.double() * 1e300"),
    "RMSNorm holds nothing": text(gain="self.gamma = torch.ones(d)"),
    "RMSNorm's gain is a buffer": text(gain="self.register_buffer('gamma', torch.ones(d))"),
    "a gain of shape [1, D]": text(gain="self.gamma = nn.Parameter(torch.ones(1, d))"),
    "a gain without axes": text(gain="self.gamma = nn.Parameter(torch.tensor(1.0))"),
    "a gain without numbers": text(gain="self.gamma = nn.Parameter(torch.ones(0))"),
    "a gain of whole numbers": text(gain="self.gamma = nn.Parameter(torch.ones(d).long(), requires_grad=False)"),
    "a complex gain": text(gain="self.gamma = nn.Parameter(torch.ones(d) + 0j)"),
    "a gain not built yet": text(gain="self.gamma = nn.UninitializedParameter()"),
    "a ParameterList": text(gain="self.all = nn.ParameterList([torch.ones(d)]); self.gamma = 1"),
    "one parameter a feature": text(
        "return torch.stack(list(self.all), -1) * x", gain="self.all = nn.ParameterList(torch.ones(d)); self.gamma = 1"
    ),
    "300 parameters": text(gain=f"{GAIN}; self.all = nn.ParameterList([torch.ones(1) for _ in range(300)])"),
    "nested modules": text(gain=f"{GAIN}; self.sub = nn.ModuleList([nn.ModuleDict({{'a.b'[:1]: nn.Linear(d, d)}})])"),
    "names that are no words": text(
        gain=f"{GAIN}; self.register_parameter('a/b: [7]\\n', nn.Parameter(torch.ones(d)))",
        maps="self.register_parameter('parameter:', nn.Parameter(torch.ones(d)))",
    ),
    "its own named_parameters": text(gain=f"{GAIN}; self.named_parameters = lambda *a, **k: [(3, 4)]"),
    "a reply about shapes that nobody has": text(
        gain=f"{GAIN}; self.named_parameters = lambda *a, **k: [('gamma', nn.Parameter(torch.ones(3, 3)))]"
    ),
    "w_down is a PReLU": text(ffn="return self.w_down(self.w_up(x))", maps="self.w_down = nn.PReLU()"),
    "w_down is a LayerNorm": text(maps="self.w_down = nn.Bilinear(f, f, d)"),
    "w_down has no axes": text(maps="self.w_down.weight = nn.Parameter(torch.tensor(1.0))"),
    "every map has no axes": text(
        maps="self.w_gate.weight = self.w_up.weight = self.w_down.weight = nn.Parameter(torch.tensor(1.0))"
    ),
    "a map with one axis": text(maps="self.w_gate.weight = nn.Parameter(torch.ones(f))"),
    "a map of whole numbers": text(
        maps="self.w_up.weight = nn.Parameter(torch.ones(f, d).long(), requires_grad=False)"
    ),
    "maps that share a weight": text(maps="self.w_up.weight = self.w_gate.weight"),
    "x is made smaller in place": both("(x.resize_(1).sum(), x)[1]"),
    "x is swapped for another": both("({}, setattr(x, 'data', x.data.double()))[0]"),
    "the classes are functions": "def RMSNorm(*a): return lambda x: x\ndef SwiGLU(*a): return lambda x: x\n",
}


@pytest.fixture(scope="module")
def graded() -> dict[str, SubmissionResult]:
    """All of them, graded in one go."""
    jobs = [Job(name, {"modules.py": source} | given(ROOT)) for name, source in ODD.items()]
    return {result.name: result for result in grade_all(jobs, SETTINGS)}


def test_no_odd_module_is_ungradable(graded: dict[str, SubmissionResult]) -> None:
    assert {name: result.ungradable for name, result in graded.items() if result.ungradable} == {}


def test_no_odd_module_makes_a_test_itself_fail(graded: dict[str, SubmissionResult]) -> None:
    broken = {
        (name, verdict.test): verdict.message
        for name, result in graded.items()
        for verdict in result.verdicts
        if verdict.outcome is Outcome.INFRASTRUCTURE or "itself failed" in verdict.message
    }
    assert broken == {}


def test_odd_modules_lose_points_and_their_other_exercise_keeps_them(graded: dict[str, SubmissionResult]) -> None:
    score = {
        name: {e: sum(v.score for v in result.verdicts if v.exercise == e) for e in SETTINGS.exercises}
        for name, result in graded.items()
    }
    assert [name for name, points in score.items() if points == {"rmsnorm": 14.0, "swiglu": 12.0}] == []
    assert score["RMSNorm holds nothing"] == {"rmsnorm": 0.0, "swiglu": 12.0}
    assert score["w_down is a PReLU"]["rmsnorm"] == 14.0


# ── Replies that no adapter of ours gives: a worker may say anything ─────────────────────────────────────────────────


class Says:
    """A backend that answers every call alike."""

    name = "says"

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def run(self, call: Call) -> Reply:
        return self.reply


def says(tensors: dict[str, Tensor] | None = None, facts: dict[str, Fact] | None = None) -> Implementation:
    return Implementation(Says(Reply(tensors=tensors or {}, facts=facts or {})))


def test_a_reply_without_what_was_asked_for_is_a_crash_of_the_worker() -> None:
    x = torch.ones(2, 3)
    attempts = {
        "y": lambda: RMSNormCalls(says(), "rms_norm")(x),
        "x": lambda: RMSNormCalls(says(), "rms_norm").arguments_after(x, x[0], 1e-6),
        "trained": lambda: RMSNormCalls(says(), "rms_norm").fresh(3),
        "linear": lambda: SwiGLUCalls(says(facts={"trained": []}), "swiglu").fresh(3, 5),
        "value": lambda: WidthCalls(says(), "swiglu_ffn_dim")(3),
    }
    for lacking, attempt in attempts.items():
        with pytest.raises(TestCut) as cut:
            attempt()
        assert cut.value.fault.outcome is Outcome.CRASHED
        assert cut.value.fault.message == f"its reply lacks {lacking}"


@pytest.mark.parametrize("odd", [3, "gamma", None, {"gamma": True}, [3], [["gamma"]], ["gamma", None]])
def test_facts_of_another_type_are_a_crash_of_the_worker(odd: Fact) -> None:
    with pytest.raises(TestCut) as cut:
        RMSNormCalls(says({"parameter:gamma": torch.ones(3)}, {"trained": odd, "drawn": []}), "rms_norm").fresh(3)
    assert cut.value.fault.outcome is Outcome.CRASHED
    assert cut.value.fault.message == "its reply holds something else than names as trained"


def test_a_count_of_any_type_is_the_tests_business() -> None:
    for value in (3, 3.0, "3", None, [3], {"a": 3}):
        assert CfgCalls(says(facts={"value": value}), "model_params")({"V": 1}) == value


# ── Names of parameters are a student's text ─────────────────────────────────────────────────────────────────────────

NASTY = "\x1b[31mred\u202edlrow\u2028row\nforged"

MANY = "[self.register_parameter('n' * 150 + str(i), nn.Parameter(torch.zeros(1))) for i in range(200)]"

NAMES = {
    "a gain with a nasty name": text(
        gain=f"{GAIN}; self.register_parameter({NASTY!r}, nn.Parameter(torch.zeros(d)))",
        maps=f"self.register_parameter({NASTY!r}, nn.Parameter(torch.zeros(d)))",
    ),
    "200 long names": text(
        gain=f"{GAIN}; {MANY}",
        maps=MANY,
    ),
    "biases with nasty names": text(
        maps=f"self.add_module({NASTY!r}, nn.Linear(1, 1)); del self.w_up; self.w_up = nn.Linear(d, f)"
    ),
    "no map but nasty ones": text(maps=f"del self.w_down; self.add_module({NASTY!r}, nn.Linear(f, d, bias=False))"),
}


def test_names_of_parameters_are_escaped_and_cut_in_every_message() -> None:
    jobs = [Job(name, {"modules.py": source} | given(ROOT)) for name, source in NAMES.items()]
    for result in grade_all(jobs, SETTINGS):
        assert not result.ungradable
        messages = [verdict.message for verdict in result.verdicts if verdict.message]
        assert messages
        for message in messages:
            assert len(message) < 2500, (result.name, len(message))
            unsafe = {
                char for char in message if char != "\n" and unicodedata.category(char)[0] in "CZ" and char != " "
            }
            assert not unsafe, (result.name, message)
            assert "\nforged" not in message
        assert "\\u001b" not in json.dumps(submission_data(result))


def test_a_list_of_names_is_escaped_and_short() -> None:
    assert listed([]) == "none"
    assert listed(["gamma [7]", "bias [7]"]) == "gamma [7], bias [7]"
    assert listed([NASTY]) == "\\x1b[31mred\\u202edlrow\\u2028row\\x0aforged"
    assert listed(str(i) for i in range(10)) == "0, 1, 2, 3, 4, 5, 6, 7 … and 2 more"
    assert len(listed(["n" * 1000] * 300)) < 700


# ── The checks behind them ───────────────────────────────────────────────────────────────────────────────────────────


def test_an_argument_of_another_dtype_has_been_changed() -> None:
    x = torch.ones(3)
    checks.unchanged(x.clone(), x, of="f(x)", name="x")
    with pytest.raises(checks.CheckFailure) as failure:
        checks.unchanged(x.double(), x, of="f(x)", name="x")
    assert failure.value.outcome is Outcome.INPUT_MUTATED
    assert "from float32 to float64" in failure.value.headline


def test_close_as_a_question() -> None:
    x = torch.tensor([1.0, 2.0])
    assert checks.is_close(x, [1.0, 2.0 + 1e-9], rtol=0.0, atol=1e-6)
    assert not checks.is_close(x, [1.0, 2.1], rtol=0.0, atol=1e-6)
    assert not checks.is_close(x, [[1.0, 2.0]], rtol=0.0, atol=1e-6)
    assert not checks.is_close(x, 1.0, rtol=0.0, atol=10.0)
    assert not checks.is_close(x * float("nan"), [1.0, 2.0], rtol=0.0, atol=10.0)


def test_values_of_lazily_negated_and_conjugated_tensors_are_read() -> None:
    lazy = torch.tensor([1.0 + 2.0j], dtype=torch.complex128).conj().imag
    assert lazy.is_neg()
    assert checks.values(lazy).tolist() == [-2.0]
