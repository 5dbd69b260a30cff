"""Graded tests of `qk_norm.py`, 9 of 12 points: scores of unit vectors and the two RMS norms of q and k.

The soft cap and what all four functions promise stand in `test_qk_norm_soft_cap.py`.

Axes are told apart by pairwise different sizes: B = 2, S = 3, T = 4, N = 5, H = 7. Where one thing is the question the
others are hidden: with one feature (H = 1) a length equals its RMS and √H is 1, rows of ±1 have the same RMS along
every axis, gains are ones unless the gain is the question.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor

from nanolm import checks
from nanolm.fixtures.qk_norm_file import FullWidthCalls, L2ScoresCalls, PerHeadCalls
from nanolm.protocol import Outcome
from nanolm.texts import text
from tests import inputs, tolerances
from tests import oracles_qk_norm as oracles
from tests.inputs import B, S
from tests.oracles import Array, rms_norm_gradients

T, N, H = 4, 5, 7
EPS = 1e-6

# Mistakes that many tests catch, by what they get wrong.
SCALE = ("rms-not-l2", "kept-sqrt-h", "forgotten-tau", "divided-by-tau")
LENGTHS = ("keys-not-normalized", "queries-not-normalized")
SCORES = (*SCALE, *LENGTHS, "fixed-axis", "transposed-scores")
HEADS = ("across-heads", "full-instead-of-per-head")
SPLIT = ("wrong-head-split", "heads-first", "missing-split")
NORMS = ("l2-not-rms", *HEADS, *SPLIT, "per-head-instead-of-full", "all-axes")


def queries_and_keys(rng: np.random.Generator, *leading: int) -> tuple[Tensor, Tensor]:
    """q: [*leading, S, H] and k: [*leading, T, H], whose rows have different lengths."""
    return inputs.centred_rows(rng, *leading, S, H), inputs.centred_rows(rng, *leading, T, H)


def cosines(q: Tensor, k: Tensor, tau: float, eps: float = EPS) -> Array:
    """The oracle on the tensors' own values."""
    return oracles.cosine_scores(queries=inputs.exact(q), keys=inputs.exact(k), scale=tau, floor=eps)


@pytest.mark.graded("qk_norm", points=0.5, catches=(*SCALE, *LENGTHS))
def test_qk_norm_scores_worked_numbers(l2_qk_scores: L2ScoresCalls) -> None:
    """(3, 4) scores tau with itself, -tau with its opposite, 24/25 of tau with (4, 3), 0 with (-4, 3); M6 §7."""
    keys = inputs.tensor([[[[3.0, 4.0], [-0.3, -0.4], [4.0, 3.0], [-40.0, 30.0]]]])
    y = l2_qk_scores(inputs.tensor([[[[3.0, 4.0]]]]), keys, 10.0, EPS)
    of = "l2_qk_scores((3, 4), four keys, tau=10)"
    checks.close(y, [[[[10.0, -10.0, 9.6, 0.0]]]], **tolerances.float32(2, 10.0)._asdict(), of=of)


@pytest.mark.graded("qk_norm", points=0.5, catches=SCORES)
def test_qk_norm_scores_match_the_formula(l2_qk_scores: L2ScoresCalls, rng: np.random.Generator) -> None:
    """Random queries and keys of four axes, S and T different."""
    q, k = queries_and_keys(rng, B, N)
    tau = float(rng.uniform(2.0, 5.0))
    y = l2_qk_scores(q, k, tau, EPS)
    checks.close(y, cosines(q, k, tau), **tolerances.float32(H, tau)._asdict(), of="l2_qk_scores(q, k, tau)")


@pytest.mark.graded("qk_norm", points=0.5, catches=LENGTHS)
@given(seed=inputs.seeds)
def test_qk_norm_scores_ignore_lengths(l2_qk_scores: L2ScoresCalls, seed: int) -> None:
    """For every c > 0: making queries and keys c times longer, each by another c, changes no score."""
    rng = np.random.default_rng(seed)
    q, k = (4 * rows for rows in queries_and_keys(rng, B, N))
    sizes_q, sizes_k = (inputs.tensor(2.0 ** rng.integers(0, 7, (B, N, count, 1))) for count in (S, T))
    y, y_longer = l2_qk_scores(q, k, 2.0), l2_qk_scores(q * sizes_q, k * sizes_k, 2.0)
    of = "l2_qk_scores(q, k, 2)"
    checks.finite(y, of=of)
    varied = bool(np.ptp(checks.values(y)) > 1e-3)
    checks.require(varied, text("checks", "qk_norm_constant", of=of), outcome=Outcome.WRONG_VALUE)
    checks.close(
        y_longer,
        checks.values(y),
        **tolerances.float32(H, 2.0)._asdict(),
        of=of,
        what=text("checks", "qk_norm_length_seen", of=of),
    )


