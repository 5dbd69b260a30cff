"""Graded tests of `budget.py`: the width of a gated FFN and the ledger of parameters (12 points).

A rounding rule is looked for where the others agree with it, a line of the ledger where the other lines cancel: what a
layer costs is the difference between L and L + 1 layers, what is outside the layers is the rest. All comparisons are
exact, and a result is an int.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm import checks
from nanolm.fixtures.budget_file import CfgCalls, FFNCalls, WidthCalls
from nanolm.protocol import Outcome, Scalar
from nanolm.texts import text
from tests import inputs
from tests import oracles_budget as oracles

LLAMA = {"V": 128256, "D": 4096, "L": 32, "N": 32, "K": 8, "H": 128, "F": 14336}
"""Llama-3.1-8B (M6 §10)."""

MOST_DIGITS = 60
"""No right result comes near; a longer one is not divided, compared or printed any more."""

DEFAULT = 256
"""The multiple where none is given."""

# Mistakes that many tests catch.
SEEN_NEARLY_EVERYWHERE = ("four-d-three-matrices", "no-rounding", "round-down", "hardcoded-multiple", "float-result")
HEADS = ("mha-not-gqa", "groups-for-kv-heads")
BLOCK = ("two-matrices", "forgotten-norms", "forgotten-output-projection")
LEDGER = (*HEADS, *BLOCK, "forgotten-final-norm", "tied-counted-twice", "untied-counted-once")


def geometry(rng: np.random.Generator, *, grouped: bool, head_width_is_free: bool = False) -> dict[str, int]:
    """Sizes of a small model; H, F and V are different primes, and G is never K.

    Not `grouped`, K = N hides what is done to K. Unless the head width is free, D = N · H hides where H comes from.
    """
    kv_heads, group = (int(n) for n in rng.permutation([2, 3, 4])[:2]) if grouped else (int(rng.choice([2, 3, 5])), 1)
    heads, head = kv_heads * group, int(rng.choice([7, 11, 13]))
    width = heads * (head + int(rng.choice([-2, 2, 4])) if head_width_is_free else head)
    layers, vocabulary, ffn = (
        int(rng.choice([2, 3, 5])),
        int(rng.choice([101, 211, 307])),
        int(rng.choice([17, 19, 23])),
    )
    return {"V": vocabulary, "D": width, "L": layers, "N": heads, "K": kv_heads, "H": head, "F": ffn}


Asked = tuple[int, int]
"""D and the multiple of one width."""


def fixed(*sizes: Asked) -> Iterator[tuple[Asked, str]]:
    """Sizes that every message may name; multiples of 256 are not asked for by name."""
    for at in sizes:
        yield at, f"swiglu_ffn_dim({', '.join(map(str, _given(at)))})"


def drawn_d_model(rng: np.random.Generator) -> Iterator[tuple[Asked, str]]:
    """Another D between those of the examples; how its width is rounded is hidden by the question."""
    yield (int(rng.integers(512, 5121)), DEFAULT), "swiglu_ffn_dim(d_model)"


def drawn_below_a_multiple(rng: np.random.Generator) -> Iterator[tuple[Asked, str]]:
    """8D/3 nearer to the multiple of 256 above it, then to the one below; 96 more in D are 256 more in 8D/3."""
    for rest in ((49, 96), (1, 48)):
        yield (96 * int(rng.integers(5, 50)) + int(rng.integers(*rest)), DEFAULT), "swiglu_ffn_dim(d_model)"


def drawn_thirds(rng: np.random.Generator) -> Iterator[tuple[Asked, str]]:
    """D = 9q + 7: 8D/3 is 24q + 18 and two thirds, which lie just above a multiple of 1, of 2 and of 3."""
    for multiple in (1, 2, 3):
        yield (9 * int(rng.integers(10, 120)) + 7, multiple), f"swiglu_ffn_dim(d_model, {multiple})"


def drawn_multiples(rng: np.random.Generator) -> Iterator[tuple[Asked, str]]:
    """Sizes of these kinds: the default, and a multiple that has no factor in common with 8D/3 but by chance."""
    yield (512 * int(rng.integers(3, 12)), DEFAULT), "swiglu_ffn_dim(d_model)"
    yield (int(rng.integers(500, 2000)), int(rng.choice([60, 100, 140, 192]))), "swiglu_ffn_dim(d_model, multiple)"


def drawn_exact_thirds(rng: np.random.Generator) -> Iterator[tuple[Asked, str]]:
    """D = 96k: 8D/3 is 256k, a multiple already."""
    yield (96 * int(rng.integers(5, 40)), DEFAULT), "swiglu_ffn_dim(d_model)"


def drawn_huge(rng: np.random.Generator) -> Iterator[tuple[Asked, str]]:
    """31 digits, the last 18 drawn, and a multiple of 1: the floats there lie far more than that apart."""
    yield (10**30 + int(rng.integers(10**18)), 1), "swiglu_ffn_dim(d_model of 31 digits, 1)"


def _given(at: Asked) -> tuple[int, ...]:
    return at[:1] if at[1] == DEFAULT else at


def whole(value: object, *, of: str) -> int:
    """The result, which has to be an int (a bool is none), and one that can be looked at."""
    got = type(value).__name__
    checks.require(type(value) is int, text("checks", "budget_type", of=of, got=got), outcome=Outcome.WRONG_VALUE)
    assert isinstance(value, int)
    within_reason = abs(value) < 10**MOST_DIGITS
    checks.require(within_reason, text("checks", "budget_long", of=of), outcome=Outcome.WRONG_VALUE)
    return value


def same(counted: int, expected: int, *, of: str, at: Mapping[str, int]) -> None:
    """The exact count; `at` are the sizes. How far it is off is told only where those are no secret: Llama's."""
    sizes = ", ".join(f"{name}={size}" for name, size in at.items())
    numbers = text("checks", "budget_numbers", sizes=sizes, got=f"{counted:_}", expected=f"{expected:_}")
    public = at.items() <= LLAMA.items()
    headline = text("checks", "budget_off" if public else "equal", of=of, off=f"{counted - expected:+_}")
    checks.require(counted == expected, headline, outcome=Outcome.WRONG_VALUE, numbers=numbers)


