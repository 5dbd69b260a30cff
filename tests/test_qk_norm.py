"""Graded tests of `qk_norm.py`, 9 of 12 points: scores of unit vectors and the two RMS norms of q and k.

The soft cap and what all four functions promise stand in `test_qk_norm_soft_cap.py`.

Axes are told apart by pairwise different sizes: B = 2, S = 3, T = 4, N = 5, H = 7. Where one thing is the question the
others are hidden: with one feature a length equals its RMS and √H is 1, and laws compare results of the student's own.
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


def not_constant(y: Tensor, of: str) -> None:
    """Finite, and not the same number everywhere: a law that only compares results must not be met by a constant."""
    checks.finite(y, of=of)
    varied = bool(np.ptp(checks.values(y)) > 1e-3)
    checks.require(varied, text("checks", "qk_norm_constant", of=of), outcome=Outcome.WRONG_VALUE)


def same_numbers(y: Tensor, expected: Tensor, of: str, reason: str, reduction: int) -> None:
    """A law: two results of the student's own agree, and are not constant."""
    not_constant(expected, of)
    tolerance = tolerances.float32(reduction, 2.0)._asdict()
    checks.close(y, checks.values(expected), **tolerance, of=of, what=text("checks", reason, of=of))


@pytest.mark.graded("qk_norm", points=0.5, catches=(*SCALE, *LENGTHS))
def test_qk_norm_scores_worked_numbers(l2_qk_scores: L2ScoresCalls, rng: np.random.Generator) -> None:
    """(3, 4) scores tau with itself, -tau with its opposite, 24/25 of tau with (4, 3), 0 with (-4, 3); M6 §7."""
    keys = inputs.tensor([[[[3.0, 4.0], [-0.3, -0.4], [4.0, 3.0], [-40.0, 30.0]]]])
    y = l2_qk_scores(inputs.tensor([[[[3.0, 4.0]]]]), keys, 10.0, EPS)
    of = "l2_qk_scores((3, 4), four keys, tau=10)"
    checks.close(y, [[[[10.0, -10.0, 9.6, 0.0]]]], **tolerances.float32(2, 10.0)._asdict(), of=of)
    q, k = (inputs.tensor(inputs.near(rng, value.numpy())) for value in (inputs.tensor([[[[3.0, 4.0]]]]), keys))
    of = "l2_qk_scores(a vector like (3, 4), four such keys, tau=10)"
    checks.close(l2_qk_scores(q, k, 10.0, EPS), cosines(q, k, 10.0), **tolerances.float32(2, 10.0)._asdict(), of=of)


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
    same_numbers(y_longer, y, of, "qk_norm_length_seen", H)


@pytest.mark.graded("qk_norm", points=0.5, catches=("added-eps", "ignored-eps", "missing-floor"))
def test_qk_norm_scores_floor_the_length(l2_qk_scores: L2ScoresCalls, rng: np.random.Generator) -> None:
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
    # Near 0.35 and 0.7 every vector stays on its side of the floor.
    others = inputs.tensor(inputs.near(rng, [0.1, -0.35, 0.7, -2.0, 0.0]).reshape(1, 1, 5, 1))
    y, wanted = l2_qk_scores(others, one, 1.0, 0.5), cosines(others, one, 1.0, 0.5)
    checks.close(y, wanted, **tolerance, of="l2_qk_scores(vectors of lengths near these, a unit vector, 1, eps=0.5)")


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


