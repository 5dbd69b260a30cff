"""How near an RMSNorm comes to what the memory allows: reported, never graded.

A norm reads every element once and writes it once, as a copy does, and computes next to nothing. So the time of a copy
of the same bytes is the floor, and the ratio of a norm's time to it says how often the norm went through memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from nanolm.protocol import Fact
from nanolm.sources import Source

SHAPE = (8, 2048, 4096)
SMALL = (2, 64, 512)
"""On the CPU, where only the way of measuring is of interest."""
REPEATS = 20
WARM_UPS = 3


def measure(source: Source, device: str) -> list[Fact]:
    """Rows of name, time, speed and ratio to the copy: the copy, F.rms_norm, the source's norm, the same compiled."""
    shape = SHAPE if device.startswith("cuda") else SMALL
    x = torch.randn(shape, device=device, dtype=torch.bfloat16)
    target = torch.empty_like(x)
    module: nn.Module = source.names("modules.py")["RMSNorm"](shape[-1]).to(x.device, x.dtype)
    backend = "inductor" if device.startswith("cuda") else "eager"
    compiled: Callable[[Tensor], Tensor] = torch.compile(module, backend=backend)
    with torch.no_grad():
        floor = seconds(lambda: target.copy_(x), device)
        runs: list[tuple[str, Callable[[], Tensor]]] = [
            ("F.rms_norm", lambda: functional.rms_norm(x, shape[-1:], eps=1e-6)),
            ("this RMSNorm", lambda: module(x)),
            ("this RMSNorm, compiled", lambda: compiled(x)),
        ]
        rows: list[Fact] = [_row("copy", floor, floor, x)]
        rows += [_row(name, seconds(run, device), floor, x) for name, run in runs]
    return rows


def _row(name: str, taken: float, floor: float, x: Tensor) -> Fact:
    moved = 2 * x.numel() * x.element_size()
    return {
        "name": name,
        "shape": list(x.shape),
        "microseconds": round(taken * 1e6, 2),
        "gigabytes_per_second": round(moved / taken / 1e9, 1),
        "ratio": round(taken / floor, 2),
    }


def seconds(run: Callable[[], object], device: str) -> float:
    """The median time of one run, after a few that do not count."""
    for _ in range(WARM_UPS):
        run()
    times = [_once_cuda(run) if device.startswith("cuda") else _once(run) for _ in range(REPEATS)]
    return sorted(times)[len(times) // 2]


def _once(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _once_cuda(run: Callable[[], object]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / 1e3
