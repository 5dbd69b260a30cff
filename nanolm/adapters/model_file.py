"""Adapter of the given `model.py`: a block out of the student's parts. No test with points calls it."""

from __future__ import annotations

import torch

from nanolm.adapters.student import CONSTRUCTION_SEED, Student

SIZES = ("V", "D", "L", "N", "K", "H", "F")


def pre_norm_block(student: Student) -> None:
    """`Block(cfg)(x)`. Tensors: x: [..., S, D]. Scalars: the sizes of cfg, and `silent`: both branches end in zeros.

    Facts: parameters, the number of numbers that the block learns.
    """
    config = student.given("config.py", "ModelConfig")(**{name: student.integer(name) for name in SIZES})
    torch.default_generator.manual_seed(CONSTRUCTION_SEED)
    block = student.given("model.py", "Block")(config)
    if student.scalars.get("silent"):
        torch.nn.init.zeros_(block.attn.w_o.weight)
        torch.nn.init.zeros_(block.ffn.w_down.weight)
    student.facts["parameters"] = sum(parameter.numel() for parameter in block.parameters())
    student.output(block(student.tensors["x"]), of="Block(cfg)(x)")