@pytest.mark.graded("qk_norm", points=0.5, catches=("rank-restricted", "contiguous-only", "fixed-axis"))
def test_qk_norm_any_layout(
    l2_qk_scores: L2ScoresCalls,
    per_head_rms_norm: PerHeadCalls,
    full_width_rms_norm: FullWidthCalls,
    rng: np.random.Generator,
) -> None:
    """The same numbers give the same result with any leading axes, from a transpose, and with tau as a tensor."""
    for leading in ((), (B,), (B, N), (B, N, 2)):
        q, k = queries_and_keys(rng, *leading)
        of = f"l2_qk_scores(q of shape {list(q.shape)}, k of shape {list(k.shape)}, tau)"
        joined = (1,) * (2 - len(leading)) + leading[:2] if len(leading) < 3 else (B, N * 2)
        plain = l2_qk_scores(q.reshape(*joined, S, H), k.reshape(*joined, T, H), 1.7)
        checks.shape(plain, (*joined, S, T), of="l2_qk_scores(q, k, tau)")
        y = l2_qk_scores(q, k, inputs.tensor(1.7))
        same_numbers(y, plain.reshape(*leading, S, T), of, "qk_norm_layout", H)
    q, k = (inputs.centred_rows(rng, B, count, N, H).transpose(1, 2) for count in (S, T))
    y, plain = l2_qk_scores(q, k, 1.7), l2_qk_scores(q.contiguous(), k.contiguous(), 1.7)
    same_numbers(y, plain, "l2_qk_scores(q and k from [B, S, N, H].transpose(1, 2), 1.7)", "qk_norm_layout", H)
    q = inputs.centred_rows(rng, B, N, S, H).transpose(1, 2)
    y, plain = (per_head_rms_norm(value, inputs.ones(H)) for value in (q, q.contiguous()))
    same_numbers(y, plain, "per_head_rms_norm(q from [B, N, S, H].transpose(1, 2), ones)", "qk_norm_layout", H)
    q = inputs.centred_rows(rng, S, B, N * H).transpose(0, 1)
    y, plain = (full_width_rms_norm(value, inputs.ones(N * H), N) for value in (q, q.contiguous()))
    same_numbers(y, plain, "full_width_rms_norm(q from [S, B, N*H].transpose(0, 1), ones, 5)", "qk_norm_layout", N * H)


@pytest.mark.graded("qk_norm", points=0.5, catches=("l2-not-rms", "per-head-instead-of-full", *HEADS))
def test_qk_norm_two_heads_of_width_two(
    per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls, rng: np.random.Generator
) -> None:
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
    others = inputs.tensor(inputs.near(rng, heads))
    exact = inputs.exact(others)
    y, wanted = per_head_rms_norm(others, inputs.ones(2), EPS), oracles.head_rows(heads=exact, gain=np.ones(2), eps=EPS)
    checks.close(y, wanted, rtol=1e-4, atol=0.0, of="per_head_rms_norm(two heads like these, ones)")
    y = full_width_rms_norm(others.reshape(1, 1, 4), inputs.ones(4), 2, EPS)
    wanted = oracles.token_rows(tokens=exact.reshape(1, 1, 4), gain=np.ones(4), n_heads=2, eps=EPS)
    checks.close(y, wanted, rtol=1e-4, atol=0.0, of="full_width_rms_norm(two heads like these side by side, ones, 2)")


@pytest.mark.graded("qk_norm", points=1.0, catches=HEADS)
def test_qk_norm_per_head_leaves_other_heads_alone(per_head_rms_norm: PerHeadCalls, rng: np.random.Generator) -> None:
    """One head made 7 times larger: neither the others nor, up to eps, the head itself leave any different."""
    q, gamma = 3 * inputs.centred_rows(rng, B, S, N, H), inputs.gains(rng, H)
    larger = q.clone()
    larger[:, :, 1] *= 7
    of = "per_head_rms_norm(q, gamma)"
    y, y_larger = per_head_rms_norm(q, gamma, EPS), per_head_rms_norm(larger, gamma, EPS)
    checks.shape(y, (B, S, N, H), of=of)
    not_constant(y, of)
    # eps = 1e-6 under a mean square of at least 0.1 takes at most 5e-6 off.
    what = text("checks", "qk_norm_head_leak", of=of)
    checks.close(y_larger, checks.values(y), rtol=1e-4, atol=1e-5, of=of, what=what)


