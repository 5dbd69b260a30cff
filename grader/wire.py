"""Frames between the grader and a worker: a fixed header, JSON checked against a schema, arrays as safetensors.

A frame is `magic, kind, sequence, JSON length, array length`, then the JSON, then the arrays. Sizes are judged by the
header alone, before a body is awaited or parsed. Whatever is wrong with bytes from the other side is a WireError;
a value of this side that cannot be sent is a CannotEncode, raised before anything is written.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

import msgspec
from torch import Tensor

from grader import arrays
from grader.arrays import MAX_DATA_BYTES, MAX_HEADER_BYTES, MAX_NAME, CannotEncode, WireError
from grader.schema import (
    MAX_ITEMS,
    MAX_NUMBER,
    MAX_TEXT,
    CallBody,
    FaultBody,
    Item,
    LoadBody,
    NonFinite,
    PlaceBody,
    ReadyBody,
    ReplyBody,
    Row,
    Table,
)
from nanolm.adapters import ENTRIES
from nanolm.from_scratch import WITHOUT_TORCH
from nanolm.protocol import Call, Fact, Outcome, Place, Reply, Scalar, StudentFault

__all__ = [
    "CannotEncode",
    "Frame",
    "Inbox",
    "Kind",
    "WireError",
    "decode_call",
    "decode_fault",
    "decode_load",
    "decode_reply",
    "encode_call",
    "encode_fault",
    "encode_load",
    "encode_ready",
    "encode_reply",
    "numbered",
]

MAGIC = b"NLM1"
HEADER = struct.Struct("<4sBIIQ")
MAX_JSON_BYTES = 1024 * 1024
MAX_LOAD_BYTES = 16 * 1024 * 1024
MAX_ARRAY_BYTES = MAX_DATA_BYTES + MAX_HEADER_BYTES + 8

NOT_A_WORKERS_TO_SAY = frozenset(
    {Outcome.PASSED, Outcome.NOT_RUN_HERE, Outcome.INFRASTRUCTURE, Outcome.TIMEOUT, Outcome.CRASHED}
)
"""Outcomes that only the grader decides: a worker that reports one is lying or broken."""


class Kind(IntEnum):
    """What a frame holds."""

    LOAD = 1
    READY = 2
    CALL = 3
    REPLY = 4
    FAULT = 5


KINDS = frozenset(Kind)


@dataclass(frozen=True)
class Frame:
    """A frame whose sizes are within their limits and whose content nobody has looked at yet."""

    kind: Kind
    sequence: int
    json: bytes
    arrays: bytes


class Inbox:
    """Gathers one frame after another from a byte stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._header: tuple[Kind, int, int, int] | None = None

    @property
    def wanted(self) -> int:
        """How many more bytes belong to the header or body being gathered: never read beyond it."""
        return self._size() - len(self._buffer)

    def feed(self, data: bytes) -> Frame | None:
        """Take bytes, at most `wanted`; a frame once it is complete. Raises WireError as soon as a header is wrong."""
        self._buffer += data
        if self._header is None and len(self._buffer) >= HEADER.size:
            self._header = _checked_frame_header(bytes(self._buffer[: HEADER.size]))
        if self._header is None or self.wanted > 0:
            return None
        kind, sequence, json_size, _ = self._header
        body = memoryview(self._buffer)[HEADER.size :]
        frame = Frame(kind, sequence, bytes(body[:json_size]), bytes(body[json_size:]))
        body.release()
        self._buffer, self._header = bytearray(), None
        return frame

    def _size(self) -> int:
        return HEADER.size + (self._header[2] + self._header[3] if self._header else 0)


def _checked_frame_header(data: bytes) -> tuple[Kind, int, int, int]:
    magic, number, sequence, json_size, array_size = HEADER.unpack(data)
    if magic != MAGIC or number not in KINDS:
        raise WireError("not a frame")
    if json_size > (MAX_LOAD_BYTES if number == Kind.LOAD else MAX_JSON_BYTES):
        raise WireError(f"a frame with {json_size} bytes of JSON")
    if array_size > MAX_ARRAY_BYTES:
        raise WireError(f"a frame with {array_size} bytes of arrays")
    return Kind(number), sequence, json_size, array_size