def width_is(
    condition: bool, key: str, width: int, at: Asked, *, of: str, implies: str | None = None, cost: str = ""
) -> None:
    """One part of what defines the width; the message `key` says which one failed, `at` are D and the multiple."""
    numbers = text("checks", "budget_width", d_model=at[0], multiple=at[1], got=width)
    headline = text("checks", key, of=of, cost=cost)
    checks.require(condition, headline, outcome=Outcome.WRONG_VALUE, numbers=numbers, implies=implies)


def defining_property(width: int, at: Asked, *, of: str) -> None:
    """All of it: a multiple, not below 8D/3, and the smallest such."""
    width_is(width % at[1] == 0, "budget_not_multiple", width, at, of=of)
    width_is(oracles.reaches_the_budget(width, at[0]), "budget_below", width, at, of=of)
    width_is(not oracles.could_be_smaller(width, *at), "budget_not_smallest", width, at, of=of)


# ── The width ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.graded("budget", points=1.0, catches=("four-d-three-matrices",))
def test_swiglu_ffn_dim_is_8D_over_3(swiglu_ffn_dim: WidthCalls, rng: np.random.Generator) -> None:
    """Three matrices of width 8D/3 cost what two of width 4D do; how that is rounded is the next tests' question."""
    for at, of in fixed(*((d_model, DEFAULT) for d_model in (512, 1024, 2048, 4096, 5120))):
        width = _width(swiglu_ffn_dim, at, of)
        near = not oracles.misses_by_a_multiple(width, *at)
        cost, implies = f"{3 * width / (8 * at[0]):.3g}", "budget-four-d-three-matrices"
        told = implies if width == 4 * at[0] else None
        width_is(near, "budget_cost", width, at, of=of, implies=told, cost=cost)
    for at, of in drawn_d_model(rng):  # the share of the cost would tell of a D that is no public one
        width = _width(swiglu_ffn_dim, at, of)
        width_is(not oracles.misses_by_a_multiple(width, *at), "budget_inexact", width, at, of=of)