@pytest.mark.graded("qk_norm", points=0.5, catches=("added-eps", "ignored-eps", "missing-floor"))
def test_qk_norm_scores_floor_the_length(l2_qk_scores: L2ScoresCalls) -> None:
    """eps is a floor: below it a vector is divided by eps, above it by its length alone; zeros stay zeros."""
    vectors = np.array([0.1, -0.3, 0.6, -2.0, 0.0]).reshape(1, 1, 5, 1)
    floored = np.array([0.2, -0.6, 1.0, -1.0, 0.0])
    one = torch.ones(1, 1, 1, 1)
    tolerance = tolerances.float32(1)._asdict()
    zeros = l2_qk_scores(0 * one, one, 1.0, EPS)
    checks.finite(zeros, of="l2_qk_scores(a zero vector, a unit vector, 1)", implies="qk_norm-missing-floor")
    of = "l2_qk_scores(vectors of length 0.1, 0.3, 0.6, 2 and 0, a unit vector, 1, eps=0.5)"
    y = l2_qk_scores(inputs.tensor(vectors), one, 1.0, 0.5)
    checks.close(y, floored.reshape(1, 1, 5, 1), **tolerance, of=of)
    y = l2_qk_scores(one, inputs.tensor(vectors), 1.0, 0.5)
    checks.close(y, floored.reshape(1, 1, 1, 5), **tolerance, of=f"{of}, q and k swapped")
    y = l2_qk_scores(inputs.tensor([[[[1e-7], [1e-3], [0.0]]]]), one, 1.0)
    of = "l2_qk_scores(vectors of length 1e-7, 1e-3 and 0, a unit vector, 1), eps not given"
    checks.close(y, [[[[0.1], [1.0], [0.0]]]], **tolerance, of=of)


@pytest.mark.graded("qk_norm", points=1.0, catches=(*SCORES, "detached-lengths", "detached-tau"))
def test_qk_norm_scores_gradient(l2_qk_scores: L2ScoresCalls, rng: np.random.Generator) -> None:
    """Gradients reach q, k and a tau that is a tensor; the lengths are part of the graph."""
    q, k = queries_and_keys(rng, B, N)
    tau, upstream = inputs.tensor(3.0), inputs.tensor(rng.standard_normal((B, N, S, T)))
    gradients = l2_qk_scores.gradients(q, k, tau, EPS, upstream)
    exact_q, exact_k, exact_upstream = (inputs.exact(value) for value in (q, k, upstream))
    expected = oracles.cosine_scores_gradients(queries=exact_q, keys=exact_k, scale=3.0, upstream=exact_upstream)
    for name, reduction, scale in (("q", T * H, 6.0), ("k", S * H, 6.0), ("tau", B * N * S * T, 4.0)):
        tolerance = tolerances.float32(reduction, scale)
        checks.gradient(gradients, name, expected[name], **tolerance._asdict(), of="l2_qk_scores(q, k, tau)")


@pytest.mark.graded("qk_norm", points=0.5, catches=("rank-restricted", "contiguous-only", *SCALE, *LENGTHS))
def test_qk_norm_any_layout(
    l2_qk_scores: L2ScoresCalls,
    per_head_rms_norm: PerHeadCalls,
    full_width_rms_norm: FullWidthCalls,
    rng: np.random.Generator,
) -> None:
    """Scores of [S, H] up to [B, N, S, 2, H], tau a float or a tensor; q and k transposed, not contiguous."""
    for leading in ((), (B,), (B, N), (B, N, 2)):
        q, k = queries_and_keys(rng, *leading)
        of = f"l2_qk_scores(q of shape {list(q.shape)}, k of shape {list(k.shape)}, tau)"
        tau = 1.7 if len(leading) % 2 else inputs.tensor(1.7)
        checks.close(l2_qk_scores(q, k, tau, EPS), cosines(q, k, 1.7), **tolerances.float32(H, 2.0)._asdict(), of=of)
    q, k = (inputs.centred_rows(rng, B, count, N, H).transpose(1, 2) for count in (S, T))
    of = "l2_qk_scores(q and k from [B, S, N, H].transpose(1, 2), 1.7)"
    checks.close(l2_qk_scores(q, k, 1.7, EPS), cosines(q, k, 1.7), **tolerances.float32(H, 2.0)._asdict(), of=of)
    signs = inputs.tensor(np.where(rng.random((B, N, S, H)) < 0.5, -1.0, 1.0)).transpose(1, 2)
    y = per_head_rms_norm(signs, inputs.ones(H), EPS)
    of = "per_head_rms_norm(±1 from [B, N, S, H].transpose(1, 2), ones)"
    checks.close(y, inputs.exact(signs), **tolerances.float32(H)._asdict(), of=of)
    turned = inputs.tensor(np.where(rng.random((S, B, N * H)) < 0.5, -1.0, 1.0)).transpose(0, 1)
    y = full_width_rms_norm(turned, inputs.ones(N * H), N, EPS)
    of = "full_width_rms_norm(±1 from [S, B, N*H].transpose(0, 1), ones, 5)"
    checks.close(y, inputs.exact(turned).reshape(B, S, N, H), **tolerances.float32(H)._asdict(), of=of)