@pytest.mark.graded("qk_norm", points=1.0, catches=("per-head-instead-of-full", *SPLIT))
def test_qk_norm_full_width_shares_one_rms(full_width_rms_norm: FullWidthCalls, rng: np.random.Generator) -> None:
    """One head made 7 times larger: every other head of the token leaves smaller, all by one factor."""
    q, gamma = 3 * inputs.centred_rows(rng, B, S, N, H), inputs.gains(rng, N * H)
    larger = q.clone()
    larger[:, :, 1] *= 7
    of = "full_width_rms_norm(q, gamma, 5)"
    y, y_larger = (full_width_rms_norm(value.reshape(B, S, N * H), gamma, N, EPS) for value in (q, larger))
    checks.shape(y, (B, S, N, H), of=of)
    checks.shape(y_larger, (B, S, N, H), of=of)
    not_constant(y, of)
    moved = not torch.allclose(y[:, :, 2:], y_larger[:, :, 2:], rtol=1e-3, atol=1e-6)
    checks.require(moved, text("checks", "qk_norm_heads_apart", of=of), outcome=Outcome.WRONG_VALUE)
    energies = (np.square(inputs.exact(value)).sum(axis=(-1, -2), keepdims=True) for value in (q, larger))
    shrunk = (next(energies) / next(energies)) ** 0.5
    expected = checks.values(y) * shrunk * np.array([1.0, 7.0, 1.0, 1.0, 1.0])[:, None]
    what = text("checks", "qk_norm_factor", of=of)
    checks.close(y_larger, expected, rtol=1e-4, atol=1e-5, of=of, what=what)


@pytest.mark.graded("qk_norm", points=0.5, catches=SPLIT)
def test_qk_norm_full_width_splits_in_order(full_width_rms_norm: FullWidthCalls, rng: np.random.Generator) -> None:
    """Head 0 is the first H features of the token, head 1 the next H; here all heads have the same RMS."""
    row = inputs.exact(inputs.centred_rows(rng, H))
    turns = rng.permuted(np.tile(row, (B, S, N, 1)), axis=-1)
    y = full_width_rms_norm(inputs.tensor(turns.reshape(B, S, N * H)), inputs.ones(N * H), N, EPS)
    expected = oracles.head_rows(heads=turns, gain=np.ones(H), eps=EPS)
    of = "full_width_rms_norm(five heads of the same RMS, ones, 5)"
    checks.close(y, expected, **tolerances.float32(N * H)._asdict(), of=of)


@pytest.mark.graded("qk_norm", points=0.5, catches=("forgotten-gamma",))
def test_qk_norm_scales_with_gamma(
    per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls, rng: np.random.Generator
) -> None:
    """Each feature of the output is gamma times what it is at a gain of ones, in both norms."""
    q = inputs.centred_rows(rng, B, S, N, H)
    gamma, gamma_full = inputs.gains(rng, H), inputs.gains(rng, N * H)
    of = "per_head_rms_norm(q, gamma)"
    plain, y = (per_head_rms_norm(q, gain, EPS) for gain in (inputs.ones(H), gamma))
    checks.shape(plain, (B, S, N, H), of=of)
    same_numbers(y, plain.double() * gamma.double(), of, "qk_norm_gain", H)
    tokens = q.reshape(B, S, N * H)
    of = "full_width_rms_norm(q, gamma, 5)"
    plain, y = (full_width_rms_norm(tokens, gain, N, EPS) for gain in (inputs.ones(N * H), gamma_full))
    checks.shape(plain, (B, S, N, H), of=of)
    same_numbers(y, plain.double() * gamma_full.double().reshape(N, H), of, "qk_norm_gain", N * H)


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
    same_numbers(y_longer[:, :, rest_q][..., rest_k], y[:, :, rest_q][..., rest_k], of, "qk_norm_token_leak", H)
    x = inputs.centred_rows(rng, B, S, N, H)
    larger = x.clone()
    larger[0, 1] *= 20
    of = "per_head_rms_norm(q, ones)"
    y, y_larger = (per_head_rms_norm(value, inputs.ones(H), EPS) for value in (x, larger))
    checks.shape(y, (B, S, N, H), of=of)
    same_numbers(y_larger[:, rest_q], y[:, rest_q], of, "qk_norm_token_leak", H)
    of = "full_width_rms_norm(q, ones, 5)"
    y, y_larger = (full_width_rms_norm(v.reshape(B, S, -1), inputs.ones(N * H), N, EPS) for v in (x, larger))
    checks.shape(y, (B, S, N, H), of=of)
    same_numbers(y_larger[:, rest_q], y[:, rest_q], of, "qk_norm_token_leak", N * H)


