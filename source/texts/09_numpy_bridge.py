# %% [markdown]
# # The parts once more, in NumPy
#
# No module, no parameter, no autograd: arrays and arithmetic. What PyTorch does quietly becomes visible here, dtype by
# dtype and axis by axis.

# %% [markdown]
# ## Two norms
#
# For a row $x$ with $D$ features, mean $\mu$ and mean squared distance from it $s^2 = \frac 1D \sum_j (x_j - \mu)^2$:
#
# $$
# \text{RMSNorm: } \gamma_j \, \frac{x_j}{\sqrt{\frac 1D \sum_k x_k^2 + \varepsilon}}
# \qquad\qquad
# \text{LayerNorm: } \gamma_j \, \frac{x_j - \mu}{\sqrt{s^2 + \varepsilon}} + \beta_j
# $$
#
# Take $x = (2, -1, 3, 0)$. RMSNorm: the squares have the mean 3.5, the root is 1.8708, and $(1.069, -0.535, 1.604, 0)$
# comes out. LayerNorm: $\mu = 1$, the distances are $(1, -2, 2, -1)$, the mean of their squares is 2.5, its root
# 1.5811, and $(0.632, -1.265, 1.265, -0.632)$ comes out. The 0 has become negative.
#
# The variance divides by $D$, not by $D - 1$. Statistics are worked in at least float32; a float64 array keeps its full
# precision; the output has the input's dtype. What cannot be normalised is refused with a `ValueError`: see the
# docstrings.

# %% [markdown]
# ## A sigmoid, and three curves
#
# $$
# \sigma(z) = \frac{1}{1 + e^{-z}} = \frac{e^{z}}{1 + e^{z}}
# \qquad
# \mathrm{SiLU}(z) = z\,\sigma(z)
# \qquad
# \mathrm{GELU}(z) = z\,\Phi(z)
# \qquad
# z\,\sigma(1.702\,z)
# $$
#
# The two forms of $\sigma$ are one function and two programs: one overflows far below zero, the other far above. $\Phi$
# is the distribution function of the standard normal. $\mathrm{GELU}(1) = 0.841344746$; the common tanh formula gives
# 0.841192 there, which is too coarse here, and $\sigma(1.702) = 0.845796$ is a curve of its own (the one that gpt-oss
# gates with).

# %% [markdown]
# ## The gated product, with options
#
# Gate clamped from above, up on both sides, then
#
# $$
# g\,\sigma(\alpha g)\,(u + c),
# $$
#
# each of the options off unless it is asked for. `swiglu_mlp` puts three matrices round the plain form. Tokens are
# rows, so matrices stand on the right: $[\dots, D] \cdot [D, F]$. `nn.Linear` stores their transposes.
#
# With $\alpha = 1.702$, both limits 7 and $c = 1$, a gate and an up value of 9 give $7\,\sigma(11.9) \cdot 8 = 56.0$,
# as 7 and 7 do.

# %% [markdown]
# ## Your answer
#
# NumPy and Python's standard library, nothing else. PyTorch would do all of this by itself: naming or importing it *in
# your answer* makes the exercise `forbidden`. Cells of your own that only look at results may use it, as long as the
# answer does not.

# %% answer="numpy_bridge"

# %% check="numpy_bridge"

# %% [markdown]
# ## See it work
#
# How far is $z\,\sigma(1.702\,z)$ from GELU? On 4001 points of $[-6, 6]$ at most 0.020335.

# %%
# Given: your two curves, and the gap between them.
from nanolm.notebook import experiment

experiment("gelu-gap", globals())

# %% [markdown]
# Your two norms on the row from above, side by side:

# %%
# Given: the worked numbers, from your own functions.
import numpy as np

row = np.array([2.0, -1.0, 3.0, 0.0])
print("RMSNorm  ", rms_norm(row).round(3))
print("LayerNorm", layer_norm(row).round(3))

# %% [markdown] question="numpy_bridge 1"

# %% [markdown]
# ## What next
#
# `tests/test_bridges.py` holds these functions beside your modules and beside PyTorch's own operators: run
# `pytest tests/test_bridges.py` once both stand in `exercises/`. [The exercise's
# page](../../docs/exercises/numpy_bridge.md) has the rest.