@pytest.mark.graded(
    "budget", points=0.5, catches=("no-rounding", "hardcoded-multiple", "default-multiple", "float-result")
)
def test_budget_width_is_a_multiple(swiglu_ffn_dim: WidthCalls, rng: np.random.Generator) -> None:
    """The width can be divided by the multiple that was asked for, 256 or another."""
    examples = fixed((512, DEFAULT), (4096, DEFAULT), (512, 100), (1024, 192), (700, 7))
    for at, of in chain(examples, drawn_multiples(rng)):
        width = _width(swiglu_ffn_dim, at, of)
        width_is(width % at[1] == 0, "budget_not_multiple", width, at, of=of)


@pytest.mark.graded("budget", points=1.0, catches=("round-down", "round-to-nearest", "float-result"))
def test_budget_width_rounds_up(swiglu_ffn_dim: WidthCalls, rng: np.random.Generator) -> None:
    """Not below 8D/3: at 512 and 2048 the nearest multiple lies below, at 1024 and 4096 only the one before does."""
    examples = fixed((1024, DEFAULT), (4096, DEFAULT), (512, DEFAULT), (2048, DEFAULT))
    for at, of in chain(examples, drawn_below_a_multiple(rng)):
        width = _width(swiglu_ffn_dim, at, of)
        width_is(oracles.reaches_the_budget(width, at[0]), "budget_below", width, at, of=of)


@pytest.mark.graded(
    "budget",
    points=0.5,
    catches=("always-add-a-multiple", "four-d-three-matrices", "hardcoded-multiple", "float-result"),
)
def test_budget_width_is_the_smallest_multiple(swiglu_ffn_dim: WidthCalls, rng: np.random.Generator) -> None:
    """Where 8D/3 is a multiple already nothing is added: 384 → 1024, 768 → 2048, 1536 → 4096. 4096 → 11008."""
    examples = fixed((384, DEFAULT), (768, DEFAULT), (1536, DEFAULT), (4096, DEFAULT), (300, 100), (75, 200))
    for at, of in chain(examples, drawn_exact_thirds(rng)):
        width = _width(swiglu_ffn_dim, at, of)
        width_is(not oracles.could_be_smaller(width, *at), "budget_not_smallest", width, at, of=of)


@pytest.mark.graded("budget", points=0.5, catches=("truncated-first", "round-to-nearest", *SEEN_NEARLY_EVERYWHERE))
def test_budget_width_rounds_only_once(swiglu_ffn_dim: WidthCalls, rng: np.random.Generator) -> None:
    """Multiples of 1, 2 and 3: a third that is dropped before the rounding cannot be won back by it."""
    examples = fixed((512, 1), (1024, 2), (1024, 3), (100, 1), (640, 2))
    for at, of in chain(examples, drawn_thirds(rng)):
        width = _width(swiglu_ffn_dim, at, of)
        defining_property(width, at, of=of)


@pytest.mark.graded("budget", points=1.0, catches=("float-rounding", "float-result"))
def test_budget_width_is_exact_for_huge_D(swiglu_ffn_dim: WidthCalls, rng: np.random.Generator) -> None:
    """Where a float no longer holds every whole number: at most one multiple away from 8D/3, whatever the rounding."""
    examples = fixed((3 * 2**60 + 1, 1), (10**30 + 7, DEFAULT), (10**40 + 1, 1000))
    for at, of in chain(examples, drawn_huge(rng)):
        width = _width(swiglu_ffn_dim, at, of)
        width_is(not oracles.misses_by_a_multiple(width, *at), "budget_inexact", width, at, of=of)


