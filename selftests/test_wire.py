"""The wire carries what a call and a reply hold, and refuses everything else quickly and as one kind of error."""

from __future__ import annotations

import json
import math
import struct
import time
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader import arrays, wire
from grader.schema import MAX_TEXT
from grader.wire import (
    CannotEncode,
    Frame,
    Inbox,
    Kind,
    WireError,
    decode_call,
    decode_fault,
    decode_load,
    decode_reply,
    encode_call,
    encode_fault,
    encode_load,
    encode_ready,
    encode_reply,
)
from nanolm.protocol import Call, Outcome, Place, Reply, StudentFault

quick = settings(max_examples=60, deadline=None, database=None)


def read(data: bytes, step: int = 1 << 20) -> Frame:
    """Feed a whole frame as a stream would bring it, never more than the inbox asks for."""
    inbox = Inbox()
    position = 0
    while True:
        size = min(inbox.wanted, step)
        frame = inbox.feed(data[position : position + size])
        position += size
        if frame is not None:
            assert position == len(data)
            return frame
        assert position < len(data), "the frame is not complete"


def same(left: Tensor, right: Tensor) -> bool:
    """Equal to the last bit, a NaN's too."""
    if left.dtype != right.dtype or left.shape != right.shape or left.numel() == 0:
        return left.dtype == right.dtype and left.shape == right.shape
    return bits(left).equal(bits(right))


