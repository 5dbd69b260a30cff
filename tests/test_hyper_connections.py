"""Graded tests of `hyper_connections.py`: mhc (16 points).

Each test looks for few mistakes and hides the others where it can: logits are mild where the number of rounds is not
the question, R is zero or the branch silent where only one of the two is, the branch is never linear.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from torch import Tensor

from nanolm import checks
from nanolm.fixtures.hyper_connections_file import Functions, SinkhornCalls, StreamCalls
from nanolm.protocol import Outcome
from nanolm.texts import text
from tests import inputs_hyper_connections as inputs
from tests import oracles_hyper_connections as oracles
from tests import tolerances
from tests.inputs import exact, near, seeds, tensor
from tests.inputs_hyper_connections import MIXED, STREAMS, B, D, S, dtype_name, known

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)

# Mistakes that many tests catch, by what they get wrong.
ROUND = ("rows-only", "columns-only", "rows-first", "row-max-stabiliser")
ROUNDS = ("single-iteration", "hardcoded-iterations", "half-iterations")
RANGE = ("overflowing-exp", "linear-domain", "global-max-stabiliser", "row-max-stabiliser", "batch-leak")
MIXING = ("transposed-mix", "mixing-dropped", "forgotten-residual")
READ = ("read-mean", "reads-mixed", "branch-per-stream")
WRITE = ("write-one-stream", "forgotten-write")
SQUASH = ("missing-sigmoid", "softmax-read-write", "doubled-write")


@pytest.mark.graded("mhc", points=0.5, catches=(*ROUND, *ROUNDS))
def test_mhc_sinkhorn_worked_rounds(sinkhorn: SinkhornCalls, rng: np.random.Generator) -> None:
    """W6: the entries [[3, 1], [1, 1]] after one round and after three; and another symmetric matrix near it."""
    entries = np.array([[3.0, 1.0], [1.0, 1.0]])
    logits = tensor(np.log(entries))
    y = sinkhorn(logits, 1)
    of = "sinkhorn(log [[3, 1], [1, 1]], 1)"
    checks.close(y, [[0.6, 0.4], [1 / 3, 2 / 3]], **tolerances.float32(2)._asdict(), of=of)
    # In fractions: (3/5, 2/5; 1/3, 2/3), then (12/19, 7/19; 4/11, 7/11), then these. W6 rounds to 0.63 and 0.37.
    expected = [[45 / 71, 26 / 71], [15 / 41, 26 / 41]]
    of = "sinkhorn(log [[3, 1], [1, 1]], 3)"
    checks.close(sinkhorn(logits, 3), expected, **tolerances.float32(6)._asdict(), of=of)
    logits = tensor(np.log(inputs.near_symmetric(rng, entries)))
    for rounds in (1, 3):
        balanced = oracles.balanced(np.exp(exact(logits)), rounds)
        of = f"sinkhorn(log of a matrix near [[3, 1], [1, 1]], {rounds})"
        checks.close(sinkhorn(logits, rounds), balanced, **tolerances.float32(2 * rounds)._asdict(), of=of)


@pytest.mark.graded("mhc", points=0.5, catches=("rows-only", "columns-only", "single-iteration"))
def test_mhc_sinkhorn_is_doubly_stochastic(sinkhorn: SinkhornCalls, rng: np.random.Generator) -> None:
    """After 20 rounds on mild logits, rows and columns sum to 1, and no entry is negative."""
    for n in STREAMS:
        of = f"sinkhorn(logits [4, {n}, {n}], 20)"
        y = sinkhorn(tensor(inputs.mild(rng, 4, n, n)), 20)
        checks.shape(y, (4, n, n), of=of)
        checks.finite(y, of=of)
        negative = int((y < 0).sum())
        checks.require(not negative, text("checks", "mhc_negative", of=of, count=negative), outcome=Outcome.WRONG_VALUE)
        for axis, name in ((-1, "row"), (-2, "column")):
            sums = y.double().sum(dim=axis)
            of_sums = text("checks", "mhc_sums", name=name, of=of)
            checks.close(sums, np.ones((4, n)), rtol=0.0, atol=1e-5, of=of_sums)


@pytest.mark.graded("mhc", points=1.0, catches=(*ROUND, *ROUNDS))
def test_mhc_sinkhorn_counts_its_rounds(sinkhorn: SinkhornCalls, rng: np.random.Generator) -> None:
    """Two to four streams, one to twenty rounds: each a pass over the columns and one over the rows."""
    for n, rounds in ((2, 2), (3, 1), (3, 3), (4, 2), (4, 20)):
        logits = tensor(inputs.spread(rng, 4, n, n))
        expected = oracles.balanced(np.exp(exact(logits)), rounds)
        of = f"sinkhorn(logits [4, {n}, {n}], {rounds})"
        checks.close(sinkhorn(logits, rounds), expected, **tolerances.log_domain(8.0)._asdict(), of=of)


@pytest.mark.graded("mhc", points=0.5, catches=("default-iterations", "single-iteration", "half-iterations"))
def test_mhc_default_is_twenty_rounds(sinkhorn: SinkhornCalls, mhc_step: StreamCalls, rng: np.random.Generator) -> None:
    """Entries that converge so slowly that 19 and 20 rounds differ; n_iters is not given."""
    zeros = dict.fromkeys(("read_logits", "write_logits", "b"), torch.zeros(2)) | {"A": torch.zeros(2, 2)}
    tolerance = tolerances.log_domain(12.0)._asdict()
    for name, matrix in (("slow logits", inputs.slow), ("other slow logits", partial(inputs.drawn_slow, rng))):
        logits = tensor(matrix(2))
        expected = oracles.balanced(np.exp(exact(logits)), 20)
        checks.close(sinkhorn(logits), expected, **tolerance, of=f"sinkhorn({name}), n_iters not given")
        arguments = {"X": tensor(np.eye(2)[None, None]), "residual_logits": logits} | zeros
        of = f"mhc_step(streams (1, 0) and (0, 1), {name}, silent branch), n_iters not given"
        checks.close(mhc_step(arguments), expected[None, None], **tolerance, of=of)


@pytest.mark.graded("mhc", points=1.0, catches=RANGE)
def test_mhc_sinkhorn_survives_extreme_logits(sinkhorn: SinkhornCalls, rng: np.random.Generator) -> None:
    """Logits of ±10000: everything is finite, nothing negative, and rows sum to 1."""
    for n in STREAMS:
        logits = tensor(inputs.extreme(rng, n))
        of = f"sinkhorn({n}×{n} logits of ±10000, 20)"
        y = sinkhorn(logits, 20)
        checks.shape(y, logits.shape, of=of)
        checks.finite(y, of=of)
        of_sums = text("checks", "mhc_sums", name="row", of=of)
        tolerance = tolerances.log_domain(1e4)._asdict()
        checks.close(y.double().sum(dim=-1), np.ones(logits.shape[:-1]), **tolerance, of=of_sums)
        checks.require(
            bool((y >= 0).all()), text("checks", "mhc_negative", of=of, count=1), outcome=Outcome.WRONG_VALUE
        )


@pytest.mark.graded("mhc", points=1.0, catches=RANGE)
def test_mhc_sinkhorn_far_row_or_column(sinkhorn: SinkhornCalls, rng: np.random.Generator) -> None:
    """One row or one column 200 above or below the rest; e^200 and e^-200 are beyond float32."""
    for n in (3, 4):
        logits = inputs.mild(rng, 4, n, n)
        for matrix, far in zip(logits[:2], (200.0, -200.0), strict=True):
            matrix[rng.integers(n)] += far
        for matrix, far in zip(logits[2:], (200.0, -200.0), strict=True):
            matrix[:, rng.integers(n)] += far
        given_logits = tensor(logits)
        for index, name in enumerate(
            ("a row 200 above", "a row 200 below", "a column 200 above", "a column 200 below")
        ):
            one = given_logits[index]
            expected = oracles.balanced(np.exp(exact(one)), 20)
            of = f"sinkhorn({n}×{n} logits with {name} the rest, 20)"
            checks.close(sinkhorn(one, 20), expected, **tolerances.log_domain(200.0)._asdict(), of=of)


@pytest.mark.graded("mhc", points=1.0, catches=("batch-leak", "fixed-axes", "overflowing-exp"))
def test_mhc_sinkhorn_batch_members_apart(sinkhorn: SinkhornCalls, rng: np.random.Generator) -> None:
    """A matrix of a batch is projected as if it were alone, however far the others lie from it."""
    logits = inputs.mild(rng, 2, 2, 3, 3)
    logits[0, 1] += 150.0
    logits[1, 0] -= 150.0
    batch = tensor(logits)
    y = sinkhorn(batch, 20)
    checks.shape(y, batch.shape, of="sinkhorn(logits [2, 2, 3, 3], 20)")
    for place in np.ndindex(2, 2):
        of = f"matrix {list(place)} of sinkhorn(logits [2, 2, 3, 3], 20)"
        expected = oracles.balanced(np.exp(exact(batch[place])), 20)
        what = text("checks", "mhc_member", of=of)
        checks.close(y[place], expected, **tolerances.log_domain(150.0)._asdict(), of=of, what=what)


@pytest.mark.graded("mhc", points=0.5, catches=("rows-only", "rows-first", "row-max-stabiliser"))
@given(seed=seeds, n=st.sampled_from(STREAMS), rounds=st.sampled_from([1, 2]))
def test_mhc_sinkhorn_law_of_columns(sinkhorn: SinkhornCalls, seed: int, n: int, rounds: int) -> None:
    """A constant added to a column, or to all logits, changes nothing, after any number of rounds."""
    rng = np.random.default_rng(seed)
    logits = tensor(inputs.spread(rng, n, n))
    shifted = logits + tensor(rng.uniform(2.0, 8.0) * np.eye(n)[rng.integers(n)] + rng.uniform(-4.0, 4.0))
    y, y_shifted = sinkhorn(logits, rounds), sinkhorn(shifted, rounds)
    of = f"sinkhorn({n}×{n} logits plus a constant in a column, {rounds})"
    what = text("checks", "mhc_column_constant", of=of)
    checks.close(y_shifted, checks.values(y), **tolerances.log_domain(16.0)._asdict(), of=of, what=what)
    sums = y_shifted.double().sum(dim=-1)
    checks.close(sums, np.ones(n), rtol=0.0, atol=1e-5, of=text("checks", "mhc_sums", name="row", of=of))


@pytest.mark.graded("mhc", points=1.0, catches=("detached-sinkhorn", *ROUND))
def test_mhc_sinkhorn_gradient(sinkhorn: SinkhornCalls, rng: np.random.Generator) -> None:
    """Gradients reach the logits through every sum of every round."""
    for n, rounds in ((3, 1), (4, 2)):
        logits = tensor(inputs.spread(rng, 2, n, n))
        upstream = tensor(rng.standard_normal((2, n, n)))
        gradients = sinkhorn.gradient(logits, rounds, upstream)
        expected = oracles.balanced_pullback(np.exp(exact(logits)), rounds, exact(upstream))
        of = f"sinkhorn(logits [2, {n}, {n}], {rounds})"
        checks.gradient(gradients, "logits", expected, **tolerances.float32(n * n * rounds)._asdict(), of=of)


@pytest.mark.graded("mhc", points=0.5, catches=("low-precision",))
def test_mhc_sinkhorn_widens_half_precision(sinkhorn: SinkhornCalls, rng: np.random.Generator) -> None:
    """float16 and bfloat16 logits: one rounding at the end, not one a round."""
    for dtype, bits in ((torch.bfloat16, tolerances.BFLOAT16_BITS), (torch.float16, tolerances.FLOAT16_BITS)):
        logits = tensor(0.6 * inputs.spread(rng, 24, 4, 4), dtype)  # no entry so small that float16 loses bits of it
        expected = oracles.balanced(np.exp(exact(logits)), 10)
        of = f"sinkhorn({dtype_name(dtype)} logits [24, 4, 4], 10)"
        checks.within_ulps(sinkhorn(logits, 10), expected, bits=bits, ulps=tolerances.HALF_ULPS, of=of)


@pytest.mark.graded("mhc", points=0.5, catches=("transposed-mix",))
def test_mhc_mix_streams_worked_example(mix_streams: StreamCalls, rng: np.random.Generator) -> None:
    """M6 §12: streams 2 and 6 become 3 and 5. And three streams whose matrix is not symmetric, twice."""
    two = mix_streams({"R": tensor([[0.75, 0.25], [0.25, 0.75]]), "X": tensor([[2.0], [6.0]])})
    checks.close(two, [[3.0], [5.0]], **tolerances.float32(2)._asdict(), of="mix_streams(R, streams 2 and 6)")
    three = mix_streams({"R": tensor(MIXED), "X": tensor([[1.0], [2.0], [4.0]])})
    of = "mix_streams(a 3×3 matrix that is not symmetric, streams 1, 2 and 4)"
    checks.close(three, [[1.6], [2.5], [2.9]], **tolerances.float32(3, 4.0)._asdict(), of=of)
    R, X = tensor(near(rng, MIXED)), tensor(near(rng, [[1.0], [2.0], [4.0]]))
    mixed, of = np.einsum("ij,jd->id", exact(R), exact(X)), "mix_streams(another 3×3 matrix, streams near 1, 2 and 4)"
    checks.close(mix_streams({"R": R, "X": X}), mixed, **tolerances.float32(3, 4.0)._asdict(), of=of)


@pytest.mark.graded("mhc", points=0.5, catches=("transposed-mix",))
def test_mhc_mix_streams_over_32_layers(mix_streams: StreamCalls, rng: np.random.Generator) -> None:
    """W6: rows that sum to 1.3 let streams of ones grow to 1.3^32; doubly stochastic mixing keeps the sum 2."""
    growing, two = np.array([[1.0, 0.3], [0.1, 1.2]]), np.array([2.0, 0.0, 0.0])
    for rows, start, expected, name in (
        (growing, [1.0, 1.0], [1.3**32, 1.3**32], "rows that sum to 1.3"),
        (MIXED, two, [2 / 3, 2 / 3, 2 / 3], "a doubly stochastic matrix"),
    ):
        after_32_layers(mix_streams, tensor(rows), tensor(start), expected, name)
    for rows, start, name in (
        (near(rng, growing), near(rng, [1.0, 1.0]), "positive rows"),
        (inputs.near_doubly_stochastic(rng), near(rng, two), "another doubly stochastic matrix"),
    ):
        R, x = tensor(rows), tensor(start)
        after_32_layers(mix_streams, R, x, np.linalg.matrix_power(exact(R), 32) @ exact(x), name)


def after_32_layers(mix_streams: StreamCalls, R: Tensor, start: Tensor, expected: ArrayLike, name: str) -> None:
    """What 32 layers of R make of streams of single numbers, all of them positive or zero."""
    for _ in range(5):  # R², R⁴, … R³²: a matrix is a row of streams as well
        R = mix_streams({"R": R, "X": R})
    y, of = mix_streams({"R": R, "X": start[:, None]}), f"mixing 32 times with {name}"
    checks.close(y, np.asarray(expected)[:, None], **tolerances.float32(64)._asdict(), of=of)


@pytest.mark.graded("mhc", points=1.0, catches=(*MIXING, *READ, *WRITE))
def test_mhc_hyper_connection_step_matches_the_formula(
    hyper_connection_step: StreamCalls, rng: np.random.Generator
) -> None:
    """Arbitrary weights, two to four streams, a branch that is not linear."""
    for n in STREAMS:
        arguments = inputs.layer(rng, n, B, S)
        expected = oracles.streams_after(**known(arguments))
        of = f"hyper_connection_step(X [{B}, {S}, {n}, {D}], …)"
        tolerance = tolerances.float32(n + D, 2.0)._asdict()
        checks.close(hyper_connection_step(arguments), expected, **tolerance, of=of)


@pytest.mark.graded("mhc", points=0.5, catches=MIXING)
def test_mhc_step_mixes_the_old_streams(hyper_connection_step: StreamCalls, rng: np.random.Generator) -> None:
    """With a branch that always returns zero, what is left is the mix of the old streams."""
    arguments = inputs.without_branch(inputs.layer(rng, 3, B, S))
    y = hyper_connection_step(arguments)
    expected = oracles.streams_after(**known(arguments))
    of = f"hyper_connection_step(X [{B}, {S}, 3, {D}], …) with a silent branch"
    checks.shape(y, expected.shape, of=of)
    same = torch.equal(y, arguments["X"])
    checks.require(not same, text("checks", "mhc_unmixed", of=of), outcome=Outcome.WRONG_VALUE)
    checks.close(y, expected, **tolerances.float32(3, 2.0)._asdict(), of=of)


@pytest.mark.graded("mhc", points=0.5, catches=WRITE)
def test_mhc_step_writes_to_every_stream(hyper_connection_step: StreamCalls, rng: np.random.Generator) -> None:
    """Streams of zeros and a branch that makes something of them: stream i receives its own share of it."""
    arguments = inputs.layer(rng, 4, B, S) | {"X": torch.zeros(B, S, 4, D)}
    expected = oracles.streams_after(**known(arguments))
    of = f"hyper_connection_step(X [{B}, {S}, 4, {D}] of zeros, …)"
    checks.close(hyper_connection_step(arguments), expected, **tolerances.float32(4)._asdict(), of=of)


@pytest.mark.graded("mhc", points=0.5, catches=READ)
def test_mhc_step_reads_all_streams_at_once(hyper_connection_step: StreamCalls, rng: np.random.Generator) -> None:
    """R = 0, stream 0 empty, all of the result written to it: it then holds the branch of the weighted sum."""
    arguments = inputs.layer(rng, 3, B, S)
    arguments |= {"R": torch.zeros(3, 3), "write": tensor([1.0, 0.0, 0.0])}
    arguments["X"][..., 0, :] = 0.0
    y = hyper_connection_step(arguments)
    expected = oracles.streams_after(**known(arguments))
    of = f"stream 0 of hyper_connection_step(X [{B}, {S}, 3, {D}], R = 0, write = (1, 0, 0), …)"
    checks.shape(y, expected.shape, of=of)
    checks.close(y[..., 0, :], expected[..., 0, :], **tolerances.float32(3 + D)._asdict(), of=of)


@pytest.mark.graded("mhc", points=1.0, catches=("branch-per-stream",))
def test_mhc_step_calls_the_branch_once(
    hyper_connection_step: StreamCalls, mhc_step: StreamCalls, rng: np.random.Generator
) -> None:
    """The layer between the streams runs once a step, on one vector a token: that is what keeps mHC cheap."""
    for n in (3, 4, 2):  # a branch called twice is not yet a branch called per stream
        layers = inputs.layer(rng, n, B, S), inputs.constrained_layer(rng, n, B, S)
        for step, name, arguments in zip(
            (hyper_connection_step, mhc_step), ("hyper_connection_step", "mhc_step"), layers, strict=True
        ):
            used = step.with_branch(arguments)[1]
            of = f"{name}(X [{B}, {S}, {n}, {D}], …)"
            checks.require(
                used.calls == 1,
                text("checks", "mhc_branch_calls", of=of, count=used.calls, n=n),
                outcome=Outcome.WRONG_INTERFACE,
                implies="mhc-branch-per-stream" if used.calls == n else None,
            )
            vectors = int(np.prod(used.shapes[0][:-1]))
            checks.require(
                vectors == B * S,
                text("checks", "mhc_branch_shape", of=of, got=used.shapes[0], expected=[B, S, D]),
                outcome=Outcome.WRONG_INTERFACE,
                implies="mhc-branch-per-stream" if vectors == n * B * S else None,
            )


@pytest.mark.graded("mhc", points=0.5, catches=(*MIXING, *READ, *WRITE))
def test_mhc_hyper_connection_step_gradient(hyper_connection_step: StreamCalls, rng: np.random.Generator) -> None:
    """Gradients reach the streams, the three weights and the branch's own numbers."""
    arguments = inputs.layer(rng, 3, B, S)
    upstream = tensor(rng.standard_normal((B, S, 3, D)))
    gradients = hyper_connection_step.gradients(arguments, upstream)
    for name, expected in oracles.streams_gradients(**known(arguments), upstream=exact(upstream)).items():
        tolerance = tolerances.float32(B * S * D, 2.0)._asdict()
        checks.gradient(gradients, name, expected, **tolerance, of=f"hyper_connection_step(X [{B}, {S}, 3, {D}], …)")


