"""`docs/reading-a-block.md`: each formula counts what the decoder layer of the pinned package really has.

The layers' classes are taken from the package's text and run with small sizes; the package is not imported.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selftests.conformance.field import models_folder
from solutions.budget import model_params
from solutions.config import ModelConfig
from solutions.hyper_connections import sinkhorn

ROOT = Path(__file__).resolve().parent.parent
SIZES = {"D": 24, "N": 6, "K": 2, "H": 5, "F": 7, "E": 3, "n": 3, "r": 4, "o": 3, "g": 2}
LAYERS = {
    "Llama 3": ("llama", "LlamaDecoderLayer"),
    "Qwen3": ("qwen3", "Qwen3DecoderLayer"),
    "OLMo2": ("olmo2", "Olmo2DecoderLayer"),
    "Gemma 3": ("gemma3", "Gemma3DecoderLayer"),
    "gpt-oss": ("gpt_oss", "GptOssDecoderLayer"),
    "DeepSeek-V4": ("deepseek_v4", "DeepseekV4DecoderLayer"),
}
ELSEWHERE = re.compile("PreTrained|Model|For[A-Z]|Output|Rotary|Cache")
"""Classes that no layer is made of, or that hold nothing learned."""


def configuration(family: str) -> SimpleNamespace:
    """What the layers ask of a configuration, in small sizes. Biases as in each family's defaults."""
    return SimpleNamespace(
        hidden_size=SIZES["D"], num_attention_heads=SIZES["N"], num_key_value_heads=SIZES["K"], head_dim=SIZES["H"],
        intermediate_size=SIZES["F"], num_local_experts=SIZES["E"], num_experts_per_tok=2, hc_mult=SIZES["n"],
        q_lora_rank=SIZES["r"], o_lora_rank=SIZES["o"], o_groups=SIZES["g"], hc_sinkhorn_iters=20, hc_eps=0.0,
        attention_bias=family == "gpt_oss", mlp_bias=False, attention_dropout=0.0, rms_norm_eps=1e-6,
        hidden_act="silu", hidden_activation="silu", scoring_func="silu", swiglu_alpha=1.702, swiglu_limit=7.0,
        routed_scaling_factor=1.0, query_pre_attn_scalar=4, use_bidirectional_attention=False,
        attn_logit_softcapping=None, sliding_window=8, layer_types=["sliding_attention"], mlp_layer_types=["moe"],
    )  # fmt: skip


def classes(family: str) -> dict[str, Any]:
    """The classes of a family's file that a layer needs, run without decorators and annotations."""
    tree = ast.parse((models_folder() / family / f"modeling_{family}.py").read_text(encoding="utf-8"))
    known: dict[str, Any] = {
        "torch": torch, "nn": nn, "F": F, "GradientCheckpointingLayer": nn.Module, "ACT2FN": {"silu": F.silu},
        f"{LAYERS_BY_FAMILY[family].removesuffix('DecoderLayer')}RotaryEmbedding": lambda *_, **__: nn.Identity(),
    }  # fmt: skip
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or ELSEWHERE.search(node.name):
            continue
        node.decorator_list = []
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef):
                part.decorator_list, part.returns = [], None
                for argument in [*part.args.args, *part.args.kwonlyargs, part.args.vararg, part.args.kwarg]:
                    if argument is not None:
                        argument.annotation = None
        exec(compile(ast.Module([node], []), node.name, "exec"), known)
    return known


LAYERS_BY_FAMILY = dict(LAYERS.values())


def formula(heading: str) -> str:
    """The formula of a model's section."""
    text = (ROOT / "docs" / "reading-a-block.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.search(r"Learned numbers in one block[^:]*:\s`([0-9A-Za-z*+() ]+)`", section)
    assert found is not None, heading
    return found[1]


@pytest.mark.parametrize("heading", LAYERS)
def test_the_formula_counts_the_layer(heading: str) -> None:
    family, name = LAYERS[heading]
    layer = classes(family)[name](configuration(family), 0)
    counted = sum(parameter.numel() for parameter in layer.parameters())
    assert counted == eval(formula(heading), {"__builtins__": {}}, dict(SIZES))


def test_llama_s_formula_gives_the_course_s_number() -> None:
    sizes = {"V": 128256, "D": 4096, "L": 32, "N": 32, "K": 8, "H": 128, "F": 14336}
    block = eval(formula("Llama 3"), {"__builtins__": {}}, dict(sizes))
    total = 2 * sizes["V"] * sizes["D"] + sizes["L"] * block + sizes["D"]
    assert total == model_params(ModelConfig(**sizes)) == 8_030_261_248
    assert f"{total:,}" in (ROOT / "docs" / "reading-a-block.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("iterations", [1, 2, 20])
def test_deepseek_s_matrix_is_the_exercise_s_once_it_is_transposed(iterations: int) -> None:
    config = configuration("deepseek_v4")
    config.hc_sinkhorn_iters = iterations
    connection = classes("deepseek_v4")["DeepseekV4HyperConnection"](config)
    generator = torch.Generator().manual_seed(5)
    for parameter in connection.parameters():
        nn.init.normal_(parameter, generator=generator)
    streams = torch.randn(1, 1, SIZES["n"], SIZES["D"], generator=generator)
    comb = connection(streams)[1][0, 0]
    flat, n = connection.input_norm(streams.flatten()), SIZES["n"]
    logits = (connection.fn @ flat)[2 * n :] * connection.scale[2] + connection.base[2 * n :]
    torch.testing.assert_close(comb.T, sinkhorn(logits.view(n, n).T, iterations), rtol=1e-5, atol=1e-6)