def _width(swiglu_ffn_dim: WidthCalls, at: Asked, of: str) -> int:
    """The width; where the multiple is the default it is not given."""
    return whole(swiglu_ffn_dim(*_given(at)), of=of)


@pytest.mark.graded("budget", points=0.5, catches=SEEN_NEARLY_EVERYWHERE)
@given(seed=inputs.seeds, doublings=st.integers(0, 40))
def test_budget_width_law(swiglu_ffn_dim: WidthCalls, seed: int, doublings: int) -> None:
    """For any D and any multiple: a multiple, not below 8D/3, and none smaller is either."""
    rng = np.random.default_rng(seed)
    at = int(rng.integers(2**20, 2**40)) * 2**doublings, int(rng.integers(1000, 2000))
    of = "swiglu_ffn_dim(d_model, multiple_of)"
    defining_property(whole(swiglu_ffn_dim(*at), of=of), at, of=of)


# ── The ledger ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.graded("budget", points=1.0, catches=("gated-ignored",))
def test_budget_ffn_params(ffn_params: FFNCalls, rng: np.random.Generator) -> None:
    """A gated FFN and one without a gate, between the same widths."""
    drawn = int(rng.choice([5, 11, 13])), int(rng.choice([7, 17, 19]))
    for of, sizes in (("ffn_params(4096, 14336, gated={})", (4096, 14336)), ("ffn_params(D, F, gated={})", drawn)):
        for gated, branches in ((False, 1), (True, 2)):
            counted = whole(ffn_params(*sizes, gated=gated), of=of.format(gated))
            expected = oracles.entries(oracles.ffn_tensors(*sizes, into=branches))
            same(counted, expected, of=of.format(gated), at=dict(zip("DF", sizes, strict=True)))


@pytest.mark.graded("budget", points=1.0, catches=(*HEADS, "forgotten-output-projection"))
def test_budget_attention_counts_key_value_heads(attention_params: CfgCalls, rng: np.random.Generator) -> None:
    """Fewer key/value heads than query heads: keys and values are narrower than queries."""
    for name, sizes in (("Llama-3.1-8B", LLAMA), ("cfg", geometry(rng, grouped=True))):
        of, expected = f"attention_params({name})", oracles.entries(oracles.attention_tensors(sizes))
        same(whole(attention_params(sizes), of=of), expected, of=of, at=sizes)


@pytest.mark.graded("budget", points=0.5, catches=("head-width-from-d", "forgotten-output-projection"))
def test_budget_attention_uses_the_head_width(attention_params: CfgCalls, rng: np.random.Generator) -> None:
    """As many key/value heads as query heads, and N · H is not D."""
    sizes = geometry(rng, grouped=False, head_width_is_free=True)
    of, expected = "attention_params(cfg)", oracles.entries(oracles.attention_tensors(sizes))
    same(whole(attention_params(sizes), of=of), expected, of=of, at=sizes)


@pytest.mark.graded("budget", points=0.5, catches=BLOCK)
def test_budget_block_params(block_params: CfgCalls, rng: np.random.Generator) -> None:
    """Attention (K = N, N · H = D), gated FFN and two norms."""
    sizes = geometry(rng, grouped=False)
    of, expected = "block_params(cfg)", oracles.entries(oracles.block_tensors(sizes))
    same(whole(block_params(sizes), of=of), expected, of=of, at=sizes)


