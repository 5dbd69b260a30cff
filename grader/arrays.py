"""Arrays as safetensors bytes: what may cross the process border, checked before anything is built from it.

The bytes come from a process that runs a student's code. The header is therefore read and judged here (its size, names,
dtypes, shapes, and that its entries tile the data exactly) before the safetensors library sees it.

A worker whose exercise is written without torch (`grader.without_torch`) has NumPy's arrays in the place of tensors:
the same bytes, and no call of torch on their way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from nanolm.layout import Array, laid_out
from nanolm.protocol import Outcome

MAX_TENSORS = 256
MAX_HEADER_BYTES = 64 * 1024
MAX_DATA_BYTES = 64 * 1024 * 1024
MAX_RANK = 16
MAX_NAME = 200

DTYPES = {
    "BOOL": torch.bool,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
    "I64": torch.int64,
}
DTYPE_NAMES = {dtype: str(dtype).removeprefix("torch.") for dtype in DTYPES.values()}
ITEM_SIZES = {code: dtype.itemsize for code, dtype in DTYPES.items()}
"""Known beforehand: where torch may not run, a dtype's own attribute cannot be asked for."""
ARRAY_DTYPES = {code: np.dtype(DTYPE_NAMES[dtype]) for code, dtype in DTYPES.items() if code != "BF16"}
"""Those that NumPy has as well."""
PLAIN_TYPES = (Tensor, torch.nn.Parameter)


class WireError(Exception):
    """Bytes from the other side that are not what they should be."""


class CannotEncode(ValueError):
    """A value of this side that the wire does not carry.

    Raised on the grader's side it is a mistake of the test. Raised in a worker it is what the student returned, and
    `outcome` says how that counts.
    """

    def __init__(self, message: str, outcome: Outcome = Outcome.WRONG_INTERFACE) -> None:
        super().__init__(message)
        self.outcome = outcome


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tensor of a safetensors header."""

    dtype: str
    shape: Annotated[list[Annotated[int, msgspec.Meta(ge=0)]], msgspec.Meta(max_length=MAX_RANK)]
    data_offsets: tuple[int, int]


_HEADER = msgspec.json.Decoder(dict[str, _Entry])


def encode(tensors: Mapping[str, Tensor | Array]) -> bytes:
    """Pack tensors, each as a contiguous copy; raises CannotEncode for one that the wire does not carry."""
    if not tensors:
        return b""
    if len(tensors) > MAX_TENSORS:
        raise CannotEncode(f"{len(tensors)} tensors are more than the {MAX_TENSORS} that one message may hold")
    for name, tensor in tensors.items():
        _check_carried(name, tensor)
    size = sum(tensor.nbytes for tensor in tensors.values())
    if size > MAX_DATA_BYTES:
        raise CannotEncode(f"{size} bytes of numbers are more than the {MAX_DATA_BYTES} allowed", Outcome.OUT_OF_MEMORY)
    # Copies lie in one piece and share no memory, which is what `safetensors.torch.save` spends most of its time on.
    copies = {name: _contiguous(tensor) for name, tensor in tensors.items()}
    specs = {name: _spec(copy) for name, copy in copies.items()}
    packed = bytes(safetensors.serialize(specs))
    if int.from_bytes(packed[:8], "little") > MAX_HEADER_BYTES:
        raise CannotEncode("the names of the tensors are too long for one message")
    return packed


def _contiguous(tensor: Tensor | Array) -> Tensor | Array:
    if isinstance(tensor, np.ndarray):
        return tensor.copy(order="C")
    return _plain(tensor).resolve_neg().clone(memory_format=torch.contiguous_format)


def _spec(tensor: Tensor | Array) -> safetensors.TensorSpec:
    if isinstance(tensor, np.ndarray):
        dtype, address = tensor.dtype.name, tensor.__array_interface__["data"][0]
    else:
        dtype, address = DTYPE_NAMES[tensor.dtype], tensor.data_ptr()
    return safetensors.TensorSpec(dtype=dtype, shape=tensor.shape, data_ptr=address, data_len=tensor.nbytes)


def _check_carried(name: str, tensor: Tensor | Array) -> None:
    label = name.partition("/")[2] or name
    if len(name) > MAX_NAME:
        raise CannotEncode(f"a tensor's name is longer than {MAX_NAME} characters")
    if isinstance(tensor, np.ndarray):
        if type(tensor) is not np.ndarray:
            raise CannotEncode(f"{label} is a {type(tensor).__name__}, not a plain array")
        if tensor.dtype not in ARRAY_DTYPES.values():
            raise CannotEncode(f"{label} has dtype {tensor.dtype}, which no exercise asks for", Outcome.WRONG_DTYPE)
        _check_rank(label, tensor.ndim)
        return
    if type(tensor) not in PLAIN_TYPES:
        raise CannotEncode(f"{label} is a {type(tensor).__name__}, not a plain torch.Tensor")
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise CannotEncode(f"{label} is a sparse or quantised tensor ({tensor.layout}), not a dense one")
    if tensor.device.type != "cpu":
        raise CannotEncode(f"{label} is on device {tensor.device}, not on the CPU")
    if tensor.dtype not in DTYPE_NAMES:
        raise CannotEncode(f"{label} has dtype {tensor.dtype}, which no exercise asks for", Outcome.WRONG_DTYPE)
    _check_rank(label, tensor.dim())


def _check_rank(label: str, rank: int) -> None:
    if rank > MAX_RANK:
        raise CannotEncode(f"{label} has {rank} axes; at most {MAX_RANK} are carried", Outcome.WRONG_SHAPE)


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().as_subclass(Tensor)


def decode(data: bytes | bytearray) -> dict[str, Tensor]:
    """Unpack what `encode` packed; raises WireError. The tensors own their memory."""
    if not data:
        return {}
    expected = _checked_header(data)
    tensors = safetensors.torch.load(bytes(data))
    for name, entry in expected.items():
        tensor = tensors[name]
        if tensor.dtype != DTYPES[entry.dtype] or list(tensor.shape) != entry.shape:
            raise WireError(f"tensor {name[:80]!r} is not what its header says")
        if tensor.dtype == torch.bool:
            # A byte other than 0 and 1 behaves as both true and false, depending on who looks.
            tensors[name] = tensor.view(torch.uint8) != 0
    if len(tensors) != len(expected):
        raise WireError("the header names a tensor twice")
    return {name: tensors[name] for name in sorted(tensors)}  # safetensors gives them in any order


def decode_arrays(data: bytes | bytearray) -> dict[str, Array]:
    """The same as NumPy's arrays, without torch: for dtypes that NumPy has."""
    if not data:
        return {}
    expected = _checked_header(data)
    start = 8 + int.from_bytes(data[:8], "little")
    found: dict[str, Array] = {}
    for name, entry in sorted(expected.items()):
        dtype = ARRAY_DTYPES.get(entry.dtype)
        if dtype is None:
            raise WireError(f"tensor {name[:80]!r} has dtype {entry.dtype}, which NumPy does not know")
        count, offset = math.prod(entry.shape), start + entry.data_offsets[0]
        # Bytes other than 0 and 1 become True, as above.
        flat = np.frombuffer(data, np.uint8 if dtype == np.bool_ else dtype, count, offset)
        found[name] = flat.astype(dtype).reshape(entry.shape)
    return found