@pytest.mark.graded("mhc", points=0.5, catches=("unconstrained-residual", "forgotten-n-iters", *ROUND, *MIXING))
def test_mhc_step_constrains_the_residual(mhc_step: StreamCalls, rng: np.random.Generator) -> None:
    """With a silent branch: the streams are mixed by the projection of the residual logits, after n_iters rounds."""
    for n in (3, 4):
        arguments = inputs.without_branch(inputs.constrained_layer(rng, n, B, S))
        R = oracles.balanced(np.exp(exact(arguments["residual_logits"])), 1)
        expected = np.einsum("ij,...jd->...id", R, exact(arguments["X"]))
        of = f"mhc_step(X [{B}, {S}, {n}, {D}], …, n_iters=1) with a silent branch"
        checks.close(mhc_step(arguments, n_iters=1), expected, **tolerances.log_domain(8.0)._asdict(), of=of)


@pytest.mark.graded("mhc", points=0.5, catches=(*SQUASH, *READ, *WRITE))
def test_mhc_step_squashes_read_and_write(mhc_step: StreamCalls, rng: np.random.Generator) -> None:
    """Streams that cancel, mixed evenly: what is left is the branch, read and written through sigmoids."""
    for n in STREAMS:
        arguments = inputs.constrained_layer(rng, n, B, S)
        arguments |= {"X": inputs.cancelling_streams(rng, n, B, S), "residual_logits": torch.zeros(n, n)}
        expected = oracles.constrained_streams_after(**known(arguments), rounds=20)
        of = f"mhc_step({n} streams whose sum is zero, even mixing, …)"
        checks.close(mhc_step(arguments), expected, **tolerances.float32(n + D, 2.0)._asdict(), of=of)