@pytest.mark.graded("qk_norm", points=0.5, catches=("l2-not-rms", "per-head-instead-of-full", *HEADS))
def test_qk_norm_two_heads_of_width_two(per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls) -> None:
    """M6 §7 and W6: the heads (3, 4) and (0.3, 0.4), first each by itself, then both by one RMS."""
    heads = np.array([[[[3.0, 4.0], [0.3, 0.4]]]])
    y = per_head_rms_norm(inputs.tensor(heads), inputs.ones(2), EPS)
    of = "per_head_rms_norm(the heads (3, 4) and (0.3, 0.4), ones)"
    # RMS 3.5355339 and 0.35355339; eps takes 4e-6 off the second.
    checks.close(y, [[[[0.8485281, 1.1313708]] * 2]], rtol=1e-4, atol=0.0, of=of)
    y = full_width_rms_norm(inputs.tensor(heads.reshape(1, 1, 4)), inputs.ones(4), 2, EPS)
    of = "full_width_rms_norm((3, 4, 0.3, 0.4), ones, 2)"
    # 25.25 / 4 = 2.5124689².
    checks.close(y, heads / 2.5124689, rtol=1e-4, atol=0.0, of=of)


@pytest.mark.graded("qk_norm", points=1.0, catches=HEADS)
def test_qk_norm_per_head_leaves_other_heads_alone(per_head_rms_norm: PerHeadCalls, rng: np.random.Generator) -> None:
    """One head made 7 times larger: neither the others nor, up to eps, the head itself leave any different."""
    q, gamma = 3 * inputs.centred_rows(rng, B, S, N, H), inputs.gains(rng, H)
    larger = q.clone()
    larger[:, :, 1] *= 7
    of = "per_head_rms_norm(q, gamma)"
    y, y_larger = per_head_rms_norm(q, gamma, EPS), per_head_rms_norm(larger, gamma, EPS)
    checks.shape(y, (B, S, N, H), of=of)
    # eps = 1e-6 under a mean square of at least 0.01 takes at most 5e-5 off.
    up_to_eps = {"rtol": 1e-4, "atol": 1e-5}
    checks.close(y_larger, checks.values(y), **up_to_eps, of=of, what=text("checks", "qk_norm_head_leak", of=of))
    expected = oracles.head_rows(heads=inputs.exact(larger), gain=inputs.exact(gamma), eps=EPS)
    checks.close(y_larger, expected, **up_to_eps, of=of)


@pytest.mark.graded("qk_norm", points=1.0, catches=("per-head-instead-of-full", *SPLIT))
def test_qk_norm_full_width_shares_one_rms(full_width_rms_norm: FullWidthCalls, rng: np.random.Generator) -> None:
    """One head made 7 times larger: every other head of the token leaves smaller, by one factor."""
    q, gamma = inputs.centred_rows(rng, B, S, N, H), inputs.gains(rng, N * H)
    larger = q.clone()
    larger[:, :, 1] *= 7
    of = "full_width_rms_norm(q, gamma, 5)"
    y, y_larger = (full_width_rms_norm(value.reshape(B, S, N * H), gamma, N, EPS) for value in (q, larger))
    checks.shape(y, (B, S, N, H), of=of)
    checks.shape(y_larger, (B, S, N, H), of=of)
    moved = not torch.allclose(y[:, :, 2:], y_larger[:, :, 2:], rtol=1e-3, atol=1e-6)
    checks.require(moved, text("checks", "qk_norm_heads_apart", of=of), outcome=Outcome.WRONG_VALUE)
    tokens = inputs.exact(larger).reshape(B, S, N * H)
    expected = oracles.token_rows(tokens=tokens, gain=inputs.exact(gamma), n_heads=N, eps=EPS)
    checks.close(y_larger, expected, **tolerances.float32(N * H, 2.0)._asdict(), of=of)


