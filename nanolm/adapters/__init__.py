"""Adapters: functions from tensors and plain scalars to tensors, one an entry point.

They are the only code that knows how a student's classes are built and which parameter is the gain. They run beside the
student's code, in whichever process that is. A new exercise adds a module here and its entries to `ENTRIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nanolm.adapters import hyper_connections_file, modules_file
from nanolm.adapters.student import Student

Adapter = Callable[[Student], None]


@dataclass(frozen=True)
class Entry:
    """An entry point: the exercise it belongs to and the adapter that reaches it."""

    exercise: str
    adapter: Adapter


ENTRIES: Mapping[str, Entry] = {
    "rms_norm": Entry("rmsnorm", modules_file.rms_norm),
    "rms_norm_fresh": Entry("rmsnorm", modules_file.rms_norm_fresh),
    "swiglu": Entry("swiglu", modules_file.swiglu),
    "swiglu_fresh": Entry("swiglu", modules_file.swiglu_fresh),
    "sinkhorn": Entry("mhc", hyper_connections_file.sinkhorn),
    "mix_streams": Entry("mhc", hyper_connections_file.mix_streams),
    "hyper_connection_step": Entry("mhc", hyper_connections_file.hyper_connection_step),
    "mhc_step": Entry("mhc", hyper_connections_file.mhc_step),
}