def _checked_header(data: bytes | bytearray) -> dict[str, _Entry]:
    """The header, proven to describe exactly the data that follows it."""
    if len(data) > MAX_DATA_BYTES + MAX_HEADER_BYTES + 8:
        raise WireError("more data than one message may hold")
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(MAX_HEADER_BYTES, len(data) - 8):
        raise WireError(f"an array header of {length} bytes")
    header = _HEADER.decode(memoryview(data)[8 : 8 + length])
    if len(header) > MAX_TENSORS:
        raise WireError(f"{len(header)} tensors in one message")
    position = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1].data_offsets):
        begin, end = entry.data_offsets
        if len(name) > MAX_NAME or entry.dtype not in DTYPES:
            raise WireError(f"tensor {name[:80]!r} has a name or a dtype that is not carried")
        # Zero-sized axes must not hide axes whose product overflows elsewhere.
        if math.prod(max(size, 1) for size in entry.shape) > MAX_DATA_BYTES:
            raise WireError(f"tensor {name[:80]!r} has an impossible shape")
        size = math.prod(entry.shape) * ITEM_SIZES[entry.dtype]
        if begin != position or end - begin != size:
            raise WireError(f"tensor {name[:80]!r} does not fill its place in the data")
        position = end
    if position != len(data) - 8 - length:
        raise WireError("bytes that belong to no tensor")
    return header


def stride_record(name: str, tensor: Tensor) -> list[int] | None:
    """The strides of a non-contiguous tensor, None for a contiguous one; CannotEncode where elements overlap."""
    if tensor.is_contiguous():
        return None
    strides = list(tensor.stride())
    if not _strides_are_sound(tensor.shape, strides, tensor.element_size()):
        raise CannotEncode(
            f"{name}: its elements share memory (an expanded tensor?) or lie too far apart to be carried"
        )
    return strides


def with_strides(tensor: Tensor | Array, strides: Sequence[int]) -> Tensor | Array:
    """The same values laid out with other strides, in elements; raises WireError for strides that fit no memory."""
    if not _strides_are_sound(tensor.shape, strides, tensor.itemsize):
        raise WireError("impossible strides")
    return laid_out(tensor, strides)


def _strides_are_sound(shape: Sequence[int], strides: Sequence[int], item_size: int) -> bool:
    """Whether every element has a place of its own within the memory that a message may take."""
    if len(shape) != len(strides):
        return False
    extent = 1
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1 and stride < extent:
            return False
        if not 0 <= stride <= MAX_DATA_BYTES:
            return False
        extent += (size - 1) * stride if size > 1 else 0
    return extent * item_size <= MAX_DATA_BYTES
