"""What the JSON of each frame holds: schemas that msgspec checks, with a limit on every text and list."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.arrays import MAX_NAME
from nanolm.protocol import Outcome

MAX_TEXT = 4000
MAX_ITEMS = 256
MAX_NUMBER = 2**31

Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
Number = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]


class NonFinite(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="number"):
    """A float that JSON has no word for."""

    value: Literal["nan", "inf", "-inf"]


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="row"):
    """A list among facts."""

    items: list[Item]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="table"):
    """A dict among facts."""

    items: dict[Text, Item]


Plain = bool | int | float | Text | None | NonFinite
Item = bool | int | float | Text | None | NonFinite | Row | Table


class LoadBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of a submission by file name."""

    texts: dict[Name, str]


class ReadyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing: the worker has its texts, and no student code has run yet."""


class CallBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`Call` without its tensors; `strides` of those that are not contiguous."""

    entry: Name
    scalars: dict[Name, Plain]
    strides: dict[Name, list[Number]]
    return_arguments: bool


class ReplyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`Reply` without its tensors."""

    facts: dict[Name, Item]
    notes: Annotated[list[Text], msgspec.Meta(max_length=MAX_ITEMS)]


class PlaceBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`Place`."""

    file: Name
    line: Number
    text: Text
    column: Number | None


class FaultBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`StudentFault`."""

    outcome: Outcome
    message: Text
    kind: Name
    bases: Annotated[list[Name], msgspec.Meta(max_length=MAX_ITEMS)]
    place: PlaceBody | None
    notes: Annotated[list[Text], msgspec.Meta(max_length=MAX_ITEMS)]