@pytest.mark.graded("budget", points=1.0, catches=LEDGER)
def test_budget_model_params_of_llama(model_params: CfgCalls, rng: np.random.Generator) -> None:
    """Llama-3.1-8B: 8_030_261_248 parameters, 7_504_924_672 if it were tied; a wrong line shows in the difference."""
    for tied, expected in ((False, 8_030_261_248), (True, 7_504_924_672)):
        of = f"model_params(Llama-3.1-8B{', tied' if tied else ''})"
        off = whole(model_params({**LLAMA, "tie_embeddings": tied}), of=of) - expected
        line, implies = _line_of(off)
        shown = text("checks", f"budget_line_{line}") if line else text("checks", "budget_line_unknown")
        headline = text("checks", "budget_ledger", of=of, off=f"{off:+_}", shown=shown)
        numbers = text("checks", "equal_numbers", got=f"{off + expected:_}", expected=f"{expected:_}")
        checks.require(off == 0, headline, outcome=Outcome.WRONG_VALUE, numbers=numbers, implies=implies)
    sizes = geometry(rng, grouped=True)
    for tied in (False, True):
        of = f"model_params(cfg{', tied' if tied else ''})"
        total = oracles.entries(oracles.model_tensors(sizes, tied=tied))
        same(whole(model_params({**sizes, "tie_embeddings": tied}), of=of), total, of=of, at=sizes)