def bits(tensor: Tensor) -> Tensor:
    return tensor.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Any dtype that is carried, any small shape, contiguous, transposed, sliced or offset."""
    dtype = draw(st.sampled_from(list(arrays.DTYPES.values())))
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    grown = [2 * size + 1 for size in shape]
    values = torch.from_numpy(np.asarray(rng.standard_normal(grown) * 10)).to(dtype)
    layout = draw(st.sampled_from(["contiguous", "sliced", "permuted"]))
    taken = values[tuple(slice(1, 1 + 2 * size, 2) for size in shape)]
    if layout == "permuted":
        return taken.permute(draw(st.permutations(range(taken.dim()))))
    return taken.contiguous() if layout == "contiguous" else taken


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**40), 10**40), st.floats(), st.text("aé∑\0\n", max_size=20)
)
facts = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=3), inner, max_size=3)
)
names = st.text("abxy:._", min_size=1, max_size=8)


def same_plain(left: Any, right: Any) -> bool:
    """Equal values of equal types; NaN equals NaN, and the sign of a zero counts."""
    if isinstance(left, float) and isinstance(right, float):
        return repr(left) == repr(right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_plain, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same_plain(left[name], right[name]) for name in left)
    return type(left) is type(right) and left == right


@quick
@given(
    st.dictionaries(names, tensors(), max_size=4),
    st.dictionaries(names, tensors(), max_size=2),
    st.dictionaries(names, scalars, max_size=4),
    st.booleans(),
    st.integers(0, 2**32 - 1),
    st.integers(1, 100),
)
def test_a_call_crosses_unchanged_with_its_strides(
    given_tensors: dict[str, Tensor],
    upstream: dict[str, Tensor],
    plain: dict[str, Any],
    return_arguments: bool,
    sequence: int,
    step: int,
) -> None:
    call = Call("rms_norm", given_tensors, plain, upstream, return_arguments)
    frame = read(encode_call(call, sequence), step)
    back = decode_call(frame)
    assert (frame.kind, frame.sequence) == (Kind.CALL, sequence)
    assert (back.entry, back.return_arguments) == ("rms_norm", return_arguments)
    assert same_plain(dict(back.scalars), plain)
    for sent, received in ((given_tensors, back.tensors), (upstream, back.upstream)):
        assert sent.keys() == received.keys()
        for name, tensor in sent.items():
            assert same(received[name], tensor)
            assert received[name].is_contiguous() == tensor.is_contiguous()
            if not tensor.is_contiguous():
                assert received[name].stride() == tensor.stride()


@quick
@given(
    st.dictionaries(names, tensors(), max_size=4),
    st.dictionaries(names, tensors(), max_size=3),
    st.dictionaries(names, facts, max_size=4),
    st.lists(st.text(max_size=10), max_size=3),
)
def test_a_reply_crosses_unchanged(
    outputs: dict[str, Tensor], arguments: dict[str, Tensor], given_facts: dict[str, Any], notes: list[str]
) -> None:
    call = Call("rms_norm", arguments, {}, outputs or {"y": torch.ones(1)}, return_arguments=True)
    reply = Reply(outputs, arguments, arguments, given_facts, notes)
    back = decode_reply(read(encode_reply(reply, 7)), call)
    for sent, received in ((outputs, back.tensors), (arguments, back.gradients), (arguments, back.arguments)):
        assert sent.keys() == received.keys()
        assert all(same(received[name], sent[name]) for name in sent)
    assert same_plain(back.facts, given_facts)
    assert back.notes == notes


def test_outputs_that_share_memory_and_parameters_cross() -> None:
    x = torch.arange(6.0)
    reply = Reply({"y": x, "view": x.view(2, 3).t(), "gamma": torch.nn.Parameter(x[:2])})
    back = decode_reply(read(encode_reply(reply, 0)), Call("rms_norm"))
    assert torch.equal(back.tensors["view"], x.view(2, 3).t())
    assert type(back.tensors["gamma"]) is Tensor
    back.tensors["y"].fill_(0.0)
    assert x[1] == 1.0


@quick
@given(
    st.text(max_size=30),
    st.text(max_size=10),
    st.lists(st.text(max_size=5), max_size=3),
    st.none()
    | st.builds(Place, st.text(max_size=9), st.integers(0, 999), st.text(max_size=9), st.none() | st.integers(0, 99)),
)
@example("\ud800 half a character", "E", [], None)
@example("x" * 100_000, "K" * 1000, ["b"] * 1000, Place("f" * 999, 1, "t" * 99_999))
def test_a_fault_crosses_cut_to_its_limits(message: str, kind: str, bases: list[str], place: Place | None) -> None:
    fault = StudentFault(Outcome.EXCEPTION, message, kind=kind, bases=tuple(bases), place=place, notes=(message,))
    back = decode_fault(read(encode_fault(fault, 3)))
    assert back.outcome is Outcome.EXCEPTION
    assert back.message == message[:MAX_TEXT].encode("utf-8", "replace").decode()
    assert kind.startswith(back.kind)
    assert list(back.bases) == bases[:256]
    assert (back.place is None) == (place is None)
    if place and back.place:
        assert (back.place.line, back.place.column) == (place.line, place.column)
        assert place.text.startswith(back.place.text)


def test_a_submission_of_several_large_files_crosses() -> None:
    texts = {f"file{index}.py": "# привет\n" * 20_000 for index in range(9)}
    assert decode_load(read(encode_load(texts))) == texts


@pytest.mark.parametrize("outcome", ["passed", "infrastructure", "not_run_here", "timeout", "crashed"])
def test_a_worker_cannot_report_what_only_the_grader_decides(outcome: str) -> None:
    frame = read(encode_fault(StudentFault(Outcome(outcome), "trust me"), 0))
    with pytest.raises(WireError, match="cannot report"):
        decode_fault(frame)


class Tagged(Tensor):
    """A subclass: what it does when read is its author's business."""


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (torch.ones(2, dtype=torch.complex64), Outcome.WRONG_DTYPE),
        (torch.ones(2, dtype=torch.int32), Outcome.WRONG_DTYPE),
        (torch.ones(2, dtype=torch.float8_e4m3fn), Outcome.WRONG_DTYPE),
        (torch.ones(2, 2).to_sparse(), Outcome.WRONG_INTERFACE),
        (torch.ones(2, device="meta"), Outcome.WRONG_INTERFACE),
        (torch.ones(2).as_subclass(Tagged), Outcome.WRONG_INTERFACE),
        (torch.ones(1).expand(arrays.MAX_DATA_BYTES), Outcome.OUT_OF_MEMORY),
        (torch.ones([1] * 17), Outcome.WRONG_SHAPE),
    ],
)
def test_a_tensor_that_cannot_be_carried_is_refused_where_it_is_encoded(value: Tensor, outcome: Outcome) -> None:
    with pytest.raises(CannotEncode) as caught:
        encode_reply(Reply({"y": value}), 0)
    assert caught.value.outcome is outcome


