# %% [markdown]
# # Curves in the place of a norm
#
# A norm looks at a whole token: every feature is divided by a number to which all of them have contributed. The two
# modules of this notebook stand where a norm stands, and look at one feature at a time.

# %% [markdown]
# ## Two curves
#
# **DyT** (dynamic tanh) squashes each feature. $\alpha$ is one learned number for all of them; $\gamma$ and $\beta$ are
# learned feature by feature:
#
# $$
# y_j = \gamma_j \tanh(\alpha x_j) + \beta_j
# $$
#
# **DyISRU** starts from RMSNorm and replaces the squares of the *other* features by one learned number $b$:
#
# $$
# y_j = \gamma_j \frac{x_j}{\sqrt{b + x_j^2}} + \beta_j ,
# \qquad
# b = \log(1 + e^{r}) .
# $$
#
# $b$ must stay positive whatever an optimiser does, so what is learned is $r$, and $b$ is its softplus. The constructor
# is told which $b$ to start from, $b_0$; so the $r$ to start from is the number whose softplus is $b_0$, and not $b_0$
# itself.
#
# | what | shape | at the start |
# |---|---|---|
# | $x$, $y$ | $[\dots, D]$ | |
# | `alpha`, `r` | one number, $[\,]$ or $[1]$ | $\alpha_0$; such that $b = b_0$ |
# | `gamma`, `beta` | $[D]$ | ones, zeros |

# %% [markdown]
# ## Numbers to do on paper
#
# **One input.** At 2, DyT with $\alpha = 0.5$ gives $\tanh 1 = 0.762$, and DyISRU with $b = 4$ gives
# $2/\sqrt 8 = 0.707$. At 0.1 they give 0.04996 and 0.04994: both slopes at zero are 0.5, since
# $1/\sqrt 4 = 0.5$. Equal slopes, and yet not the same curve.
#
# **The start of r.** $b = \log(1 + e^r)$ means $e^r = e^b - 1$. For $b = 4$ that is 53.6, and $r = 3.9815$. For
# $b = \log 2$ it is 1, and $r = 0$.

# %%
# Given: the two curves of equal slope, drawn from their formulas' values.
import matplotlib.pyplot as plt
import torch

x = torch.linspace(-8, 8, 321)
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(x, torch.tanh(x / 2), label="tanh with α = 0.5")
axis.plot(x, x / (4 + x**2) ** 0.5, label="inverse square root with b = 4")
axis.plot(x, x / 2, ":", label="slope 0.5")
axis.set(ylim=(-1.2, 1.2), xlabel="one feature")
axis.grid(alpha=0.3)
axis.legend()
plt.show()

# %% [markdown]
# ## Your answer
#
# Nothing in PyTorch is the answer; `torch.tanh`, `F.softplus` and everything elementary are allowed. Keep the
# parameters' names.

# %% answer="elementwise"

# %% check="elementwise"

# %% [markdown]
# ## See it work
#
# Which $\alpha$ makes a tanh most like a division by the RMS? Of 171 candidates, 1.43 comes nearest on 200,000 normal
# numbers and their one RMS.

# %%
# Given: your DyT fitted to x / RMS(x), and the slopes of your two curves.
from nanolm.notebook import experiment

experiment("dyt-fit", globals())

# %% [markdown] question="elementwise 1"

# %% [markdown]
# ## What next
#
# That a norm can be replaced is a result of training, and nothing was trained here. [The exercise's
# page](../../docs/exercises/elementwise.md) asks why 1.43 is not the $\alpha_0$ to recommend.
