"""What of the field is graded, wrapped as a student's file, and what is expected of each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from selftests.conformance.field import PREAMBLE, FieldClass, classes_ending_in, field_class


@dataclass(frozen=True)
class Wrapped:
    """A field's code as a submission of one exercise; `differs` are ids of what it does differently (none: full)."""

    name: str
    exercise: str
    text: str
    differs: tuple[str, ...] = ()
    copies: int = 1


def rms_norms() -> Iterator[Wrapped]:
    """Every RMSNorm body of the package that is built as RMSNorm(width, eps): copies in other families counted."""
    bodies: dict[str, list[FieldClass]] = {}
    for found in classes_ending_in("RMSNorm"):
        if _built_from_width_and_eps(found):
            bodies.setdefault(found.body, []).append(found)
    for same in bodies.values():
        # The best known family speaks for its copies.
        first = min(same, key=lambda found: (found.family not in KNOWN, found.family))
        text = f"{PREAMBLE}{first.text}\n\n\nclass RMSNorm({first.name}):\n    pass\n"
        yield Wrapped(f"{first.family} {first.name}", "rmsnorm", text, RMS_NORM_DIFFERS.get(first.name, ()), len(same))


KNOWN = ("llama", "qwen3", "olmo2", "gemma", "gpt_oss", "llama4", "deepseek_v4", "olmoe")

GEMMA = ("rmsnorm-gamma-plus-one", "rmsnorm-zero-gamma")
"""Gemma stores the gain minus one: right for its checkpoints, not what the contract asks for."""

RMS_NORM_DIFFERS = {
    "GemmaRMSNorm": GEMMA,
    "MuseSparkTextCenteredRMSNorm": GEMMA,
    "MuseSparkTextInputScaledRMSNorm": (*GEMMA, "rmsnorm-gamma-before-norm"),
    "OlmoeRMSNorm": ("rmsnorm-default-eps",),
    "Llama4TextRMSNorm": ("rmsnorm-default-eps",),
    "IdeficsRMSNorm": (),
}


def _built_from_width_and_eps(found: FieldClass) -> bool:
    """Whether the second argument of the constructor is eps, the first having no other use than the width."""
    node = ast.parse(found.text).body[0]
    assert isinstance(node, ast.ClassDef)
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            names = [argument.arg for argument in part.args.args]
            return len(names) > 2 and names[2] == "eps"
    return False


MLP = """

class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        mlp = {name}(Config(d_model, d_ff))
        self.w_gate, self.w_up, self.w_down = mlp.gate_proj, mlp.up_proj, mlp.down_proj
        object.__setattr__(self, "mlp", mlp)  # the same maps under their own names, registered once

    def forward(self, x):
        return self.mlp(x)
"""

CONFIG = """
class Config:
    mlp_bias = False
    pretraining_tp = 1
    hidden_act = "silu"
    hidden_activation = "gelu_pytorch_tanh"

    def __init__(self, d_model, d_ff):
        self.hidden_size, self.intermediate_size = d_model, d_ff


ACT2FN = {"silu": F.silu, "gelu_pytorch_tanh": lambda z: F.gelu(z, approximate="tanh")}

"""


def feed_forwards() -> Iterator[Wrapped]:
    """Gated MLPs of known families; Gemma's gate is a GELU."""
    for family, name, differs in (
        ("llama", "LlamaMLP", ()),
        ("qwen3", "Qwen3MLP", ()),
        ("olmo2", "Olmo2MLP", ()),
        ("mistral", "MistralMLP", ()),
        ("gemma", "GemmaMLP", ()),
        ("gemma2", "Gemma2MLP", ("swiglu-gelu-gate",)),
    ):
        found = field_class(family, name)
        text = f"{PREAMBLE}{CONFIG}{found.text}\n{MLP.format(name=name)}"
        yield Wrapped(f"{family} {name}", "swiglu", text, differs)