@pytest.mark.parametrize(
    "call",
    [
        Call("rms_norm", {"x": torch.ones(1, 3).expand(4, 3)}),
        Call("rms_norm", {"x": torch.ones(9).unfold(0, 4, 1)}),
        Call("rms_norm", {"x": torch.ones(1)}, {"eps": torch.ones(1)}),  # type: ignore[dict-item]
        Call("rms_norm", {}, {"eps": [1]}),  # type: ignore[dict-item]
        Call("rms_norm", {}, {"placement": "x" * 5000}),
        Call("rms_norm", {}, {"d": 10**5000}),
        Call("rms_norm", {f"t{index}": torch.ones(1) for index in range(257)}),
        Call("rms_norm", {f"t{index}" + "é" * 190: torch.ones(1) for index in range(250)}),
        Call("n" * 300),
    ],
)
def test_a_call_that_cannot_be_carried_is_the_mistake_of_its_test(call: Call) -> None:
    with pytest.raises(CannotEncode):
        encode_call(call, 0)


# --- What a hostile worker may send ----------------------------------------------------------------------------------


def frame_header(kind: int, json_size: int, array_size: int, magic: bytes = wire.MAGIC) -> bytes:
    return wire.HEADER.pack(magic, kind, 0, json_size, array_size)


@pytest.mark.parametrize(
    "header",
    [
        frame_header(Kind.REPLY, wire.MAX_JSON_BYTES + 1, 0),
        frame_header(Kind.REPLY, 2**32 - 1, 0),
        frame_header(Kind.REPLY, 0, wire.MAX_ARRAY_BYTES + 1),
        frame_header(Kind.FAULT, 0, 2**64 - 1),
        frame_header(Kind.LOAD, wire.MAX_LOAD_BYTES + 1, 0),
        frame_header(0, 0, 0),
        frame_header(6, 0, 0),
        frame_header(Kind.REPLY, 0, 0, b"HTTP"),
    ],
)
def test_a_frame_is_refused_by_its_header_alone(header: bytes) -> None:
    with pytest.raises(WireError):
        Inbox().feed(header)