@pytest.mark.graded("qk_norm", points=0.5, catches=SPLIT)
def test_qk_norm_full_width_splits_in_order(full_width_rms_norm: FullWidthCalls, rng: np.random.Generator) -> None:
    """Head 0 is the first H features of the token, head 1 the next H; here all heads have the same RMS."""
    row = inputs.exact(inputs.centred_rows(rng, H))
    turns = rng.permuted(np.tile(row, (B, S, N, 1)), axis=-1)
    y = full_width_rms_norm(inputs.tensor(turns.reshape(B, S, N * H)), inputs.ones(N * H), N, EPS)
    expected = oracles.head_rows(heads=turns, gain=np.ones(H), eps=EPS)
    of = "full_width_rms_norm(five heads of the same RMS, ones, 5)"
    checks.close(y, expected, **tolerances.float32(N * H)._asdict(), of=of)


@pytest.mark.graded("qk_norm", points=0.5, catches=("forgotten-gamma", "l2-not-rms"))
def test_qk_norm_scales_with_gamma(
    per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls, rng: np.random.Generator
) -> None:
    """On features of ±1, whose RMS is 1 along every axis, the output is ±gamma."""
    signs = np.where(rng.random((B, S, N, H)) < 0.5, -1.0, 1.0)
    gamma, gamma_full = inputs.gains(rng, H), inputs.gains(rng, N * H)
    tolerance = tolerances.float32(H, 2.0)._asdict()
    y = per_head_rms_norm(inputs.tensor(signs), gamma, EPS)
    checks.close(y, signs * inputs.exact(gamma), **tolerance, of="per_head_rms_norm(±1, gamma)")
    y = full_width_rms_norm(inputs.tensor(signs.reshape(B, S, N * H)), gamma_full, N, EPS)
    expected = signs * inputs.exact(gamma_full).reshape(N, H)
    checks.close(y, expected, **tolerance, of="full_width_rms_norm(±1, gamma, 5)")


@pytest.mark.graded("qk_norm", points=0.5, catches=("across-sequence", "all-axes"))
def test_qk_norm_treats_each_token_alone(
    l2_qk_scores: L2ScoresCalls,
    per_head_rms_norm: PerHeadCalls,
    full_width_rms_norm: FullWidthCalls,
    rng: np.random.Generator,
) -> None:
    """One token of the sequence grows: no other token's scores or heads change."""
    rest_q, rest_k = [0, 2], [0, 1, 3]
    q, k = queries_and_keys(rng, B, N)
    longer_q, longer_k = q.clone(), k.clone()
    longer_q[0, :, 1] *= 20
    longer_k[0, :, 2] *= 20
    of = "l2_qk_scores(q, k, 1)"
    y, y_longer = l2_qk_scores(q, k, 1.0, EPS), l2_qk_scores(longer_q, longer_k, 1.0, EPS)
    checks.shape(y, (B, N, S, T), of=of)
    _same_elsewhere(y[:, :, rest_q][..., rest_k], y_longer[:, :, rest_q][..., rest_k], of, H)
    x = inputs.centred_rows(rng, B, S, N, H)
    larger = x.clone()
    larger[0, 1] *= 20
    of = "per_head_rms_norm(q, ones)"
    y, y_larger = (per_head_rms_norm(value, inputs.ones(H), EPS) for value in (x, larger))
    checks.shape(y, (B, S, N, H), of=of)
    _same_elsewhere(y[:, rest_q], y_larger[:, rest_q], of, H)
    of = "full_width_rms_norm(q, ones, 5)"
    y, y_larger = (full_width_rms_norm(v.reshape(B, S, -1), inputs.ones(N * H), N, EPS) for v in (x, larger))
    checks.shape(y, (B, S, N, H), of=of)
    _same_elsewhere(y[:, rest_q], y_larger[:, rest_q], of, N * H)


def _same_elsewhere(before: Tensor, after: Tensor, of: str, width: int) -> None:
    checks.finite(before, of=of)
    varied = bool(np.ptp(checks.values(before)) > 1e-3)
    checks.require(varied, text("checks", "qk_norm_constant", of=of), outcome=Outcome.WRONG_VALUE)
    what = text("checks", "qk_norm_token_leak", of=of)
    checks.close(after, checks.values(before), **tolerances.float32(width)._asdict(), of=of, what=what)


