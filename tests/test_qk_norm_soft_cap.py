"""Graded tests of `qk_norm.py`, 3 of 12 points: the soft cap, and what all four functions promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given

from nanolm import checks
from nanolm.fixtures.qk_norm_file import FullWidthCalls, L2ScoresCalls, PerHeadCalls, SoftCapCalls
from nanolm.protocol import Outcome
from nanolm.texts import text
from tests import inputs, tolerances
from tests import oracles_qk_norm as oracles
from tests.inputs import B, S

T, N, H = 4, 5, 7


@pytest.mark.graded("qk_norm", points=0.5, catches=("hard-clip", "unscaled-cap", "missing-division"))
def test_qk_norm_soft_cap_curve(soft_cap: SoftCapCalls, rng: np.random.Generator) -> None:
    """Small scores pass, large ones bend: the curve on both sides of a cap of 2 (M6 §7)."""
    points = np.array([[-40.0, -8.0, -3.0, -2.0, -1.0, -0.1], [0.1, 1.0, 2.0, 3.0, 8.0, 40.0]])
    for scores in inputs.with_sister(rng, points):
        of = f"scores from {'' if scores is points else 'about '}-40 to 40"
        given_scores = inputs.tensor(scores)
        expected = oracles.bent(scores=inputs.exact(given_scores), bound=2.0)
        y = soft_cap(given_scores, 2.0)
        checks.close(y, expected, **tolerances.float32(4, 2.0)._asdict(), of=f"soft_cap({of}, 2)")


@pytest.mark.graded("qk_norm", points=0.5, catches=("hard-clip", "unscaled-cap", "missing-division"))
@given(seed=inputs.seeds)
def test_qk_norm_soft_cap_law(soft_cap: SoftCapCalls, seed: int) -> None:
    """For every c > 0: soft_cap(c·s, c·cap) = c·soft_cap(s, cap), within ±cap, for scores of any shape."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(size) for size in rng.integers(1, 4, rng.integers(1, 5)))
    cap, c = float(rng.uniform(0.5, 8.0)), float(2.0 ** rng.integers(1, 5))
    scores = inputs.tensor(np.append(cap * rng.uniform(-3.0, 3.0, shape).ravel()[:-1], cap).reshape(shape))
    of = f"soft_cap(scores of shape {list(shape)}, {cap:.3g})"
    y, y_scaled = soft_cap(scores, cap), soft_cap(c * scores, c * cap)
    expected = oracles.bent(scores=inputs.exact(scores), bound=cap)
    checks.close(y, expected, **tolerances.float32(4, cap)._asdict(), of=of)
    what = text("checks", "qk_norm_cap_scale", of=of)
    checks.close(y_scaled, c * checks.values(y), **tolerances.float32(4, c * cap)._asdict(), of=of, what=what)


@pytest.mark.graded("qk_norm", points=0.5, catches=("overflowing-tanh", "hard-clip", "unscaled-cap"))
def test_qk_norm_soft_cap_far_and_gradient(soft_cap: SoftCapCalls, rng: np.random.Generator) -> None:
    """Scores up to ±1e4: the value stays within the cap, value and gradient are finite and right."""
    scores = np.array([-1e4, -500.0, -100.0, -4.0, -1.0, 0.0, 0.5, 2.0, 100.0, 500.0, 1e4])
    of = "soft_cap(scores from -1e4 to 1e4, 2)"
    y = soft_cap(inputs.tensor(scores), 2.0)
    checks.finite(y, of=of, implies="qk_norm-overflowing-tanh")
    checks.close(y, oracles.bent(scores=scores, bound=2.0), **tolerances.float32(4, 2.0)._asdict(), of=of)
    upstream = inputs.tensor(rng.uniform(0.5, 2.0, scores.shape))
    found = soft_cap.gradients(inputs.tensor(scores), 2.0, upstream)
    expected = oracles.bent_gradient(scores=scores, bound=2.0, upstream=inputs.exact(upstream))
    far = "qk_norm-overflowing-tanh"
    checks.gradient(found, "scores", expected, **tolerances.float32(4)._asdict(), of=of, implies_not_finite=far)