@pytest.mark.graded("mhc", points=1.0, catches=("detached-sinkhorn", "unconstrained-residual", *SQUASH))
def test_mhc_step_gradient_reaches_the_logits(mhc_step: StreamCalls, rng: np.random.Generator) -> None:
    """Gradients reach the three logits, through the projection and the sigmoids."""
    arguments = inputs.constrained_layer(rng, 3, B, S)
    upstream = tensor(rng.standard_normal((B, S, 3, D)))
    gradients = mhc_step.gradients(arguments, upstream, n_iters=2)
    expected = oracles.constrained_gradients(**known(arguments), rounds=2, upstream=exact(upstream))
    for name, closed_form in expected.items():
        tolerance = tolerances.float32(B * S * D, 2.0)._asdict()
        checks.gradient(gradients, name, closed_form, **tolerance, of=f"mhc_step(X [{B}, {S}, 3, {D}], …)")


@pytest.mark.graded("mhc", points=0.5, catches=("rank-restricted", "fixed-axes"))
def test_mhc_any_leading_axes(mhc: Functions, rng: np.random.Generator) -> None:
    """X: [n, D], [S, n, D], [B, S, n, D] and five axes, contiguous or not; logits: [n, n], [B, n, n], [B, S, n, n]."""
    for leading in ((), (2,), (2, 3)):
        logits = tensor(inputs.mild(rng, *leading, 4, 4))
        of = f"sinkhorn(logits of shape {list(logits.shape)}, 20)"
        expected = oracles.balanced(np.exp(exact(logits)), 20)
        checks.close(mhc.sinkhorn(logits, 20), expected, **tolerances.log_domain(2.0)._asdict(), of=of)
    tolerance = tolerances.float32(4 + D, 2.0)._asdict()
    for leading in ((), (5,), (5, 6), (2, 5, 3)):
        free, bound = inputs.layer(rng, 4, *leading), inputs.constrained_layer(rng, 4, *leading)
        if len(leading) > 1:
            free["X"] = free["X"].transpose(0, 1)
        bound["X"] = X = free["X"]
        bound["residual_logits"] = torch.zeros(4, 4)
        exactly = known(free)
        mixed = np.einsum("ij,...jd->...id", exactly["R"], exactly["X"])
        of = f"X of shape {list(X.shape)}"
        checks.close(mhc.mix_streams({"R": free["R"], "X": X}), mixed, **tolerance, of=f"mix_streams(R, {of})")
        expected = oracles.streams_after(**exactly)
        checks.close(mhc.hyper_connection_step(free), expected, **tolerance, of=f"hyper_connection_step({of}, …)")
        expected = oracles.constrained_streams_after(**known(bound), rounds=20)
        checks.close(mhc.mhc_step(bound), expected, **tolerance, of=f"mhc_step({of}, …)")