Body = TypeVar("Body", LoadBody, ReadyBody, CallBody, ReplyBody, FaultBody)


# --- Encoding --------------------------------------------------------------------------------------------------------


def encode_load(texts: Mapping[str, str]) -> bytes:
    """The frame that gives a worker its submission."""
    return _frame(Kind.LOAD, 0, LoadBody(dict(texts)))


def encode_ready() -> bytes:
    """The worker's answer to the load frame."""
    return _frame(Kind.READY, 0, ReadyBody())


def encode_call(call: Call, sequence: int) -> bytes:
    """The frame of a call. An argument that is not contiguous keeps its strides."""
    groups = {"tensors": call.tensors, "upstream": call.upstream}
    strides = {
        name: record
        for name, tensor in _joined(groups).items()
        if (record := arrays.stride_record(name, tensor)) is not None
    }
    scalars: dict[str, Any] = {}
    for name, value in call.scalars.items():
        if not isinstance(value, Scalar):
            raise CannotEncode(f"scalar {name} is a {type(value).__name__}")
        scalars[name] = _packed(value)
    return _frame(Kind.CALL, sequence, CallBody(call.entry, scalars, strides, call.return_arguments), groups)


def numbered(frame: bytes, sequence: int) -> bytes:
    """A frame of ours with another sequence number."""
    magic, kind, _, json_size, array_size = HEADER.unpack_from(frame)
    return HEADER.pack(magic, kind, sequence, json_size, array_size) + frame[HEADER.size :]


def encode_reply(reply: Reply, sequence: int) -> bytes:
    """The frame of a reply; raises CannotEncode for results that cannot cross."""
    groups = {"tensors": reply.tensors, "gradients": reply.gradients, "arguments": reply.arguments}
    facts = {name: _packed(value) for name, value in reply.facts.items()}
    return _frame(Kind.REPLY, sequence, ReplyBody(facts, _clipped(reply.notes)), groups)


def encode_fault(fault: StudentFault, sequence: int) -> bytes:
    """The frame of a fault; long texts are cut."""
    place = None
    if (where := fault.place) is not None:
        column = where.column if where.column is None else _clamped(where.column)
        place = PlaceBody(_clip(where.file, MAX_NAME), _clamped(where.line), _clip(where.text), column)
    bases = [_clip(base, MAX_NAME) for base in fault.bases[:MAX_ITEMS]]
    body = FaultBody(
        fault.outcome, _clip(fault.message), _clip(fault.kind, MAX_NAME), bases, place, _clipped(fault.notes)
    )
    return _frame(Kind.FAULT, sequence, body)


def warm_up() -> None:
    """Have msgspec read every schema now: it looks for their modules in `sys.modules`, and workers hide them there."""
    for body in (LoadBody, ReadyBody, CallBody, ReplyBody, FaultBody):
        msgspec.json.Decoder(body)


def _frame(
    kind: Kind, sequence: int, body: msgspec.Struct, groups: Mapping[str, Mapping[str, Tensor]] | None = None
) -> bytes:
    packed = arrays.encode(_joined(groups or {}))
    try:
        json = msgspec.json.encode(body)
        # The schema limits lengths on decoding only; what the other side would refuse is not sent.
        msgspec.json.decode(json, type=type(body))
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise CannotEncode(f"a value cannot be carried: {error}") from error
    if len(json) > (MAX_LOAD_BYTES if kind == Kind.LOAD else MAX_JSON_BYTES):
        raise CannotEncode(f"{len(json)} bytes of JSON are too many for one message")
    return HEADER.pack(MAGIC, kind, sequence, len(json), len(packed)) + json + packed