@pytest.mark.graded("qk_norm", points=0.5, catches=("missing-validation", "bare-assertion"))
def test_qk_norm_soft_cap_refuses_a_cap_that_is_not_positive(soft_cap: SoftCapCalls) -> None:
    """A cap of 0 and a negative one are a ValueError; a small positive one is not."""
    scores = inputs.tensor([-1.0, 0.5, 3.0])
    for cap in (0.0, -2.0):
        of = f"soft_cap(scores, {cap:g})"
        checks.raises(lambda cap=cap: soft_cap(scores, cap), "ValueError", of=of, implies="qk_norm-missing-validation")
    checks.finite(soft_cap(scores, 0.25), of="soft_cap(scores, 0.25)")


@pytest.mark.graded("qk_norm", points=0.5, catches=("wrong-dtype",))
def test_qk_norm_keeps_the_dtype(
    l2_qk_scores: L2ScoresCalls,
    per_head_rms_norm: PerHeadCalls,
    full_width_rms_norm: FullWidthCalls,
    soft_cap: SoftCapCalls,
    rng: np.random.Generator,
) -> None:
    """All four functions return their input's dtype; half precision is compared loosely with float32."""
    q, k = inputs.centred_rows(rng, 1, N, S, H), inputs.centred_rows(rng, 1, N, T, H)
    gamma, gamma_full = inputs.gains(rng, H), inputs.gains(rng, N * H)
    scores = inputs.tensor(rng.uniform(-3.0, 3.0, (S, T)))
    loose = tolerances.loose_half(tolerances.BFLOAT16_BITS, 2.0)._asdict()
    for name, call in (
        ("l2_qk_scores", lambda dtype: l2_qk_scores(q.to(dtype), k.to(dtype), 1.5)),
        ("per_head_rms_norm", lambda dtype: per_head_rms_norm(q.to(dtype), gamma.to(dtype))),
        (
            "full_width_rms_norm",
            lambda dtype: full_width_rms_norm(q.to(dtype).reshape(1, S, N * H), gamma_full.to(dtype), N),
        ),
        ("soft_cap", lambda dtype: soft_cap(scores.to(dtype), 2.0)),
    ):
        plain = call(torch.float32)
        checks.dtype(plain, torch.float32, of=f"{name}(float32 input)")
        checks.finite(plain, of=f"{name}(float32 input)")
        for dtype in (torch.float64, torch.bfloat16, torch.float16):
            of = f"{name}({str(dtype).removeprefix('torch.')} input)"
            y = call(dtype)
            checks.dtype(y, dtype, of=of)
            checks.close(y, checks.values(plain), **loose, of=of, what=text("checks", "qk_norm_half", of=of))


@pytest.mark.graded("qk_norm", points=0.5, catches=("in-place",))
def test_qk_norm_leaves_its_input_unchanged(
    l2_qk_scores: L2ScoresCalls,
    per_head_rms_norm: PerHeadCalls,
    full_width_rms_norm: FullWidthCalls,
    soft_cap: SoftCapCalls,
    rng: np.random.Generator,
) -> None:
    """None of the four functions changes a tensor that it was given: q and k are needed again, by the next head say."""
    q, k = inputs.centred_rows(rng, B, N, S, H), inputs.centred_rows(rng, B, N, T, H)
    x, gamma = inputs.centred_rows(rng, B, S, N, H), inputs.gains(rng, H)
    tokens, gamma_full = x.reshape(B, S, N * H), inputs.gains(rng, N * H)
    scores = inputs.tensor(rng.uniform(-3.0, 3.0, (S, T)))
    for name, before, after in (
        ("l2_qk_scores", {"q": q, "k": k}, l2_qk_scores.arguments_after(q, k, 2.0)),
        ("per_head_rms_norm", {"q": x, "gamma": gamma}, per_head_rms_norm.arguments_after(x, gamma)),
        (
            "full_width_rms_norm",
            {"q": tokens, "gamma": gamma_full},
            full_width_rms_norm.arguments_after(tokens, gamma_full, N),
        ),
        ("soft_cap", {"scores": scores}, soft_cap.arguments_after(scores, 2.0)),
    ):
        for argument, was in before.items():
            checks.unchanged(after[argument], was, of=name, name=argument, implies="qk_norm-in-place")
    moved = bool(np.ptp(checks.values(soft_cap(scores, 2.0))) > 1e-3)
    checks.require(moved, text("checks", "qk_norm_constant", of="soft_cap(scores, 2)"), outcome=Outcome.WRONG_VALUE)
