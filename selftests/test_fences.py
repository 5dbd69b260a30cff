"""What a submission may not import; and torch in the exercise without it: everybody may look, nobody may call it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.isolation import open_zygote
from grader.remote import Limits, WorkerBackend, Zygote
from grader.sandbox import BEST
from nanolm.protocol import Call, Outcome, StudentFault

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a worker's CPU time is read from /proc")

ROOT = Path(__file__).resolve().parents[1]
NUMPY = Call("numpy_silu", {"z": torch.ones(2, 3)})
TORCH = Call("rms_norm", {"x": torch.ones(2, 3)}, {"d_model": 3})
FILE = {"numpy_silu": "numpy_bridge.py", "rms_norm": "modules.py"}


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with open_zygote(BEST, ROOT) as running:
        yield running


def fault(zygote: Zygote, text: str, call: Call = NUMPY) -> StudentFault:
    """What running a text ends in; it always ends in a fault."""
    backend = WorkerBackend(zygote, {FILE[call.entry]: text}, Limits(cpu_seconds=5))
    try:
        with pytest.raises(StudentFault) as caught:
            backend.run(call)
    finally:
        backend.end()
    return caught.value


def said(zygote: Zygote, body: str, call: Call = NUMPY) -> str:
    """The value of `answer` after a body has run as a submission."""
    told = fault(zygote, f"import sys\n{body}\nraise ValueError(str(answer))\n", call)
    assert told.kind == "ValueError", told.message
    return told.message


@pytest.mark.parametrize("name", ["nanolm", "nanolm.adapters.student", "grader", "grader.worker", "grader.zygote"])
def test_the_house_cannot_be_imported(name: str, zygote: Zygote) -> None:
    for call in (NUMPY, TORCH):
        told = fault(zygote, f"import {name}", call)
        assert told.kind == "ModuleNotFoundError"
        assert name.partition(".")[0] in told.message


def test_no_module_of_the_house_is_named_anywhere(zygote: Zygote) -> None:
    body = "answer = [n for n in sys.modules if n.split('.')[0] in ('nanolm', 'grader')], dir(sys.modules['__main__'])"
    names, _, main = said(zygote, body, TORCH).partition("], ")
    assert names == "(["
    assert "worker" not in main


GET = "T = sys.modules['hcrot'[::-1]]\n"


@pytest.mark.parametrize(
    "body",
    [
        "answer = T.ones(2)",
        "answer = getattr(T, 'as_tensor')(1.0)",
        "answer = sys.modules['hcrot'[::-1] + '.nn'].functional.relu(1.0)",
        "import threading\nt = threading.Thread(target=lambda: T.ones(2))\nt.start(); t.join(); answer = 1",
        "import operator\nanswer = operator.attrgetter('ones')(T)(2)",
        "import einops\nanswer = getattr(sys.modules['einops._torch_specific'], 'hcrot'[::-1]).ones(2)",
    ],
)
def test_a_line_of_a_submission_that_calls_torch_is_named(body: str, zygote: Zygote) -> None:
    told = fault(zygote, f"import sys\n{GET}{body}\n")
    assert told.outcome is Outcome.FORBIDDEN
    assert "exercises/numpy_bridge.py line" in told.message
    assert "without torch" in told.message


def test_honest_code_is_left_alone(zygote: Zygote) -> None:
    body = """\
import copy, doctest, pickle, unittest.mock, warnings
import einops
import numpy as np
import numpy.fft, numpy.testing, numpy.ma
answer = [*einops.rearrange(np.arange(6), "(a b) -> b a", a=2).shape, int(einops.reduce(np.ones(3), "a ->", "sum"))]
answer += [pickle.loads(pickle.dumps(np.add)) is np.add, bool(copy.deepcopy(np.float32(1)) == 1)]
warnings.warn("x")
hasattr(sys.modules["hcrot"[::-1]], "__file__")
"""
    assert said(zygote, body) == "[3, 2, 3, True, True]"


def test_other_exercises_keep_torch(zygote: Zygote) -> None:
    assert said(zygote, f"{GET}answer = T.nn.Linear.__name__, T.ones(2).sum().item()", TORCH) == "('Linear', 2.0)"
