# %% [markdown]
# # The activation of gpt-oss
#
# The name in a configuration says "swiglu". The code that runs does four things which that name does not tell. This
# notebook reads them off and writes them down.

# %% [markdown]
# ## What the code does
#
# **One projection, two branches.** A single matrix computes $2F$ features, and gate and up value stand *interleaved* in
# them: feature $2i$ is a gate, feature $2i + 1$ is its up value.
#
# $$
# p = (g_0, u_0, g_1, u_1, \dots, g_{F-1}, u_{F-1})
# $$
#
# **Two clamps that differ.** The gate is clamped from above only, the up branch on both sides, both at a limit
# $\lambda = 7$:
#
# $$
# \bar g = \min(g, \lambda)
# \qquad
# \bar u = \max(-\lambda, \min(u, \lambda))
# $$
#
# **A sharper sigmoid and a shift.** With $\alpha = 1.702$,
#
# $$
# y_i = \bar g_i \,\sigma(\alpha \bar g_i)\,(1 + \bar u_i).
# $$
#
# $\alpha$ stands inside the sigmoid only. The shift comes after the clamp, so that the last factor runs from -6 to 8.
#
# | what | shape |
# |---|---|
# | packed features $p$ | $[\dots, 2F]$ |
# | gate, up, result | $[\dots, F]$ |

# %% [markdown]
# ## Numbers to do on paper
#
# **The halves.** $(10, 20, 11, 21, 12, 22)$ holds the gates 10, 11, 12 and the up values 20, 21, 22. A library that
# expects two halves would take 10, 20, 11 for the gates; the shapes fit, and nothing raises.
#
# **The slice where gate and up are equal**, with the defaults:
#
# | gate = up | after the clamps | last factor | gate's factor | product |
# |---|---|---|---|---|
# | -9 | -9 and -7 | -6 | $-9\,\sigma(-15.3) = -2.0 \cdot 10^{-6}$ | $1.2 \cdot 10^{-5}$, positive |
# | 0 | 0 and 0 | 1 | 0 | 0 |
# | 7 | 7 and 7 | 8 | $7\,\sigma(11.9) = 6.99995$ | 55.9996 |
# | 9 | 7 and 7 | 8 | as above | as above |

# %% [markdown]
# ## Your answer
#
# Nothing of PyTorch is this answer, so everything elementary is allowed.

# %% answer="gpt_oss"

# %% check="gpt_oss"

# %% [markdown]
# ## See it work
#
# The slice of the table as a curve. The gate's factor alone levels off near 7, the product near 56.

# %%
# Given: the slice gate = up = z, by your own function.
from nanolm.notebook import experiment

experiment("gpt-oss-slice", globals())

# %% [markdown] question="gpt_oss 2"

# %% [markdown]
# ## What next
#
# `09_numpy_bridge.ipynb` writes the same product with options, and compares. [The exercise's
# page](../../docs/exercises/gpt_oss.md) asks how to convert a checkpoint between the two ways of packing.