def _line_of(off: int) -> tuple[str, str | None]:
    """The line of Llama's ledger that a difference is, and the mistake that it then must be."""
    v, d, layers, n, k, h, f = LLAMA.values()
    lines = {
        -d: ("norm", "budget-forgotten-final-norm"),
        -d * layers: ("norm_a_block", "budget-forgotten-norms"),
        -2 * d * layers: ("norms_a_block", "budget-forgotten-norms"),
        2 * d * h * (n - k) * layers: ("wide_keys", "budget-mha-not-gqa"),
        2 * d * h * (n // k - k) * layers: ("groups", "budget-groups-for-kv-heads"),
        -d * n * h * layers: ("square_a_block", "budget-forgotten-output-projection"),
        -d * f * layers: ("matrix_a_block", "budget-two-matrices"),
        -v * d: ("table_less", "budget-untied-counted-once"),
        v * d: ("table_more", "budget-tied-counted-twice"),
    }
    return lines.get(off, ("", None))


@pytest.mark.graded("budget", points=0.5, catches=("tied-counted-twice", "untied-counted-once"))
def test_budget_tied_embeddings_share_a_matrix(model_params: CfgCalls, rng: np.random.Generator) -> None:
    """Tying takes away one V × D matrix and nothing else, whatever the rest of the ledger says."""
    sizes = geometry(rng, grouped=True)
    untied, tied = (
        whole(model_params({**sizes, "tie_embeddings": tie}), of="model_params(cfg)") for tie in (False, True)
    )
    table = oracles.entries(oracles.outer_tensors(sizes, tied=True)[:1])
    same(untied - tied, table, of=text("checks", "budget_tying"), at=sizes)


@pytest.mark.graded("budget", points=0.5, catches=("forgotten-final-norm", "untied-counted-once"))
def test_budget_model_outside_its_blocks(model_params: CfgCalls, rng: np.random.Generator) -> None:
    """From L and 2L layers follows what none would cost: embeddings and the final norm, whatever a block costs."""
    sizes = geometry(rng, grouped=True)
    once = whole(model_params(sizes), of="model_params(cfg)")
    twice = whole(model_params({**sizes, "L": 2 * sizes["L"]}), of="model_params(cfg)")
    expected = oracles.entries(oracles.outer_tensors(sizes, tied=False))
    same(2 * once - twice, expected, of=text("checks", "budget_outside"), at=sizes)


@pytest.mark.graded("budget", points=0.5, catches=(*LEDGER, "head-width-from-d"))
@given(seed=inputs.seeds)
def test_budget_counts_what_real_tensors_hold(model_params: CfgCalls, seed: int) -> None:
    """Any small model, tied and untied, against tensors of the same shapes."""
    sizes = geometry(np.random.default_rng(seed), grouped=True, head_width_is_free=True)
    for tied in (False, True):
        expected = oracles.entries(oracles.model_tensors(sizes, tied=tied))
        of = f"model_params(cfg{', tied' if tied else ''})"
        same(whole(model_params({**sizes, "tie_embeddings": tied}), of=of), expected, of=of, at=sizes)


# ── Arguments that are no sizes ──────────────────────────────────────────────────────────────────────────────────────


class Refusals:
    """All five functions, with one argument put in the place of a right one."""

    def __init__(
        self,
        swiglu_ffn_dim: WidthCalls,
        ffn_params: FFNCalls,
        attention_params: CfgCalls,
        block_params: CfgCalls,
        model_params: CfgCalls,
    ) -> None:
        self.width, self.ffn = swiglu_ffn_dim, ffn_params
        self.counts = {
            "attention_params": attention_params,
            "block_params": block_params,
            "model_params": model_params,
        }

    def of_cfg(self, function: str, **changed: Scalar) -> None:
        """A function of cfg refuses Llama's sizes with these changes."""
        of = f"{function}(Llama-3.1-8B with {', '.join(f'{name}={value}' for name, value in changed.items())})"
        self._refuses(lambda: self.counts[function]({**LLAMA, **changed}), of)

    def of_width(self, d_model: Scalar, multiple_of: Scalar = None) -> None:
        """swiglu_ffn_dim refuses."""
        more = "" if multiple_of is None else f", multiple_of={multiple_of}"
        self._refuses(lambda: self.width(d_model, multiple_of), f"swiglu_ffn_dim({d_model}{more})")

    def of_ffn(self, d_model: Scalar, d_ff: Scalar) -> None:
        """ffn_params refuses."""
        self._refuses(lambda: self.ffn(d_model, d_ff, gated=True), f"ffn_params({d_model}, {d_ff}, gated=True)")

    @staticmethod
    def _refuses(attempt: Callable[[], object], of: str) -> None:
        checks.raises(attempt, "ValueError", of=of)


@pytest.fixture
def refusals(
    swiglu_ffn_dim: WidthCalls,
    ffn_params: FFNCalls,
    attention_params: CfgCalls,
    block_params: CfgCalls,
    model_params: CfgCalls,
) -> Refusals:
    """Each function refuses what it cannot count with."""
    return Refusals(swiglu_ffn_dim, ffn_params, attention_params, block_params, model_params)


USED = {"attention_params": "DNKH", "block_params": "HF", "model_params": "VDL"}
"""Sizes that a function counts with; those that it hands on are its own business, and one of them is enough here."""


@pytest.mark.graded("budget", points=0.5)
def test_budget_refuses_sizes_below_one(refusals: Refusals) -> None:
    """0 and negative sizes are a ValueError, in each argument of each function."""
    for size in (0, -256):
        refusals.of_width(size)
        refusals.of_width(4096, size)
        refusals.of_ffn(size, 14336)
        refusals.of_ffn(4096, size)
        for function, names in USED.items():
            for name in names:
                refusals.of_cfg(function, **{name: size})


@pytest.mark.graded("budget", points=0.5, catches=("wrong-exception",))
def test_budget_refuses_floats(refusals: Refusals) -> None:
    """A float is a ValueError, even one that is whole."""
    refusals.of_width(4096.0)
    refusals.of_width(4096, 256.0)
    refusals.of_width(0.5)
    refusals.of_ffn(4096.0, 14336)
    refusals.of_ffn(4096, 14336.0)
    for function, names in USED.items():
        for name in names:
            refusals.of_cfg(function, **{name: float(LLAMA[name])})


@pytest.mark.graded("budget", points=0.5, catches=("missing-validation", "wrong-exception"))
def test_budget_refuses_whatever_cannot_be_built(refusals: Refusals) -> None:
    """Query heads that cannot share the key/value heads evenly; and, once more, one 0 and one float everywhere."""
    for function in USED:
        refusals.of_cfg(function, N=32, K=12)
        refusals.of_cfg(function, N=8, K=32)
        refusals.of_cfg(function, H=0)
        refusals.of_cfg(function, D=4096.0)
    refusals.of_width(0)
    refusals.of_width(4096.0)
    refusals.of_ffn(4096, 0)
    refusals.of_ffn(4096.0, 14336)
