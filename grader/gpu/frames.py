"""Frames between the GPU job and its workers: JSON and raw numbers, length-prefixed, capped and checked before use.

`grader.wire` does the same for the sandbox and more strictly, with packages that may not be there where this job runs.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from nanolm.protocol import Call, Conditions, Outcome, Place, Reply, StudentFault

PREFIX = struct.Struct(">QQ")
MAX_HEADER, MAX_BODY = 1 << 20, 1 << 28
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16,
        torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
    )
}  # fmt: skip
FAULTS_OF_STUDENTS = frozenset(Outcome) - {
    Outcome.PASSED, Outcome.NOT_RUN_HERE, Outcome.INFRASTRUCTURE, Outcome.TIMEOUT, Outcome.CRASHED,
}  # fmt: skip
"""What a worker may say of itself; the rest is for the job to say."""

Groups = Mapping[str, Mapping[str, Tensor]]


class FrameError(ValueError):
    """What came is not a frame that our code sends."""


def packed(header: Mapping[str, Any], groups: Groups) -> bytes:
    """One frame: what is said, and named tensors in named groups. Strides are kept."""
    body = bytearray()
    listed: dict[str, dict[str, list[object]]] = {}
    for group, tensors in groups.items():
        listed[group] = {}
        for name, tensor in tensors.items():
            start = len(body)
            plain = tensor.detach().cpu().contiguous()
            if plain.numel():
                body += plain.reshape(-1).view(torch.uint8).numpy().tobytes()
            kind = str(tensor.dtype).removeprefix("torch.")
            listed[group][name] = [kind, list(tensor.shape), list(tensor.stride()), len(body) - start]
    text = json.dumps({**header, "groups": listed}).encode()
    return PREFIX.pack(len(text), len(body)) + text + bytes(body)


def unpacked(read: Callable[[int], bytes]) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
    """Read one frame; `read(n)` gives exactly n bytes or raises. Raises FrameError for anything else than a frame."""
    header_size, body_size = PREFIX.unpack(read(PREFIX.size))
    if header_size > MAX_HEADER or body_size > MAX_BODY:
        raise FrameError("it is larger than any reply of a test")
    raw, body = read(header_size), memoryview(read(body_size))
    try:
        header = json.loads(raw)
        groups: dict[str, dict[str, Tensor]] = {}
        at = 0
        for group, tensors in header.pop("groups").items():
            groups[str(group)] = {}
            for name, (kind, shape, stride, size) in tensors.items():
                groups[str(group)][str(name)] = _tensor(body[at : at + size], kind, shape, stride)
                at += size
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, RecursionError) as error:
        raise FrameError(f"it cannot be read ({type(error).__name__})") from error
    if at != body_size:
        raise FrameError("its numbers are not of the size that it says")
    return header, groups


def _tensor(raw: memoryview, kind: object, shape: object, stride: object) -> Tensor:
    dtype = DTYPES[str(kind)]
    if not isinstance(shape, list) or not isinstance(stride, list) or len(shape) != len(stride) or len(shape) > 16:
        raise FrameError("a shape is not one")
    if not all(type(n) is int and 0 <= n <= MAX_BODY for n in (*shape, *stride)):
        raise FrameError("a size is not one")
    count = math.prod(shape)
    if count * dtype.itemsize != len(raw):
        raise FrameError("a tensor is not of its size")
    flat = torch.frombuffer(bytearray(raw), dtype=dtype) if count else torch.empty(0, dtype=dtype)
    values = flat.reshape(shape)
    if values.stride() == tuple(stride) or not _may_be_laid_out(shape, stride, count):
        return values
    return torch.empty_strided(shape, stride, dtype=dtype).copy_(values)


def _may_be_laid_out(shape: list[int], stride: list[int], count: int) -> bool:
    """Whether these strides are those of a transposed tensor: no element twice, no memory that is not needed."""
    steps = sorted((step, size) for step, size in zip(stride, shape, strict=True) if size > 1)
    reach = 1
    for step, size in steps:
        if step != reach:
            return False
        reach *= size
    return reach == count


def call_frame(call: Call) -> bytes:
    """A call on its way to the worker."""
    header = {
        "do": "call", "entry": call.entry, "scalars": dict(call.scalars), "conditions": asdict(call.conditions),
        "return_arguments": call.return_arguments,
    }  # fmt: skip
    return packed(header, {"tensors": call.tensors, "upstream": call.upstream})


def read_call(header: Mapping[str, Any], groups: Mapping[str, dict[str, Tensor]]) -> Call:
    """The call, in the worker."""
    return Call(
        header["entry"], groups["tensors"], header["scalars"], groups["upstream"], header["return_arguments"],
        Conditions(**header["conditions"]),
    )  # fmt: skip


def reply_frame(reply: Reply) -> bytes:
    """A reply on its way back."""
    said = {"said": "reply", "facts": reply.facts, "notes": reply.notes}
    return packed(said, {"tensors": reply.tensors, "gradients": reply.gradients, "arguments": reply.arguments})


def fault_frame(fault: StudentFault) -> bytes:
    """A fault on its way back."""
    said = {
        "said": "fault", "outcome": fault.outcome.value, "message": fault.message[:4000], "kind": fault.kind[:200],
        "bases": list(fault.bases)[:50], "place": asdict(fault.place) if fault.place else None,
    }  # fmt: skip
    return packed(said, {})


def read_answer(header: Mapping[str, Any], groups: Mapping[str, dict[str, Tensor]]) -> Reply:
    """The reply. Raises the StudentFault that came instead, FrameError for what is neither."""
    if header.get("said") == "reply":
        notes, facts = header.get("notes"), header.get("facts")
        if not isinstance(notes, list) or not isinstance(facts, dict):
            raise FrameError("it says nothing that a test could read")
        tensors, gradients, arguments = (groups.get(name, {}) for name in ("tensors", "gradients", "arguments"))
        return Reply(tensors, gradients, arguments, facts, [str(note)[:500] for note in notes[:20]])
    outcome = header.get("outcome")
    if header.get("said") != "fault" or outcome not in {known.value for known in FAULTS_OF_STUDENTS}:
        raise FrameError("it is neither a reply nor a fault of a student's")
    raise StudentFault(
        Outcome(outcome), str(header.get("message"))[:4000], kind=str(header.get("kind"))[:200],
        bases=tuple(str(base)[:200] for base in header.get("bases") or ()), place=_place(header.get("place")),
    )  # fmt: skip


def _place(said: object) -> Place | None:
    if not isinstance(said, dict) or type(said.get("line")) is not int:
        return None
    column = said.get("column")
    text = str(said.get("text", ""))[:500]
    return Place(str(said.get("file"))[:200], said["line"], text, column if type(column) is int else None)
