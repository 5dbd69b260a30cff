"""NumPy's arrays in the place of tensors: the same bytes on the wire, the same strides, the same refusals; no torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from grader import arrays
from grader.arrays import MAX_RANK, CannotEncode, WireError
from nanolm.adapters.student import Student
from nanolm.layout import Array, copy_with_strides, laid_out
from nanolm.protocol import Outcome

ROOT = Path(__file__).resolve().parents[1]
DTYPES = ("float16", "float32", "float64", "int64", "bool")
BYTES = st.sampled_from(DTYPES).flatmap(
    lambda dtype: stn.arrays(dtype, stn.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
)


@settings(max_examples=200, deadline=None)
@given(array=BYTES)
def test_arrays_and_tensors_are_the_same_bytes_and_come_back_as_either(array: Array) -> None:
    packed = arrays.encode({"y": array})
    assert packed == arrays.encode({"y": torch.from_numpy(array)})
    back = arrays.decode_arrays(packed)["y"]
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert back.flags.writeable
    assert arrays.decode(packed)["y"].numpy().tobytes() == array.tobytes()


@settings(max_examples=200, deadline=None)
@given(array=BYTES, draw=st.data())
def test_a_copy_keeps_strides_values_and_its_own_memory(array: Array, draw: st.DataObject) -> None:
    steps = [slice(None, None, draw.draw(st.integers(1, 3))) for _ in range(array.ndim)]
    view = array.transpose(draw.draw(st.permutations(range(array.ndim))))[(..., *steps)]
    for given_one in (view, torch.from_numpy(view)):
        copy = copy_with_strides(given_one)
        assert np.asarray(copy).tobytes() == view.tobytes()
        assert not np.shares_memory(np.asarray(copy), array)
    if view.size:
        assert np.asarray(copy_with_strides(view)).strides == view.strides
        other = laid_out(torch.from_numpy(view.copy()), [stride // view.itemsize for stride in view.strides])
        assert np.asarray(other).strides == view.strides


def test_a_bytes_other_than_zero_and_one_is_true() -> None:
    packed = bytearray(arrays.encode({"y": np.array([True, False])}))
    packed[-2] = 7
    assert arrays.decode_arrays(packed)["y"].view(np.uint8).tolist() == [1, 0]


def test_what_numpy_does_not_know_is_refused() -> None:
    with pytest.raises(WireError, match="BF16, which NumPy does not know"):
        arrays.decode_arrays(arrays.encode({"x": torch.ones(2, dtype=torch.bfloat16)}))
    assert arrays.decode_arrays(b"") == {}


class Own(np.ndarray):
    """A subclass."""


@pytest.mark.parametrize(
    ("array", "outcome"),
    [
        (np.ones(2, ">f4"), Outcome.WRONG_DTYPE),
        (np.array([None]), Outcome.WRONG_DTYPE),
        (np.ones(2, np.longdouble), Outcome.WRONG_DTYPE),
        (np.ones(2, np.int32), Outcome.WRONG_DTYPE),
        (np.ones([1] * (MAX_RANK + 1)), Outcome.WRONG_SHAPE),
        (np.ones(2).view(Own), Outcome.WRONG_INTERFACE),
        (np.broadcast_to(np.float64(1), 10**8), Outcome.OUT_OF_MEMORY),
    ],
)
def test_an_array_that_cannot_be_carried_is_refused(array: npt.NDArray[np.generic], outcome: Outcome) -> None:
    with pytest.raises(CannotEncode) as caught:
        arrays.encode({"tensors/y": array})
    assert caught.value.outcome is outcome


ALL_WAYS = """
import sys
import numpy as np
from grader import wire
from grader.without_torch import WithoutTorch
from nanolm.execution import Executor
from nanolm.protocol import Call
from nanolm.sources import TextSource
import torch

calls = {
    "numpy_silu": ({"z": torch.ones(3, 4).t()}, {}),
    "numpy_rms_norm": ({"x": torch.ones(2, 4, dtype=torch.float16), "gamma": torch.ones(4)}, {"eps": 1e-6}),
    "numpy_layer_norm": ({"x": torch.ones(0, 4, dtype=torch.float64)}, {}),
    "numpy_refusal": ({"x": torch.ones(2, 0)}, {"function": "rms_norm"}),
    "numpy_swiglu": ({"gate": torch.ones(2), "up": torch.ones(3)}, {}),
}
def framed(data):
    inbox, frame = wire.Inbox(), None
    while frame is None:
        part = data[: inbox.wanted]
        data, frame = data[len(part) :], inbox.feed(part)
    return frame


frames = [framed(wire.encode_call(Call(name, *rest, return_arguments=True), 1)) for name, rest in calls.items()]
source = TextSource({"numpy_bridge.py": open("solutions/numpy_bridge.py").read()})
source.install()
executor = Executor(source)
without = WithoutTorch()
assert without._mappings and without._code
def refuse(fault):
    print("REFUSED", fault.message, flush=True)
    import os; os._exit(3)
without.begin(refuse)
from grader.worker import answer
for frame in frames:
    print(len(answer(executor, wire.decode_call(frame), 1)) > 0)
print("END", flush=True)
import os; os._exit(0)
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="pages are found in /proc")
def test_no_call_of_such_an_exercise_needs_torch_in_its_worker() -> None:
    ran = subprocess.run([sys.executable, "-c", ALL_WAYS], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.stdout.splitlines() == ["True"] * 5 + ["END"], ran.stdout + ran.stderr


def test_a_jump_into_torch_ends_in_the_refusal_and_any_other_fault_in_death() -> None:
    for last, expected in (("torch.ones(2)", 3), ("import ctypes; ctypes.memset(1, 0, 1)", -11)):
        text = ALL_WAYS.replace("from grader.worker import answer", last)
        ran = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert ran.returncode == expected, ran.stdout + ran.stderr
        assert ("REFUSED" in ran.stdout) == (expected == 3)


@pytest.mark.parametrize("x", [np.ones(6), torch.ones(6)])
def test_a_student_who_gives_an_argument_another_shape_changes_no_argument(x: Array | torch.Tensor) -> None:
    student = Student("exercises/numpy_bridge.py", {}, {"x": x}, {})  # type: ignore[dict-item]
    given_one = student.array("x")
    given_one.shape = (2, 3)
    given_one[0, 0] = 7
    assert tuple(x.shape) == (6,)
    assert x[0] == 7, "values are seen, whoever changes them"
