"""The ledger of Llama-3.1-8B: where eight billion parameters stand."""

from __future__ import annotations

from nanolm.experiments.lab import Lab
from nanolm.experiments.result import Bars, Number, Result, Table

LLAMA = {"V": 128256, "D": 4096, "L": 32, "N": 32, "K": 8, "H": 128, "F": 14336}


def ledger(lab: Lab) -> Result:
    """Every entry of the course's table, and the model's width against the 8D/3 of an equal budget."""
    cfg = lab.name("config.py", "ModelConfig")(**LLAMA)
    attention = lab.name("budget.py", "attention_params")(cfg)
    ffn = lab.name("budget.py", "ffn_params")(cfg.D, cfg.F, gated=True)
    block = lab.name("budget.py", "block_params")(cfg)
    total = lab.name("budget.py", "model_params")(cfg)
    tied = lab.name("budget.py", "model_params")(lab.name("config.py", "ModelConfig")(**LLAMA, tie_embeddings=True))
    budget_width = lab.name("budget.py", "swiglu_ffn_dim")(cfg.D)
    norms = block - attention - ffn
    outside = total - cfg.L * block
    parts = {
        "attention": attention,
        "gated FFN": ffn,
        "two norms": norms,
        "one block": block,
        f"{cfg.L} blocks": cfg.L * block,
        "embeddings and final norm": outside,
        "model": total,
    }
    rows = tuple(
        (name, f"{value:,}", f"{100 * value / block:.2f} %" if value <= block else "", f"{100 * value / total:.2f} %")
        for name, value in parts.items()
    )
    billions = {
        "attention": cfg.L * attention / 1e9,
        "gated FFN": cfg.L * ffn / 1e9,
        "norms": (cfg.L * norms + cfg.D) / 1e9,
        "embeddings": (outside - cfg.D) / 1e9,
    }
    return Result(
        tables=(
            Table(("part", "parameters", "of a block", "of the model"), rows, "Llama-3.1-8B, embeddings not tied"),
        ),
        numbers=(
            Number("attention", attention, 41_943_040, 0),
            Number("gated FFN", ffn, 176_160_768, 0),
            Number("norms of a block", norms, 8192, 0),
            Number("block", block, 218_112_000, 0),
            Number("model", total, 8_030_261_248, 0),
            Number("model, tied embeddings", tied, 7_504_924_672, 0),
            Number("FFN's share of a block, %", 100 * ffn / block, 80.8, 0.05),
            Number("attention's share of a block, %", 100 * attention / block, 19.2, 0.05),
            Number("F of an equal budget at D = 4096", budget_width, 11008, 0),
        ),
        panels=(Bars("Where the parameters are", "billions", billions),),
        remarks=(
            f"Llama's own F is {cfg.F / cfg.D:g} D, wider than the 8D/3 that costs what two matrices of 4D would.",
        ),
    )