@pytest.mark.graded(
    "qk_norm", points=0.5, catches=("eps-outside-sqrt", "missing-eps", "hardcoded-eps", "clamped-denominator")
)
def test_qk_norm_norms_add_eps_inside_the_root(
    per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls, rng: np.random.Generator
) -> None:
    """One feature of 0.004 at eps = 0.01, one of 0.001 at the default eps, and zero; then some of these sizes."""
    for size, eps, expected in ((4e-3, 1e-2, 4e-3 / 0.010016**0.5), (1e-3, None, 0.5**0.5), (0.0, 1e-2, 0.0)):
        x = inputs.tensor([[[[size]]]])
        of = f"(a head of one feature, {size:g}, gamma 1, eps={'not given' if eps is None else f'{eps:g}'})"
        tolerance = tolerances.float32(1, 0.1)._asdict()
        y = per_head_rms_norm(x, inputs.ones(1), eps)
        checks.close(y, [[[[expected]]]], **tolerance, of=f"per_head_rms_norm{of}")
        y = full_width_rms_norm(x[..., 0], inputs.ones(1), 1, eps)
        checks.close(y, [[[[expected]]]], **tolerance, of=f"full_width_rms_norm{of}")
    for size, eps in ((4e-3, 1e-2), (1e-3, None)):
        x = inputs.tensor(inputs.near(rng, [[[[size]]]]))
        of = f"(a head of one feature near {size:g}, gamma 1, eps={'not given' if eps is None else f'{eps:g}'})"
        tolerance = tolerances.float32(1, 0.1)._asdict()
        wanted = oracles.head_rows(heads=inputs.exact(x), gain=np.ones(1), eps=eps or EPS)
        checks.close(per_head_rms_norm(x, inputs.ones(1), eps), wanted, **tolerance, of=f"per_head_rms_norm{of}")
        y = full_width_rms_norm(x[..., 0], inputs.ones(1), 1, eps)
        checks.close(y, wanted, **tolerance, of=f"full_width_rms_norm{of}")


@pytest.mark.graded("qk_norm", points=0.5, catches=("low-precision", "late-widening"))
def test_qk_norm_norms_square_in_float32(
    per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls, rng: np.random.Generator
) -> None:
    """float16 heads of ±300 and ±1000, whose squares do not fit; bfloat16 heads, rounded once at the end.

    What the same numbers give in float32 is the measure.
    """
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    large = inputs.tensor(np.stack([300 * signs, 1000 * signs])[None, :, None], torch.float16)
    many = inputs.centred_rows(rng, 1, 64, 1, 64).to(torch.bfloat16)
    for name, norm in (
        ("per_head_rms_norm", lambda x: per_head_rms_norm(x, inputs.ones(x.shape[-1], x.dtype), EPS)),
        ("full_width_rms_norm", lambda x: full_width_rms_norm(x[:, :, 0], inputs.ones(x.shape[-1], x.dtype), 1, EPS)),
    ):
        of = f"{name}(float16 heads of ±300 and ±1000, ones)"
        wide, wide_many = norm(large.float()), norm(many.float())
        not_constant(wide, name)
        not_constant(wide_many, name)
        what = text("checks", "half_overflow", of=of)
        checks.close(norm(large), checks.values(wide), rtol=2.0**-tolerances.FLOAT16_BITS, atol=0.0, of=of, what=what)
        once = {"bits": tolerances.BFLOAT16_BITS, "ulps": tolerances.HALF_ULPS}
        checks.within_ulps(norm(many), checks.values(wide_many), **once, of=f"{name}(bfloat16 q, ones)")


@pytest.mark.graded("qk_norm", points=0.5, catches=("detached-statistics", "forgotten-gamma", *NORMS))
def test_qk_norm_norms_gradient(
    per_head_rms_norm: PerHeadCalls, full_width_rms_norm: FullWidthCalls, rng: np.random.Generator
) -> None:
    """Gradients reach q and gamma of both norms and equal the closed form."""
    q, upstream = 3 * inputs.centred_rows(rng, B, S, N, H), inputs.tensor(rng.standard_normal((B, S, N, H)))
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