@pytest.mark.graded("mhc", points=0.5, catches=("wrong-dtype",))
def test_mhc_keeps_the_dtype(mhc: Functions, rng: np.random.Generator) -> None:
    """Outputs, and what the branch is handed, have the input's dtype; half precision is compared loosely."""
    free, bound = inputs.layer(rng, 3, B, S), inputs.constrained_layer(rng, 3, B, S)
    R = oracles.balanced(np.exp(exact(bound["residual_logits"])), 20)
    mixed = np.einsum("ij,...jd->...id", exact(free["R"]), exact(free["X"]))
    after = oracles.streams_after(**known(free))
    after_mhc = oracles.constrained_streams_after(**known(bound), rounds=20)
    tolerance = tolerances.loose_half(tolerances.BFLOAT16_BITS, 4.0)._asdict()
    for dtype in DTYPES:
        free = {name: value.to(dtype) for name, value in free.items()}
        bound = {name: value.to(dtype) for name, value in bound.items()}
        of = f"({dtype_name(dtype)} input)"
        y = mhc.sinkhorn(bound["residual_logits"], 20)
        checks.dtype(y, dtype, of=f"sinkhorn{of}")
        checks.close(y, R, **tolerance, of=f"sinkhorn{of}")
        y = mhc.mix_streams({"R": free["R"], "X": free["X"]})
        checks.dtype(y, dtype, of=f"mix_streams{of}")
        checks.close(y, mixed, **tolerance, of=f"mix_streams{of}")
        for step, name, arguments, expected in (
            (mhc.hyper_connection_step, "hyper_connection_step", free, after),
            (mhc.mhc_step, "mhc_step", bound, after_mhc),
        ):
            y, used = step.with_branch(arguments)
            checks.dtype(y, dtype, of=f"{name}{of}")
            checks.close(y, expected, **tolerance, of=f"{name}{of}")
            handed, wanted = ", ".join(sorted(set(used.dtypes))), dtype_name(dtype)
            words = text("checks", "mhc_branch_dtype", of=f"{name}{of}", got=handed, expected=wanted)
            checks.require(handed == wanted, words, outcome=Outcome.WRONG_DTYPE)


@pytest.mark.graded("mhc", points=0.5, catches=("in-place",))
def test_mhc_leaves_its_input_unchanged(mhc: Functions, rng: np.random.Generator) -> None:
    """Neither logits nor streams nor weights are changed by a call."""
    free, bound = inputs.layer(rng, 3, B, S), inputs.constrained_layer(rng, 3, B, S)
    pair = {"R": free["R"], "X": free["X"]}
    logits = bound["residual_logits"]
    for name, arguments, after in (
        ("sinkhorn", {"logits": logits}, mhc.sinkhorn.arguments_after(logits, 2)),
        ("mix_streams", pair, mhc.mix_streams.arguments_after(pair)),
        ("hyper_connection_step", free, mhc.hyper_connection_step.arguments_after(free)),
        ("mhc_step", bound, mhc.mhc_step.arguments_after(bound, n_iters=2)),
    ):
        for argument, before in arguments.items():
            checks.unchanged(after[argument], before, of=f"{name}(…)", name=argument)
    of, tolerance = f"hyper_connection_step(X [{B}, {S}, 3, {D}], …)", tolerances.float32(3 + D, 2.0)._asdict()
    checks.close(mhc.hyper_connection_step(free), oracles.streams_after(**known(free)), **tolerance, of=of)