@pytest.mark.graded(
    "qk_norm", points=0.5, catches=("eps-outside-sqrt", "missing-eps", "hardcoded-eps", "clamped-denominator")
)
def test_qk_norm_norms_add_eps_inside_the_root(
    per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls
) -> None:
    """Heads of RMS 0.004 at eps = 0.01, of RMS 0.001 at the default eps, and of zeros."""
    signs = np.array([1.0, -1.0, 1.0, -1.0]).reshape(1, 1, 1, 4)
    for size, eps, expected in ((4e-3, 1e-2, 4e-3 / 0.010016**0.5), (1e-3, None, 0.5**0.5), (0.0, 1e-2, 0.0)):
        x = inputs.tensor(size * signs)
        of = f"(a head of ±{size:g}, ones, eps={'not given' if eps is None else f'{eps:g}'})"
        tolerance = tolerances.float32(4, 0.1)._asdict()
        y = per_head_rms_norm(x, inputs.ones(4), eps)
        checks.close(y, expected * signs, **tolerance, of=f"per_head_rms_norm{of}")
        y = full_width_rms_norm(x.reshape(1, 1, 4), inputs.ones(4), 1, eps)
        checks.close(y, expected * signs, **tolerance, of=f"full_width_rms_norm{of}")


@pytest.mark.graded("qk_norm", points=0.5, catches=("low-precision", "late-widening"))
def test_qk_norm_norms_square_in_float32(
    per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls, rng: np.random.Generator
) -> None:
    """float16 heads of ±300 and ±1000, whose squares do not fit; bfloat16 heads, rounded once at the end."""
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    large = inputs.tensor(np.stack([300 * signs, 1000 * signs])[None, :, None], torch.float16)
    ones = inputs.ones(4, torch.float16)
    rounded = {"rtol": 2.0**-tolerances.FLOAT16_BITS, "atol": 0.0}
    many = inputs.centred_rows(rng, 1, 64, 1, 64).to(torch.bfloat16)
    expected = oracles.head_rows(heads=inputs.exact(many), gain=np.ones(64), eps=EPS)
    gain = inputs.ones(64, torch.bfloat16)
    once = {"bits": tolerances.BFLOAT16_BITS, "ulps": tolerances.HALF_ULPS}
    wanted = np.stack([signs, signs])[None, :, None]
    for name, y, y_many in (
        ("per_head_rms_norm", per_head_rms_norm(large, ones, EPS), per_head_rms_norm(many, gain, EPS)),
        (
            "full_width_rms_norm",
            full_width_rms_norm(large[:, :, 0], ones, 1, EPS),
            full_width_rms_norm(many[:, :, 0], gain, 1, EPS),
        ),
    ):
        of = f"{name}(float16 heads of ±300 and ±1000, ones)"
        checks.close(y, wanted, **rounded, of=of, what=text("checks", "half_overflow", of=of))
        checks.within_ulps(y_many, expected, **once, of=f"{name}(bfloat16 q, ones)")


@pytest.mark.graded("qk_norm", points=0.5, catches=("detached-statistics", "forgotten-gamma", *NORMS))
def test_qk_norm_norms_gradient(
    per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls, rng: np.random.Generator
) -> None:
    """Gradients reach q and gamma of both norms and equal the closed form."""
    q, upstream = inputs.centred_rows(rng, B, S, N, H), inputs.tensor(rng.standard_normal((B, S, N, H)))
    tokens = q.reshape(B, S, N * H)
    gamma, gamma_full = inputs.gains(rng, H), inputs.gains(rng, N * H)
    found = per_head_rms_norm.gradients(q, gamma, EPS, upstream)
    _same_gradients(found, q, gamma, upstream, "per_head_rms_norm(q, gamma)")
    found = full_width_rms_norm.gradients(tokens, gamma_full, N, EPS, upstream)
    _same_gradients(found, tokens, gamma_full, upstream, "full_width_rms_norm(q, gamma, 5)")


def _same_gradients(found: dict[str, Tensor], rows: Tensor, gamma: Tensor, upstream: Tensor, of: str) -> None:
    weights = inputs.exact(upstream).reshape(rows.shape)
    expected = rms_norm_gradients(inputs.exact(rows), inputs.exact(gamma), EPS, weights)
    for name, oracle in (("q", "x"), ("gamma", "gamma")):
        checks.gradient(found, name, expected[oracle], **tolerances.float32(B * S * N * H, 4.0)._asdict(), of=of)
