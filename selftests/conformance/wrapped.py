"""What of the field is graded, wrapped as a student's file, and what is expected of each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from selftests.conformance.field import (
    PREAMBLE,
    FieldClass,
    classes_ending_in,
    configured,
    field_class,
    gpt_oss_class,
    gpt_oss_function,
)


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
        first = min(same, key=lambda found: ((*KNOWN, found.family).index(found.family), found.family))
        text = f"{PREAMBLE}{first.text}\n\n\nclass RMSNorm({first.name}):\n    pass\n"
        yield Wrapped(f"{first.family} {first.name}", "rmsnorm", text, RMS_NORM_DIFFERS.get(first.name, ()), len(same))


KNOWN = ("llama", "gpt_oss", "qwen3", "olmo2", "gemma", "llama4", "deepseek_v4", "olmoe")

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


def gpt_oss_norm() -> Wrapped:
    """The gpt-oss reference's own RMSNorm, whose default eps is 1e-5."""
    found = gpt_oss_class("RMSNorm")
    text = f"{PREAMBLE}{found.text}"
    return Wrapped("gpt-oss reference RMSNorm", "rmsnorm", text, ("rmsnorm-default-eps",))


PER_HEAD = """
from torch.func import functional_call


def per_head_rms_norm(q, gamma, eps=1e-6):
    return functional_call({name}(q.shape[-1], eps), {{"weight": gamma}}, (q,))
"""

FULL_WIDTH = """
from torch.func import functional_call


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    normalised = functional_call({name}(q.shape[-1], eps), {{"weight": gamma}}, (q,))
    return normalised.view(*q.shape[:-1], n_heads, -1)
"""

L2 = """

def l2_qk_scores(q, k, tau, eps=1e-6):
    norm = {name}(eps)
    return tau * norm(q) @ norm(k).transpose(-2, -1)
"""


def qk_norms(solution: str) -> Iterator[Wrapped]:
    """Query and key norms: Qwen3's over a head, OLMo2's over the projection, and what Llama 4 calls an L2 norm.

    Each stands in the reference's file (`solution`), which supplies the functions that it does not replace.
    """
    for family, name, wrapper, differs in (
        ("qwen3", "Qwen3RMSNorm", PER_HEAD, ()),
        ("olmo2", "Olmo2RMSNorm", FULL_WIDTH, ()),
        ("llama4", "Llama4TextL2Norm", L2, ("qk_norm-rms-not-l2",)),
    ):
        text = f"{solution}\n\nfrom torch import nn\n\n{field_class(family, name).text}\n{wrapper.format(name=name)}"
        yield Wrapped(f"{family} {name}", "qk_norm", text, differs)


SINKHORN = """
from torch.func import functional_call


class Config:
    hidden_size, hc_eps, rms_norm_eps = 1, 0.0, 1e-6

    def __init__(self, n, n_iters):
        self.hc_mult, self.hc_sinkhorn_iters = n, n_iters


def sinkhorn(logits, n_iters=20):
    n = logits.shape[-1]
    mixes = [mix(one, n, n_iters) for one in logits.reshape(-1, n, n)]
    return torch.stack(mixes).reshape(logits.shape).to(logits.dtype)


def mix(logits, n, n_iters):
    parameters = {
        "fn": torch.zeros((2 + n) * n, n),
        # The block mixes with the transpose of what the layer returns, so its columns are the rows of R.
        "base": torch.cat([torch.zeros(2 * n), logits.float().T.reshape(-1)]),
        "scale": torch.ones(3),
    }
    layer = DeepseekV4HyperConnection(Config(n, n_iters))
    return functional_call(layer, parameters, (torch.zeros(1, 1, n, 1),))[1][0, 0].T
"""


def hyper_connections(solution: str) -> Iterator[Wrapped]:
    """DeepSeek-V4's projection as its block uses it, transposed: columns first, rows last, as the exercise has it.

    Its guard eps is set to zero, as the exercise has none; far entries then overflow, as they do in a linear domain.
    """
    classes = [
        field_class("deepseek_v4", name).text for name in ("DeepseekV4UnweightedRMSNorm", "DeepseekV4HyperConnection")
    ]
    text = "\n\n\n".join([solution, "import torch.nn.functional as F", "from torch import nn", *classes]) + SINKHORN
    yield Wrapped("deepseek_v4 DeepseekV4HyperConnection", "mhc", text, ("mhc-linear-domain",))


EXPERTS = """


class Config:
    num_local_experts = num_experts = n_routed_experts = hidden_size = intermediate_size = moe_intermediate_size = 1
    hidden_act = "silu"

    def __init__(self, alpha, limit):
        self.swiglu_alpha, self.swiglu_limit = alpha, limit


ACT2FN = {{"silu": F.silu}}


def clamped_swiglu(packed, alpha={alpha}, limit={limit}):
    return {name}(Config(alpha, limit))._apply_gate(packed)
"""


def clamped_activations(solution: str) -> Iterator[Wrapped]:
    """Activations of experts with a clamp, which stand in the reference's file (`solution`) and leave its split alone.

    gpt-oss has pairs in its packed projection, its relatives halves; GLM's is a clamped SwiGLU without alpha and shift.
    Defaults are those of the family's configuration, where it has them.
    """
    halves = "gpt_oss-contiguous-halves"
    plain = ("gpt_oss-alpha-one", "gpt_oss-missing-plus-one", "gpt_oss-default-limit")
    for family, name, differs in (
        ("gpt_oss", "GptOssExperts", ()),
        ("openai_privacy_filter", "OpenAIPrivacyFilterExperts", (halves,)),
        ("minimax_m3_vl", "MiniMaxM3VLExperts", (halves,)),
        ("glm5_next", "Glm5NextTextExperts", (halves, *plain)),
    ):
        alpha, limit = (_default(family, field, value) for field, value in (("alpha", 1.702), ("limit", 7.0)))
        wrapper = EXPERTS.format(name=name, alpha=alpha, limit=limit)
        text = f"{solution}\n\n{PREAMBLE}{field_class(family, name).text}{wrapper}"
        yield Wrapped(f"{family} {name}", "gpt_oss", text, differs)


def _default(family: str, field: str, contracts: float) -> object:
    """What the family's configuration says, and the contract's number where its schema has no such field."""
    try:
        return configured(family, f"swiglu_{field}")
    except LookupError:
        return contracts


def gpt_oss_activation(solution: str) -> Wrapped:
    """The gpt-oss reference's own activation (M6 §15)."""
    text = f"{solution}\n\n{gpt_oss_function('swiglu')}\n\n\nclamped_swiglu = swiglu\n"
    return Wrapped("gpt-oss reference swiglu", "gpt_oss", text)
