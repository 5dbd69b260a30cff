"""What a fault on the device is called, read off PyTorch's own words: the slug of a mistake, or nothing."""

from __future__ import annotations

import re

from nanolm.protocol import Outcome, StudentFault

CPU_TENSOR, HOST_SYNC, GRAPH_BREAK = "cpu-tensor", "host-sync", "graph-break"

_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (CPU_TENSOR, re.compile(r"expected all tensors to be on the same device|is not on the expected device", re.I)),
    (
        HOST_SYNC,
        re.compile(
            r"synchronizing CUDA operation|data[- ]dependent|can't convert cuda.* to numpy"
            r"|\.numpy\(\) is not supported",
            re.I,
        ),
    ),
)
_KINDS = {
    "FakeTensorDeviceMismatchError": CPU_TENSOR,
    "HostSynchronisation": HOST_SYNC,
    "DataDependentOutputException": HOST_SYNC,
    "DynamicOutputShapeException": HOST_SYNC,
    "Unsupported": GRAPH_BREAK,
    "UserError": GRAPH_BREAK,
    "GuardOnDataDependentSymNode": GRAPH_BREAK,
}


def slug_of(fault: StudentFault) -> str | None:
    """`cpu-tensor`, `host-sync` or `graph-break` where the fault can be nothing else."""
    if fault.outcome is not Outcome.EXCEPTION:
        return None
    found = next((slug for slug, words in _WORDS if words.search(fault.message)), None)
    return found or _KINDS.get(fault.kind)
