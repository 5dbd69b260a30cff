"""Exercises written without torch: its name is found on the page, its operators are seen as they run in a worker."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from grader.bank import given
from grader.job import Job
from grader.pool import grade_all
from grader.results import SubmissionResult
from grader.session import Settings
from nanolm.course import EXERCISES
from nanolm.execution import Executor
from nanolm.from_scratch import WITHOUT_TORCH, check_source
from nanolm.protocol import Call, Outcome, StudentFault
from nanolm.sources import TextSource

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = (ROOT / "solutions" / "numpy_bridge.py").read_text("utf-8")

NAMED = {
    "import": "import torch",
    "import renamed": "import torch as t",
    "import of a part": "import torch.nn.functional as F",
    "from": "from torch import sigmoid",
    "from a part": "from torch.nn import functional as F",
    "star": "from torch import *",
    "functorch": "from functorch import vmap",
    "in a function": "def f(z):\n    import torch\n    return torch.sigmoid(torch.from_numpy(z)).numpy()",
    "guarded": "try:\n    import torch\nexcept ImportError:\n    pass",
    "for annotations": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch import Tensor",
    "sys.modules": 'import sys\nt = sys.modules["torch"]',
    "sys.modules.get": 'import sys\nt = sys.modules.get("torch")',
    "sys.modules of a part": 'import sys\nF = sys.modules["torch.nn.functional"]',
    "sys.modules of a sum": 'import sys\nt = sys.modules["tor" + "ch"]',
    "resolve_name": 'import pkgutil\nf = pkgutil.resolve_name("torch:sigmoid")',
    "attrgetter": 'import operator, einops\nf = operator.attrgetter("layers.torch.Rearrange")(einops)',
    "einops's": "import einops.layers.torch as layers",
    "store": "import torch\ntorch.relu = None",
}
UNNAMED = {
    "docstring": '"""import torch would do all of this."""',
    "comment": "# import torch\nx = 1",
    "string": "message = \"torch, torch.nn and sys.modules['torch']\"",
    "is it loaded?": 'import sys\nloaded = "torch" in sys.modules',
    "a name of one's own": "import numpy as np\ntorch = np\ny = torch.exp(0)",
    "an argument": "def f(torch): return torch.exp(0)",
    "an attribute of one's own": "self.torch = 1\ny = self.torch",
    "a file of one's own": "from .torchless import f",
}


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED)
def test_torch_is_found_under_every_alias(text: str) -> None:
    for exercise in WITHOUT_TORCH:
        assert "torch" in {finding.rule for finding in check_source(text, exercise)}
    assert "torch" not in {finding.rule for finding in check_source(text, "swiglu")}


@pytest.mark.parametrize("text", UNNAMED.values(), ids=UNNAMED)
def test_words_and_names_of_ones_own_are_no_torch(text: str) -> None:
    for exercise in WITHOUT_TORCH:
        assert check_source(text, exercise) == []


def test_exercises_without_torch_are_exercises() -> None:
    assert WITHOUT_TORCH
    assert set(EXERCISES) >= WITHOUT_TORCH


def fault(texts: dict[str, str]) -> StudentFault:
    source = TextSource(texts)
    source.install()
    try:
        with pytest.raises(StudentFault) as caught:
            Executor(source).execute(Call("numpy_silu", {"z": torch.ones(3)}))
    finally:
        source.uninstall()
    return caught.value


def test_a_local_run_says_which_line_and_why() -> None:
    found = fault({"numpy_bridge.py": f"{SOLUTION}\nimport torch\n"})
    assert found.outcome is Outcome.FORBIDDEN
    line = len(SOLUTION.splitlines()) + 2
    assert f"exercises/numpy_bridge.py line {line} uses torch: this exercise is written with NumPy" in found.message


def test_a_file_that_imports_torch_cannot_be_borrowed_from() -> None:
    modules = (ROOT / "solutions" / "modules.py").read_text("utf-8")
    found = fault({"numpy_bridge.py": f"from .modules import RMSNorm\n{SOLUTION}", "modules.py": modules})
    assert found.outcome is Outcome.FORBIDDEN
    assert found.message.startswith("exercises/modules.py line ")


# ── In a worker, under names that no reader can see ──────────────────────────────────────────────────────────────────

HIDDEN = 'import sys\nT = sys.modules["".join(["tor", "ch"])]\n'
SILU = "\n\ndef silu(z):\n    {}\n"
TENSOR = "T.from_numpy(np.ascontiguousarray(z))"
FOUND = """
import sys
REAL = sys.modules["hcrot"[::-1]]
"""
THREAD = """
import threading
def threaded(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]
"""
FORBIDDEN = {
    "sigmoid": HIDDEN + SILU.format(f"return z * T.sigmoid({TENSOR}).numpy()"),
    "method": HIDDEN + SILU.format(f"return z * {TENSOR}.sigmoid().numpy()"),
    "library": HIDDEN + SILU.format(f"return T.nn.functional.silu({TENSOR}).numpy()"),
    "caught": HIDDEN + SILU.format(f"try: return T.relu({TENSOR}).numpy()\n    except BaseException: return z"),
    "arithmetic": HIDDEN + SILU.format(f"t = {TENSOR}\n    return (t / (1 + (-t).exp())).numpy()"),
    "at import": f"{HIDDEN}T.ones(3)\n",
    "loop over modules": 'import sys\nT = next(m for n, m in sys.modules.items() if n[::-1] == "hcrot")\nT.ones(3)\n',
    "in a thread": THREAD + FOUND + SILU.format("return threaded(lambda: REAL.ones(2))"),
    "an attribute in C": f"{FOUND}REAL.float32.itemsize\n",
    "module": HIDDEN + SILU.format(f"return T.nn.SiLU()({TENSOR}).numpy()"),
}
ORDINARY = {
    "solution": "",
    "einops": "import einops\neinops.rearrange(np.ones((2, 3)), 'a b -> b a')\n",
    "jaxtyping": "from jaxtyping import Float\nX = Float[np.ndarray, '2']\nisinstance(np.ones(2), X)\n",
    "looked at": HIDDEN + "T.__version__, T.nn.functional.silu\n",
    "all modules": "import sys\nfor m in list(sys.modules.values()): getattr(m, 'VERSION', None)\n",
    "pickled": "import pickle\ntry: pickle.dumps(np.frompyfunc(abs, 1, 1))\nexcept Exception: pass\n",
    "an extension made with pybind11": "import contourpy\ncontourpy.contour_generator(z=np.eye(3)).lines(0.5)\n",
    "ctypes that others use": "import multiprocessing.sharedctypes\nnp.ones(3).ctypes.data\n",
    "threads, cycles, modules": (
        "import threading, decimal, sqlite3, numpy.fft, numpy.ma, numpy.testing, numpy.polynomial\n"
        "for _ in range(5000):\n    cycle = []; cycle.append(cycle)\n"
        "thread = threading.Thread(target=lambda: np.linalg.svd(np.ones((8, 8)))); thread.start(); thread.join()\n"
    ),
}
SCIPY_OR_MATH = "try:\n    from scipy.special import erf\nexcept ImportError:\n    erf = None\n"


@pytest.fixture(scope="module")
def graded() -> dict[str, SubmissionResult]:
    texts = {name: SOLUTION + more for name, more in (FORBIDDEN | ORDINARY).items()}
    deaf = "import signal\nsignal.signal(signal.SIGSEGV, signal.SIG_IGN)\n" + FOUND
    texts["deaf to faults"] = SOLUTION + deaf + SILU.format("return REAL.from_numpy(z).sigmoid().numpy() * z")
    texts["scipy or math"] = SOLUTION.replace("math\n", f"math\n\n{SCIPY_OR_MATH}", 1)
    texts["scipy"] = SOLUTION.replace("import math\n", "import math\n\nfrom scipy.special import erf\n")
    jobs = [Job(name, given(ROOT) | {"numpy_bridge.py": text}) for name, text in texts.items()]
    settings = Settings(ROOT, ("numpy_bridge",), round="self-test", secret=b"a secret")
    return {result.name: result for result in grade_all(jobs, settings)}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_every_test_is_forbidden_once_torch_computes(name: str, graded: dict[str, SubmissionResult]) -> None:
    assert check_source(SOLUTION + FORBIDDEN[name], "numpy_bridge") == []
    verdicts = graded[name].verdicts
    assert {verdict.outcome for verdict in verdicts} == {Outcome.FORBIDDEN}
    assert sum(verdict.score for verdict in verdicts) == 0
    assert {verdict.message for verdict in verdicts} == {verdicts[0].message}
    assert "exercises/numpy_bridge.py line " in verdicts[0].message
    assert "written with NumPy and the standard library alone" in verdicts[0].message


def test_deaf_to_faults_nothing_is_computed_either(graded: dict[str, SubmissionResult]) -> None:
    outcomes = {verdict.outcome for verdict in graded["deaf to faults"].verdicts}
    assert Outcome.CRASHED in outcomes
    assert outcomes <= {Outcome.CRASHED, Outcome.PASSED}, "tests that never ask for silu have a right answer"
    assert "signal 11" in next(v for v in graded["deaf to faults"].verdicts if v.outcome is Outcome.CRASHED).message


@pytest.mark.parametrize("name", [*ORDINARY, "scipy or math"])
def test_what_does_not_compute_with_torch_loses_nothing(name: str, graded: dict[str, SubmissionResult]) -> None:
    assert [f"{v.test}: {v.message}" for v in graded[name].verdicts if v.outcome is not Outcome.PASSED] == []


def test_scipy_is_an_import_error_like_any_other(graded: dict[str, SubmissionResult]) -> None:
    assert {verdict.outcome for verdict in graded["scipy"].verdicts} == {Outcome.EXCEPTION}
    assert "No module named 'scipy'" in graded["scipy"].verdicts[0].message
