"""Beside the student's code: the from-scratch rule over several files, and which lines an executor quotes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from nanolm import timelimit
from nanolm.execution import Executor
from nanolm.from_scratch import imported_files
from nanolm.protocol import Call, Outcome, StudentFault
from nanolm.sources import TextSource

# ── Several files ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line",
    [
        "from .budget import helper",
        "from . import budget",
        "from exercises.budget import helper",
        "from exercises import budget as b",
        "import exercises.budget",
        "def f():\n    import exercises.budget as b",
    ],
)
def test_imports_between_submitted_files_are_seen(line: str) -> None:
    assert "budget.py" in imported_files(f"import torch.nn\nfrom torch import budget\n{line}")
    assert imported_files("import budget, torch.budget\nfrom math import budget\nx = '") == []


CLEAN = "import torch\nclass RMSNorm: pass\n"


def test_a_helper_in_another_file_is_found_there() -> None:
    texts = {
        "modules.py": f"from .budget import helper\n{CLEAN}",
        "budget.py": "from . import block\nfrom . import modules\nhelper = block.helper\n",
        "block.py": "import torch.nn.functional as F\n\nhelper = F.rms_norm\n",
    }
    executor = Executor(TextSource(texts))
    fault = executor.from_scratch_fault("rmsnorm")
    assert fault is not None
    assert fault.place is not None
    assert (fault.outcome, fault.place.file, fault.place.line) == (Outcome.FORBIDDEN, "exercises/block.py", 3)
    assert "exercises/block.py line 3 uses F.rms_norm" in fault.message
    assert executor.from_scratch_fault("swiglu") is None
    assert executor.from_scratch_fault("budget") is None


def test_a_file_that_is_not_imported_is_its_own_exercise_s_business() -> None:
    executor = Executor(TextSource({"modules.py": CLEAN, "budget.py": "eval('1')\n"}))
    assert executor.from_scratch_fault("rmsnorm") is None
    assert executor.from_scratch_fault("budget") is not None


# ── Source lines ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Executor]]:
    monkeypatch.chdir(tmp_path)  # here no `exercises/modules.py` lies on the disk
    made: list[TextSource] = []

    def make(text: str) -> Executor:
        made.append(TextSource({"modules.py": text}))
        made[-1].install()
        return Executor(made[-1])

    yield make
    for source in made:
        source.uninstall()


WITHOUT_INVERSE = """
class RMSNorm(torch.nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = torch.nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        {body}
        return x * inverse(x, self.eps) * self.gamma
"""
CALL = Call("rms_norm", {"x": torch.ones(2, 3), "gamma": torch.ones(3)}, {"d_model": 3, "eps": 1e-6})


def test_a_scripted_function_finds_its_source(executor: Callable[[str], Executor]) -> None:
    helper = "def inverse(x: torch.Tensor, eps: float):\n    return (x.pow(2).mean(-1, True) + eps) ** -0.5\n"
    reply = executor("import torch\n@torch.jit.script\n" + helper + WITHOUT_INVERSE.format(body="pass")).execute(CALL)
    torch.testing.assert_close(reply.tensors["y"], torch.ones(2, 3))


@pytest.mark.parametrize("odd", ["\f", "x = '\x1c\x85'\n", "# \v \u2028\n", "x = 1\r", "x = 1\r\n"])
def test_the_line_that_raised_is_quoted_whatever_ends_lines(odd: str, executor: Callable[[str], Executor]) -> None:
    text = f"{odd}import torch\n" + WITHOUT_INVERSE.format(body="undefined_thing")
    with pytest.raises(StudentFault) as caught:
        executor(text).execute(CALL)
    assert caught.value.place is not None
    assert caught.value.place.text == "undefined_thing"


@pytest.mark.parametrize("way", ["_by_signal", "_by_exception"])
def test_a_limit_that_was_reached_does_not_cut_short_what_is_said_of_it(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the next ring comes while the line is still being looked for."""
    monkeypatch.setattr(timelimit, "REPEAT_SECONDS", 0.02)
    monkeypatch.setattr(Executor, "_place", lambda self, error, file: [time.sleep(0.002) for _ in range(100)] and None)
    source = TextSource({"modules.py": "while True:\n    pass\n"})
    source.install()
    try:
        with getattr(timelimit, way)(0.05), pytest.raises(StudentFault) as caught:
            Executor(source).execute(Call("rms_norm", {"x": torch.ones(2, 3)}, {"d_model": 3}))
    finally:
        source.uninstall()
    assert caught.value.outcome is Outcome.TIMEOUT
