# %% [markdown]
# # RMSNorm: a token's size, divided out
#
# A token is a vector of $D$ numbers, and its size can be anything: 0.01 in one layer, 40 in the next. Sublayers work
# best when they are always handed vectors of about the same size. RMSNorm sees to that with one statistic.

# %% [markdown]
# ## The idea
#
# Take the root of the mean of the squares of a token's features (its RMS) and divide the token by it. What leaves has
# RMS 1, whatever came in: the direction of the vector is kept, its length is not. Then each feature is multiplied by a
# learned number of its own, the gain $\gamma$, so that the model can make some features large again and switch others
# off.
#
# For a token $x$ with features $x_1, \dots, x_D$:
#
# $$
# \mathrm{RMS}(x) = \sqrt{\frac{1}{D} \sum_{j=1}^{D} x_j^2 + \varepsilon}
# \qquad\qquad
# y_j = \gamma_j \, \frac{x_j}{\mathrm{RMS}(x)}
# $$
#
# | what | shape |
# |---|---|
# | $x$ and $y$ | $[\dots, D]$: any number of leading axes, also none |
# | $\gamma$ | $[D]$, ones at the start |
# | $\mathrm{RMS}(x)$ | one number for each token |
#
# Three things are easy to get wrong. The mean runs over the features of *one* token, never over tokens. Nothing is
# subtracted: LayerNorm takes the mean away first, RMSNorm does not. And $\varepsilon$ (1e-6) stands *under* the root,
# where it keeps a token of zeros from being divided by zero.

# %% [markdown]
# ## A number to do on paper
#
# $x = (2, -1, 3, 0)$. The squares are 4, 1, 9 and 0; their mean is 3.5; the root of that is 1.8708. With
# $\gamma = 1$ the token leaves as $(1.069, -0.535, 1.604, 0)$. The features of $x$ have the mean 1, and nobody asks.
#
# ## Half precision
#
# The largest float16 is 65504, so $300^2 = 90000$ is already infinite there, although 300 itself is an ordinary number.
# So a half-precision token is widened to float32 *before* it is squared, and the result is cast back to the dtype that
# came in. Widening after squaring is too late.

# %%
# Given: what squaring does to 300, in half precision and after widening.
import torch

x = torch.tensor([300.0, 300.0], dtype=torch.float16)
print("squared, then widened:", (x * x).float())
print("widened, then squared:", x.float() * x.float())

# %% [markdown]
# ## Your answer
#
# From scratch means without PyTorch's own norms: `nn.RMSNorm`, `F.rms_norm`, `nn.LayerNorm`, `F.layer_norm` and their
# relatives make the exercise `forbidden`. Everything elementary is allowed. Keep the names and signatures; extra
# helpers are fine.

# %% answer="rmsnorm"

# %% check="rmsnorm"

# %% [markdown]
# ## See it work
#
# Your class on the token from above, twice, the second time a thousand times as large:

# %%
# Given: the worked number, from your own class.
import torch

norm = RMSNorm(4)
token = torch.tensor([2.0, -1.0, 3.0, 0.0])
print(norm(token).detach())
print(norm(1000 * token).detach())

# %% [markdown]
# Scale does not matter, except where $\varepsilon$ takes over. At an RMS of 0.001 the mean square is exactly as large
# as $\varepsilon = 10^{-6}$, and the gain of the whole norm is $1/\sqrt{2 \cdot 10^{-6}} = 707.1$ instead of 1000. With
# $\varepsilon = 10^{-5}$ it is 301.5.

# %%
# Given: the size of the output against the size of the input, by your own class.
from nanolm.notebook import experiment

experiment("epsilon", globals())

# %% [markdown] question="rmsnorm 1"

# %% [markdown]
# ## What next
#
# `nanolm experiment norm-geometry` in a terminal shows the sphere on which the outputs lie, once the NumPy notebook is
# done too. Where in a block a norm stands is the subject of `06_placement.ipynb`; [the exercise's
# page](../../docs/exercises/rmsnorm.md) lists the mistakes that the check knows by name, each with an input short
# enough for paper.