def _joined(groups: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    return {f"{group}/{name}": tensor for group, tensors in groups.items() for name, tensor in tensors.items()}


def _packed(value: Any) -> Any:
    """A fact as the schema has it: plain types only, subclasses reduced to their base."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else NonFinite(str(number))  # type: ignore[arg-type]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return Row([_packed(item) for item in value])
    if isinstance(value, dict):
        return Table({str(name): _packed(item) for name, item in value.items()})
    raise CannotEncode(f"a {type(value).__name__} where numbers, texts and lists of them are carried")


def _clamped(number: int) -> int:
    """A line or column as the schema has it: an exception may claim any."""
    return min(max(number, 0), MAX_NUMBER)


def _clip(text: str, limit: int = MAX_TEXT) -> str:
    """At most `limit` characters, all of them encodable."""
    return str(text)[:limit].encode("utf-8", "replace").decode()


def _clipped(texts: list[str] | tuple[str, ...]) -> list[str]:
    return [_clip(text) for text in texts[:MAX_ITEMS]]


# --- Decoding --------------------------------------------------------------------------------------------------------


@contextmanager
def _refusing() -> Iterator[None]:
    """The one place where whatever is wrong with the other side's bytes becomes a WireError."""
    try:
        yield
    except WireError:
        raise
    except Exception as error:
        raise WireError(f"{type(error).__name__}: {error}"[:300]) from error


def decode_load(frame: Frame) -> dict[str, str]:
    """The texts of a load frame."""
    with _refusing():
        return _body(frame, Kind.LOAD, LoadBody).texts


def decode_call(frame: Frame) -> Call:
    """The call of a call frame, its tensors laid out as they were; NumPy's arrays where torch may not run."""
    with _refusing():
        body = _body(frame, Kind.CALL, CallBody)
        decode = arrays.decode_arrays if ENTRIES[body.entry].exercise in WITHOUT_TORCH else arrays.decode
        tensors: dict[str, Any] = dict(decode(frame.arrays))
        for name, strides in body.strides.items():
            tensors[name] = arrays.with_strides(tensors[name], strides)
        groups = _split(tensors, ("tensors", "upstream"))
        scalars: dict[str, Any] = {name: _unpacked(value) for name, value in body.scalars.items()}
        return Call(body.entry, groups["tensors"], scalars, groups["upstream"], body.return_arguments)


def decode_reply(frame: Frame, call: Call) -> Reply:
    """The reply to `call`; gradients and arguments must be those of its tensors."""
    with _refusing():
        body = _body(frame, Kind.REPLY, ReplyBody)
        groups = _split(arrays.decode(frame.arrays), ("tensors", "gradients", "arguments"))
        for name, gradient in groups["gradients"].items():
            if not call.upstream or gradient.shape != call.tensors[name].shape:
                raise WireError("a gradient that no argument has")
        if not groups["arguments"].keys() <= (call.tensors.keys() if call.return_arguments else set()):
            raise WireError("an argument that was not given")
        facts = {name: _unpacked(value) for name, value in body.facts.items()}
        return Reply(groups["tensors"], groups["gradients"], groups["arguments"], facts, body.notes)


def decode_fault(frame: Frame) -> StudentFault:
    """The fault of a fault frame; outcomes that only the grader decides are refused."""
    with _refusing():
        body = _body(frame, Kind.FAULT, FaultBody)
        if body.outcome in NOT_A_WORKERS_TO_SAY:
            raise WireError(f"a worker cannot report {body.outcome}")
        place = None
        if (where := body.place) is not None:
            place = Place(where.file, where.line, where.text, where.column)
        return StudentFault(
            body.outcome, body.message, kind=body.kind, bases=tuple(body.bases), place=place, notes=tuple(body.notes)
        )


def _body(frame: Frame, kind: Kind, body: type[Body]) -> Body:
    if frame.kind != kind:
        raise WireError(f"a {frame.kind.name} frame where {kind.name} was due")
    return msgspec.json.decode(frame.json, type=body)


def _split(tensors: Mapping[str, Tensor], groups: tuple[str, ...]) -> dict[str, dict[str, Tensor]]:
    split: dict[str, dict[str, Tensor]] = {group: {} for group in groups}
    for key, tensor in tensors.items():
        group, _, name = key.partition("/")
        split[group][name] = tensor
    return split


def _unpacked(value: Item) -> Fact:
    if isinstance(value, NonFinite):
        return float(value.value)
    if isinstance(value, Row):
        return [_unpacked(item) for item in value.items]
    if isinstance(value, Table):
        return {name: _unpacked(item) for name, item in value.items.items()}
    return value
