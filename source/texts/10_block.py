# %% [markdown]
# # A block out of your own parts
#
# Nothing to hand in here. This notebook takes what you have written, puts it together as a pre-norm block with
# grouped-query attention, and looks at three of its properties.
#
# It needs **RMSNorm**, **SwiGLU** and **pre_norm_step**, and **block_params** for the count. Each comes from the
# exercise's file in `exercises/`; where the stub still stands there, from the notebook in which you wrote it, as you
# last *saved* it (they lie beside this one). If a part is missing, the cell below says which.

# %%
# Given: your own parts.
from nanolm.notebook import pieces

RMSNorm, SwiGLU, pre_norm_step, block_params = pieces("RMSNorm", "SwiGLU", "pre_norm_step", "block_params")

# %% [markdown]
# ## The block
#
# Attention is given (`exercises/attention.py`): $N$ query heads share $K$ key/value heads, so each key/value head
# serves $G = N / K$ queries, and a token sees itself and what came before it. The rest is yours:
#
# $$
# h = x + \text{attention of the normalised } x
# \qquad
# y = h + \text{FFN of the normalised } h
# $$
#
# A small one, with sizes that are all different: $D = 48$, six query heads and two key/value heads of width 8, $F =
# 128$.

# %%
# Given: the block, as exercises/model.py builds it, out of the parts above.
import torch
from torch import nn

from exercises.attention import CausalGQA
from exercises.config import ModelConfig

cfg = ModelConfig(V=100, D=48, L=1, N=6, K=2, H=8, F=128)


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(cfg.D), RMSNorm(cfg.D)
        self.attn, self.ffn = CausalGQA(cfg), SwiGLU(cfg.D, cfg.F)

    def forward(self, x):
        return pre_norm_step(x, self.attn, self.ffn, self.norm1, self.norm2)


torch.manual_seed(0)
block = Block(cfg)
x = torch.randn(1, 12, cfg.D)  # [B, S, D]
print("in ", tuple(x.shape), "  out", tuple(block(x).shape))

# %% [markdown]
# ## Does the ledger agree?
#
# `block_params` counts with the formulas of the third notebook, PyTorch counts tensors: 6,144 for the attention, 18,432
# for the FFN, 96 for two gains.

# %%
# Given: two ways to count one block.
counted = sum(parameter.numel() for parameter in block.parameters())
print(f"block_params: {block_params(cfg):,}   tensors: {counted:,}")
assert counted == block_params(cfg), "one of your parts has a parameter too many or too few"

# %% [markdown]
# ## Causality
#
# Change token 7 of 12, and look at which outputs change. Norms and FFN look at one token at a time; only attention can
# carry something from one token to another, and its mask lets it go forward only. So tokens 0 to 6 must come out
# exactly as before.

# %%
# Given: which outputs feel it when token 7 changes.
import matplotlib.pyplot as plt

changed = x.clone()
changed[0, 7] += 1.0
with torch.no_grad():
    difference = (block(changed) - block(x)).abs().amax(-1)[0]
for position, size in enumerate(difference.tolist()):
    print(f"token {position:2}: {size:.4f}")
assert (difference[:7] == 0).all(), "a token has felt the future"
figure, axis = plt.subplots(figsize=(6, 2.8), layout="constrained")
axis.bar(range(12), difference)
axis.set(xlabel="token", ylabel="largest change", title="Token 7 was changed")
plt.show()

# %% [markdown]
# The same for every pair at once. Row $i$, column $j$ says how much output $i$ depends on input $j$: the size of the
# Jacobian's part for these two tokens. Everything above the diagonal is zero.

# %%
# Given: how much each output token depends on each input token.
jacobian = torch.autograd.functional.jacobian(lambda tokens: block(tokens[None])[0], x[0])  # [S, D, S, D]
depends = torch.linalg.vector_norm(jacobian, dim=(1, 3))
assert (depends.triu(1) == 0).all(), "an output depends on a later token"
print("largest entry above the diagonal:", depends.triu(1).max().item())
figure, axis = plt.subplots(figsize=(4.4, 3.8), layout="constrained")
image = axis.imshow(depends.log10().clamp(min=-3))
axis.set(xlabel="input token", ylabel="output token", title="log₁₀ of the dependence")
figure.colorbar(image)
plt.show()

# %% [markdown]
# ## A silent branch changes nothing
#
# In pre-norm the stream is only ever added to. If attention and FFN return zeros, the block must return its input, bit
# for bit. Here the last map of each branch is set to zero:

# %%
# Given: with zero branches, x leaves the block unchanged.
with torch.no_grad():
    block.attn.w_o.weight.zero_()
    block.ffn.w_down.weight.zero_()
    print("unchanged:", torch.equal(block(x), x))
    assert torch.equal(block(x), x), "something other than the two branches touches the stream"

# %% [markdown]
# A post-norm block would fail this, since its stream passes through two norms. That is the whole difference between the
# two placements, in one line.
#
# ## Twenty-four of them
#
# A stack of such blocks with weights that nobody trains, beside the same stack as Peri-LN: what three times larger
# weights do to the stream, and what not.

# %%
# Given: your parts as a frozen stack.
from nanolm.notebook import experiment

experiment("frozen-stack", globals())

# %% [markdown]
# ## Where to go from here
#
# `exercises/model.py` holds the same block for use outside a notebook, and `pytest tests/test_model.py` tests it.
# [Reading a block](../../docs/reading-a-block.md) takes six public models apart; after this notebook you should
# recognise each part.