def packed(header: Any, data: bytes = b"", size: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def entry(dtype: str = "F32", shape: Any = (1,), begin: Any = 0, end: Any = 4, **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


@pytest.mark.parametrize(
    "data",
    [
        b"short",
        packed({}, b"left over"),
        packed({"y": entry()}, b"", size=2**63),
        packed({"y": entry()}, b"1234", size=10**6),
        packed({"y": entry()}, b"123"),
        packed({"y": entry()}, b"12345"),
        packed({"y": entry(end=8)}, b"12345678"),
        packed({"y": entry(begin=4, end=8)}, b"12345678"),
        packed({"y": entry(), "z": entry()}, b"1234"),
        packed({"y": entry(), "z": entry(begin=2, end=6)}, b"123456"),
        packed({"y": entry(begin=-4, end=0)}, b""),
        packed({"y": entry(shape=[-1])}, b"1234"),
        packed({"y": entry(shape=[1.0])}, b"1234"),
        packed({"y": entry(shape=[2**62, 4, 0], end=0)}),
        packed({"y": entry(shape=[2**40], end=2**42)}),
        packed({"y": entry(shape=[1] * 17)}, b"1234"),
        packed({"y": entry(dtype="I32")}, b"1234"),
        packed({"y": entry(dtype="F8_E4M3", end=1)}, b"1"),
        packed({"y": entry(dtype="f32")}, b"1234"),
        packed({"y": entry(extra=1)}, b"1234"),
        packed({"y" * 300: entry()}, b"1234"),
        packed({"__metadata__": {"format": "pt"}}),
        packed({f"{index}": entry(shape=[0], end=0) for index in range(257)}),
        packed(b'{"y":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},' + packed({"y": entry()})[9:], b"1234"),
        packed(b"[" * 60_000),
        packed(b"\xff\xfe"),
        packed(b"{} trailing"),
    ],
)
def test_arrays_that_contradict_their_header_are_refused(data: bytes) -> None:
    frame = Frame(Kind.REPLY, 0, b'{"facts":{},"notes":[]}', data)
    with pytest.raises(WireError):
        decode_reply(frame, Call("rms_norm"))


def test_a_header_of_very_many_entries_is_refused_before_it_is_parsed() -> None:
    body = ",".join(f'"{index}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for index in range(300_000))
    data = packed(b"{" + body.encode() + b"}")
    started = time.perf_counter()
    with pytest.raises(WireError):
        decode_reply(Frame(Kind.REPLY, 0, b'{"facts":{},"notes":[]}', data), Call("rms_norm"))
    assert time.perf_counter() - started < 0.1


def test_bytes_of_a_bool_become_true_or_false() -> None:
    data = packed({"tensors/y": entry("BOOL", [4], 0, 4)}, bytes([0, 1, 2, 255]))
    reply = decode_reply(Frame(Kind.REPLY, 0, b'{"facts":{},"notes":[]}', data), Call("rms_norm"))
    assert reply.tensors["y"].view(torch.uint8).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"{}",
        b'{"facts":{},"notes":[],"score":14}',
        b'{"facts":{},"notes":["' + b"x" * 4001 + b'"]}',
        b'{"facts":{},"notes":[' + b",".join([b'""'] * 257) + b"]}",
        b'{"facts":{"a":1e999},"notes":[]}',
        b'{"facts":{"a":NaN},"notes":[]}',
        b'{"facts":{"a":' + b"1" * 10_000 + b'},"notes":[]}',
        b'{"facts":{"a":{"type":"number","value":"1"}},"notes":[]}',
        b'{"facts":{"a":{"type":"table","items":{},"more":1}},"notes":[]}',
        b'{"facts":{"a":[1]},"notes":[]}',
        b'{"facts":{"a":' + b'{"type":"row","items":[' * 40_000 + b'},"notes":[]}',
        b'{"facts":{"a":"\xff"},"notes":[]}',
        b'{"facts":{"' + b"n" * 201 + b'":1},"notes":[]}',
    ],
)
def test_json_outside_its_schema_is_refused(text: bytes) -> None:
    with pytest.raises(WireError):
        decode_reply(Frame(Kind.REPLY, 0, text, b""), Call("rms_norm"))


def test_a_reply_must_fit_its_call() -> None:
    x = torch.ones(3)
    call = Call("rms_norm", {"x": x}, upstream={"y": x})
    for reply in (
        Reply(gradients={"z": x}),
        Reply(gradients={"x": torch.ones(4)}),
        Reply(arguments={"x": x}),
    ):
        with pytest.raises(WireError):
            decode_reply(read(encode_reply(reply, 0)), call)
    with pytest.raises(WireError, match="READY"):
        decode_reply(read(encode_ready()), call)


@pytest.mark.parametrize("strides", [[1], [1, -1], [0, 0], [2**30, 1], [1, 1], ["1", 1]])
def test_impossible_strides_are_refused(strides: list[Any]) -> None:
    good = read(encode_call(Call("rms_norm", {"x": torch.ones(3, 4).t()}), 0))
    body = json.loads(good.json)
    body["strides"] = {"tensors/x": strides}
    with pytest.raises(WireError):
        decode_call(Frame(Kind.CALL, 0, json.dumps(body).encode(), good.arrays))


def consume(data: bytes, call: Call) -> None:
    """Everything the grader does with bytes of a worker."""
    inbox = Inbox()
    while data:
        size = inbox.wanted
        frame = inbox.feed(data[:size])
        data = data[size:]
        if frame is None:
            continue
        with suppress(WireError):
            decode_reply(frame, call)
        with suppress(WireError):
            decode_fault(frame)


@settings(max_examples=200, deadline=None, database=None)
@given(st.binary(max_size=200), st.sampled_from(list(Kind)), st.binary(max_size=80))
def test_garbage_raises_nothing_but_a_wire_error(garbage: bytes, kind: Kind, text: bytes) -> None:
    call = Call("rms_norm")
    with suppress(WireError):
        consume(garbage, call)
    consume(frame_header(kind, len(text), len(garbage)) + text + garbage, call)


@settings(max_examples=200, deadline=None, database=None)
@given(st.data())
def test_a_damaged_reply_is_read_or_refused(data: st.DataObject) -> None:
    x = torch.linspace(0, 1, 6).reshape(2, 3)
    call = Call("rms_norm", {"x": x}, upstream={"y": x}, return_arguments=True)
    reply = Reply({"y": x}, {"x": x}, {"x": x}, {"parameters": {"gamma": [3]}, "odd": math.nan}, ["a note"])
    damaged = bytearray(encode_reply(reply, 1))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(WireError):
        consume(bytes(damaged), call)
