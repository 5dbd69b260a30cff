"""Adapters: functions from tensors and plain scalars to tensors, one an entry point.

They are the only code that knows how a student's classes are built and which parameter is the gain. They run beside the
student's code, in whichever process that is. A new exercise adds a module here and its entries to `ENTRIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nanolm.adapters import (
    block_file,
    budget_file,
    elementwise_file,
    gpt_oss_file,
    hyper_connections_file,
    model_file,
    modules_file,
    numpy_bridge_file,
    qk_norm_file,
)
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
    "swiglu_ffn_dim": Entry("budget", budget_file.swiglu_ffn_dim),
    "ffn_params": Entry("budget", budget_file.ffn_params),
    "attention_params": Entry("budget", budget_file.attention_params),
    "block_params": Entry("budget", budget_file.block_params),
    "model_params": Entry("budget", budget_file.model_params),
    "model_growth": Entry("budget", budget_file.model_growth),
    "budget_refusal": Entry("budget", budget_file.budget_refusal),
    "l2_qk_scores": Entry("qk_norm", qk_norm_file.l2_qk_scores),
    "per_head_rms_norm": Entry("qk_norm", qk_norm_file.per_head_rms_norm),
    "full_width_rms_norm": Entry("qk_norm", qk_norm_file.full_width_rms_norm),
    "soft_cap": Entry("qk_norm", qk_norm_file.soft_cap),
    "soft_cap_refusal": Entry("qk_norm", qk_norm_file.soft_cap_refusal),
    "sinkhorn": Entry("mhc", hyper_connections_file.sinkhorn),
    "mix_streams": Entry("mhc", hyper_connections_file.mix_streams),
    "hyper_connection_step": Entry("mhc", hyper_connections_file.hyper_connection_step),
    "mhc_step": Entry("mhc", hyper_connections_file.mhc_step),
    "pre_norm_step": Entry("placement", block_file.pre_norm_step),
    "post_norm_step": Entry("placement", block_file.post_norm_step),
    "peri_norm_step": Entry("placement", block_file.peri_norm_step),
    "output_norm_step": Entry("placement", block_file.output_norm_step),
    "pre_norm_block": Entry("placement", model_file.pre_norm_block),
    "forward_scale": Entry("placement", block_file.forward_scale),
    "course_forward_scales": Entry("placement", block_file.course_forward_scales),
    "forward_scale_refusal": Entry("placement", block_file.forward_scale_refusal),
    "split_gate_up": Entry("gpt_oss", gpt_oss_file.split_gate_up),
    "clamped_swiglu": Entry("gpt_oss", gpt_oss_file.clamped_swiglu),
    "dyt": Entry("elementwise", elementwise_file.dyt),
    "dyt_fresh": Entry("elementwise", elementwise_file.dyt_fresh),
    "dyisru": Entry("elementwise", elementwise_file.dyisru),
    "dyisru_fresh": Entry("elementwise", elementwise_file.dyisru_fresh),
    "numpy_rms_norm": Entry("numpy_bridge", numpy_bridge_file.rms_norm),
    "numpy_layer_norm": Entry("numpy_bridge", numpy_bridge_file.layer_norm),
    "numpy_stable_sigmoid": Entry("numpy_bridge", numpy_bridge_file.stable_sigmoid),
    "numpy_silu": Entry("numpy_bridge", numpy_bridge_file.silu),
    "numpy_gelu": Entry("numpy_bridge", numpy_bridge_file.gelu),
    "numpy_gelu_sigmoid": Entry("numpy_bridge", numpy_bridge_file.gelu_sigmoid),
    "numpy_swiglu": Entry("numpy_bridge", numpy_bridge_file.swiglu),
    "numpy_swiglu_mlp": Entry("numpy_bridge", numpy_bridge_file.swiglu_mlp),
    "numpy_refusal": Entry("numpy_bridge", numpy_bridge_file.refusal),
}
