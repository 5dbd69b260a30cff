"""Probe inputs of the diagnosis: each shows few mistakes and hides the rest, so that two at once can be told apart.

One module a file of exercises; a new exercise adds its list to `PROBES`.
"""

from __future__ import annotations

from nanolm.probes import (
    block_file,
    budget_file,
    elementwise_file,
    gpt_oss_file,
    hyper_connections_file,
    modules_file,
    numpy_bridge_file,
    qk_norm_file,
)
from nanolm.probes.probe import Probe

__all__ = ["PROBES", "Probe"]

PROBES: dict[str, tuple[Probe, ...]] = {
    "rmsnorm": modules_file.RMSNORM,
    "swiglu": modules_file.SWIGLU,
    "budget": budget_file.BUDGET,
    "qk_norm": qk_norm_file.QK_NORM,
    "mhc": hyper_connections_file.MHC,
    "placement": block_file.PLACEMENT,
    "gpt_oss": gpt_oss_file.GPT_OSS,
    "elementwise": elementwise_file.ELEMENTWISE,
    "numpy_bridge": numpy_bridge_file.NUMPY_BRIDGE,
}
