"""Frames of the GPU job: whatever our side sends arrives as it was, and nothing else is taken for a reply."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import torch

from grader.gpu import frames
from grader.gpu.frames import FrameError
from nanolm.protocol import Call, Conditions, Outcome, Place, Reply, StudentFault


def reader(data: bytes) -> Any:
    source = io.BytesIO(data)

    def read(count: int) -> bytes:
        found = source.read(count)
        if len(found) != count:
            raise EOFError
        return found

    return read


TENSORS = {
    "bfloat16": torch.randn(2, 3).bfloat16(),
    "float16": torch.tensor([1.0, float("inf"), float("nan")]).half(),
    "no axes": torch.tensor(3.5, dtype=torch.float64),
    "empty": torch.zeros(0, 4),
    "transposed": torch.arange(6.0).reshape(2, 3).T,
    "every other": torch.arange(6.0)[::2],
    "expanded": torch.ones(1, 3).expand(2, 3),
    "whole numbers": torch.tensor([[1, -2]], dtype=torch.int64),
    "truth": torch.tensor([True, False]),
}


def test_a_call_arrives_as_it_was() -> None:
    conditions = Conditions(autocast="bfloat16", compiled=True)
    call = Call("rms_norm", TENSORS, {"eps": 1e-6, "d_model": 4}, {"y": torch.ones(2)}, True, conditions)
    header, groups = frames.unpacked(reader(frames.call_frame(call)))
    back = frames.read_call(header, groups)
    assert (back.entry, back.scalars, back.return_arguments, back.conditions) == (
        "rms_norm", {"eps": 1e-6, "d_model": 4}, True, conditions,
    )  # fmt: skip
    for name, tensor in TENSORS.items():
        assert back.tensors[name].dtype == tensor.dtype
        assert torch.equal(back.tensors[name].nan_to_num(), tensor.nan_to_num()), name
    assert back.tensors["transposed"].stride() == (1, 3)
    assert back.tensors["expanded"].is_contiguous()


def test_a_reply_and_a_fault_arrive_as_they_were() -> None:
    reply = Reply({"y": torch.ones(2)}, {"x": torch.zeros(3)}, {}, {"trained": ["gamma"]}, ["a note"])
    back = frames.read_answer(*frames.unpacked(reader(frames.reply_frame(reply))))
    assert (back.facts, back.notes, list(back.tensors), list(back.gradients)) == (
        reply.facts,
        reply.notes,
        ["y"],
        ["x"],
    )
    fault = StudentFault(Outcome.EXCEPTION, "m", kind="K", bases=("K", "E"), place=Place("f.py", 3, "x", 2))
    with pytest.raises(StudentFault) as caught:
        frames.read_answer(*frames.unpacked(reader(frames.fault_frame(fault))))
    assert (caught.value.kind, caught.value.bases, caught.value.place) == ("K", ("K", "E"), Place("f.py", 3, "x", 2))


def frame(header: object, body: bytes = b"", size: int | None = None) -> bytes:
    text = json.dumps(header).encode()
    return frames.PREFIX.pack(len(text), len(body) if size is None else size) + text + body


def said(tensors: object, body: bytes = b"") -> bytes:
    return frame({"said": "reply", "facts": {}, "notes": [], "groups": {"tensors": tensors}}, body)


@pytest.mark.parametrize(
    "data",
    [
        frame({}, size=1 << 40),
        frames.PREFIX.pack(1 << 40, 0),
        frames.PREFIX.pack(4, 0) + b"{{{{",
        frames.PREFIX.pack(1 << 19, 0) + b"[" * (1 << 19),
        frame([]),
        frame({"groups": 3}),
        frame({"groups": {}}, b"left over"),
        said({"y": ["float32", [2], [1], 8]}, b"1234"),
        said({"y": ["float32", [3], [1], 8]}, b"12345678"),
        said({"y": ["float32", [-2], [1], 8]}, b"12345678"),
        said({"y": ["float32", [True, 2], [1, 1], 8]}, b"12345678"),
        said({"y": ["complex64", [1], [1], 8]}, b"12345678"),
        said({"y": ["float32", [2], [1, 1], 8]}, b"12345678"),
        said({"y": ["float32", [1 << 30, 1 << 30], [1, 1], 0]}),
        said({"y": "float32"}),
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(FrameError):
        frames.unpacked(reader(data))


def test_strides_ask_for_no_memory_that_is_not_there() -> None:
    _, groups = frames.unpacked(reader(said({"y": ["float32", [2], [1 << 27], 8]}, b"12345678")))
    assert groups["tensors"]["y"].is_contiguous()


@pytest.mark.parametrize(
    "outcome", ["passed", "infrastructure", "not_run_here", "timeout", "crashed", "nonsense", None]
)
def test_a_worker_cannot_say_what_only_the_job_may(outcome: str | None) -> None:
    with pytest.raises(FrameError):
        frames.read_answer({"said": "fault", "outcome": outcome, "message": "", "kind": "", "bases": []}, {})


def test_what_is_neither_reply_nor_fault_is_refused() -> None:
    for header in ({}, {"said": "reply", "facts": [], "notes": []}, {"said": "verdict"}):
        with pytest.raises(FrameError):
            frames.read_answer(header, {})
