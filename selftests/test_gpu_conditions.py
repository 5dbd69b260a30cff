"""The conditions of a GPU test, each shown to do what it says: TF32, watched calls, autocast, one graph, placing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from nanolm.gpu.arithmetic import RoundedProducts, rounded
from nanolm.gpu.faults import CPU_TENSOR, GRAPH_BREAK, HOST_SYNC, slug_of
from nanolm.gpu.placing import placed
from nanolm.implementation import Implementation, LocalBackend
from nanolm.protocol import Call, Conditions, Outcome, StudentFault
from nanolm.sources import NamespaceSource


def implementation(function: Callable[..., object]) -> Implementation:
    return Implementation(LocalBackend(NamespaceSource({"soft_cap": function}), "function"))


def fault_of(function: Callable[..., object], conditions: Conditions) -> StudentFault | None:
    student = implementation(function)
    student.conditions = conditions
    try:
        student.call("soft_cap", {"scores": torch.ones(2, 8)}, {"cap": 2.0})
    except StudentFault as fault:
        return fault
    return None


WATCHED = {
    "a vector of its own": (lambda s, cap: s + torch.ones(8), CPU_TENSOR),
    "an index of its own, compared": (lambda s, cap: s * torch.arange(8), CPU_TENSOR),
    "a matrix of its own": (lambda s, cap: s @ torch.eye(8), CPU_TENSOR),
    "item": (lambda s, cap: s / s.max().item(), HOST_SYNC),
    "if": (lambda s, cap: s if s.sum() > 0 else -s, HOST_SYNC),
    "float": (lambda s, cap: s * float(s.sum()), HOST_SYNC),
    "equal": (lambda s, cap: s if torch.equal(s, s) else -s, HOST_SYNC),
    "tolist": (lambda s, cap: s * s[0].tolist()[0], HOST_SYNC),
    "numpy": (lambda s, cap: s * float(s.numpy().max()), HOST_SYNC),
    "to the CPU and back": (lambda s, cap: s.cpu().to(s.device), HOST_SYNC),
    "numbers made a tensor there": (lambda s, cap: s + torch.tensor([1.0], device=s.device), HOST_SYNC),
    "a boolean index": (lambda s, cap: s[s > 0], HOST_SYNC),
}
HARMLESS = {
    "plain": lambda s, cap: cap * torch.tanh(s / cap),
    "a number without axes": lambda s, cap: s * torch.tensor(2.0),
    "made of its kind": lambda s, cap: s + torch.ones_like(s) + s.new_zeros(8) + torch.full((), cap, device=s.device),
    "a branch on a shape": lambda s, cap: s if s.shape[-1] > 4 else -s,
    "where": lambda s, cap: torch.where(s > cap, cap, s),
    "masked by a number": lambda s, cap: s.masked_fill(s > 0, 0.0),
}


@pytest.mark.parametrize("name", WATCHED)
def test_a_watched_call_sees_what_leaves_the_device_or_waits(name: str) -> None:
    function, slug = WATCHED[name]
    fault = fault_of(function, Conditions(watched=True))
    assert fault is not None
    assert slug_of(fault) == slug, fault.message
    assert fault_of(function, Conditions()) is None  # on a CPU there is nothing to see


@pytest.mark.parametrize("name", HARMLESS)
def test_a_watched_call_lets_harmless_code_pass(name: str) -> None:
    assert fault_of(HARMLESS[name], Conditions(watched=True)) is None


def test_an_output_that_stays_behind_is_seen() -> None:
    fault = fault_of(lambda s, cap: torch.zeros(2, 8), Conditions(watched=True))
    assert fault is not None
    assert fault.outcome is Outcome.WRONG_INTERFACE
    assert "came back on cpu" in fault.message


def test_a_graph_break_is_seen_and_named() -> None:
    def prints(scores: Tensor, cap: float) -> Tensor:
        print("scores", scores.shape)
        return scores

    fault = fault_of(prints, Conditions(compiled=True))
    assert fault is not None
    assert slug_of(fault) == GRAPH_BREAK
    assert fault_of(HARMLESS["plain"], Conditions(compiled=True)) is None


def test_faults_without_the_devices_words_have_no_name() -> None:
    assert (
        slug_of(StudentFault(Outcome.EXCEPTION, "mat1 and mat2 shapes cannot be multiplied", kind="RuntimeError"))
        is None
    )
    assert slug_of(StudentFault(Outcome.TIMEOUT, "synchronizing CUDA operation")) is None
    cuda = StudentFault(Outcome.EXCEPTION, "called a synchronizing CUDA operation", kind="RuntimeError")
    assert slug_of(cuda) == HOST_SYNC
    two = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    assert slug_of(StudentFault(Outcome.EXCEPTION, two, kind="RuntimeError")) == CPU_TENSOR


def test_tf32_keeps_ten_bits_and_rounds_to_the_nearest() -> None:
    given = torch.tensor([1.0, 1 + 2**-10, 1 + 2**-12, 1 + 3 * 2**-12, -1 - 2**-11, 0.0])
    assert rounded(given).tolist() == [1.0, 1 + 2**-10, 1.0, 1 + 2**-10, -1 - 2**-10, 0.0]
    assert rounded(given.double()) is not None
    assert torch.equal(rounded(given.double()), given.double())


def test_tf32_touches_matrix_products_and_nothing_else() -> None:
    a = torch.tensor([[1 + 2**-12]])
    with RoundedProducts():
        assert (a @ a).item() == 1.0
        assert torch.bmm(a[None], a[None]).item() == 1.0
        assert torch.nn.functional.linear(a, a).item() == 1.0
        assert (a * a).item() == (a * a).clone().item() > 1.0
    assert (a @ a).item() > 1.0


def test_autocast_is_there_and_ends_with_the_call() -> None:
    seen = []

    def watching(scores: Tensor, cap: float) -> Tensor:
        seen.append(torch.is_autocast_enabled("cpu"))
        return scores

    fault_of(watching, Conditions(autocast="bfloat16"))
    fault_of(watching, Conditions())
    assert seen == [True, False]


def test_a_call_on_the_cpu_is_not_copied_and_numpy_stays_on_the_host() -> None:
    call = Call("rms_norm", {"x": torch.ones(2)})
    assert placed(call, "cpu") is call
    moved = placed(call, "meta")
    assert moved.tensors["x"].device.type == "meta"
    host = Call("numpy_rms_norm", {"x": torch.ones(2)})
    assert placed(host, "meta") is host
