"""The given attention and block: right by an oracle of their own, and mistakes of their parts show in the block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from grader.bank import given
from nanolm.course import exercise_files
from nanolm.implementation import Implementation, LocalBackend
from nanolm.sources import TextSource
from solutions.attention import CausalGQA
from solutions.budget import attention_params
from solutions.config import ModelConfig
from tests import test_model as graded
from tests.ungraded import Call, caller

ROOT = Path(__file__).resolve().parent.parent
CFG = ModelConfig(V=11, D=12, L=1, N=6, K=2, H=5, F=17)


@contextmanager
def calls(mistakes: dict[str, str] | None = None, package: str = "solutions") -> Iterator[Call]:
    """Calls of the solutions with some files replaced by, or, for modules.py, followed by a file of the bank."""
    texts = {file: (ROOT / package / file).read_text(encoding="utf-8") for file in exercise_files()}
    for file, name in (mistakes or {}).items():
        bad = (ROOT / "mistakes" / "rejected" / f"{name}.py").read_text(encoding="utf-8")
        texts[file] += "\n" + bad.replace("from __future__ import annotations", "")
    source = TextSource({**texts, **given(ROOT)})
    source.install()
    try:
        yield caller(Implementation(LocalBackend(source, "made here")))
    finally:
        source.uninstall()


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def attention(cfg: ModelConfig, module: CausalGQA, x: np.ndarray) -> np.ndarray:
    """Head by head and token by token, in float64."""
    w_q, w_k, w_v, w_o = (w.weight.detach().double().numpy() for w in (module.w_q, module.w_k, module.w_v, module.w_o))
    outputs = []
    for token in range(len(x)):
        heads = []
        for head in range(cfg.N):
            shared = head // (cfg.N // cfg.K)
            q = w_q[head * cfg.H : (head + 1) * cfg.H] @ x[token]
            keys = [w_k[shared * cfg.H : (shared + 1) * cfg.H] @ x[other] for other in range(token + 1)]
            values = [w_v[shared * cfg.H : (shared + 1) * cfg.H] @ x[other] for other in range(token + 1)]
            scores = np.array([q @ key for key in keys]) / np.sqrt(cfg.H)
            weights = np.exp(scores - scores.max())
            heads.append(sum(w * v for w, v in zip(weights / weights.sum(), values, strict=True)))
        outputs.append(w_o @ np.concatenate(heads))
    return np.array(outputs)


def test_attention_is_causal_gqa_and_of_the_size_that_the_budget_says() -> None:
    torch.manual_seed(1)
    module = CausalGQA(CFG)
    x = rng().standard_normal((7, CFG.D))
    y = module(torch.tensor(x, dtype=torch.float32)).detach().double().numpy()
    np.testing.assert_allclose(y, attention(CFG, module, x), atol=2e-6)
    assert sum(p.numel() for p in module.parameters()) == attention_params(CFG)
    batch = torch.randn(2, 3, 7, CFG.D)
    torch.testing.assert_close(module(batch)[1, 2], module(batch[1, 2]))


TESTS: tuple[Callable[[Call], None], ...] = (
    lambda call: graded.test_block_is_causal(call, rng()),
    lambda call: graded.test_block_mixes_earlier_tokens_into_later_ones(call, rng()),
    lambda call: graded.test_block_with_silent_branches_is_the_identity(call, rng()),
    graded.test_block_holds_what_the_ledger_counts,
)


@pytest.mark.parametrize("number", range(len(TESTS)))
def test_the_reference_passes_and_stubs_are_skipped(number: int) -> None:
    with calls() as call:
        TESTS[number](call)
    with calls(package="exercises") as call, pytest.raises(pytest.skip.Exception, match="needs rmsnorm"):
        TESTS[number](call)


@pytest.mark.parametrize(
    ("number", "file", "mistake"),
    [
        (0, "modules.py", "rmsnorm/all-axes"),  # one statistic over all tokens lets the future through
        (2, "block.py", "placement/post-for-pre"),
        (2, "block.py", "placement/forgotten-residual"),
        (3, "budget.py", "budget/mha-not-gqa"),
    ],
)
def test_a_mistake_in_a_part_shows_in_the_block(number: int, file: str, mistake: str) -> None:
    with calls({file: mistake}) as call, pytest.raises(pytest.fail.Exception):
        TESTS[number](call)


def test_a_block_that_mixes_nothing_is_noticed() -> None:
    with calls({"block.py": "placement/last-only"}) as call, pytest.raises((AssertionError, pytest.fail.Exception)):
        # Without attention's part in the stream no earlier token can be noticed.
        graded.test_block_mixes_earlier_tokens_into_later_ones(_without_attention(call), rng())


def _without_attention(call: Call) -> Call:
    def run(exercise: str, entry: str, tensors: dict[str, torch.Tensor], scalars: dict[str, int]) -> object:
        return call(exercise, entry, tensors, {**scalars, "silent": True})

    return run
