# %% [markdown]
# # Where the norms stand
#
# Take the same attention, the same feed-forward network and the same norms. By moving the norms you get four different
# blocks, and the difference between them decided how deep models could be trained.

# %% [markdown]
# ## Four blocks
#
# A block updates its stream twice: attention first, then the FFN, which reads what attention has left. $A$ is
# attention, $F$ the FFN, $\mathcal N_1, \mathcal N_2, \dots$ are norms; each is a map from $[\dots, D]$ to $[\dots,
# D]$.
#
# | block | first update gives $h$ | second update gives the output | found in |
# |---|---|---|---|
# | pre-norm | the stream plus $A$ of its normalised copy | $h$ plus $F$ of its normalised copy | most models of today |
# | post-norm | the norm of (the stream plus $A$ of it) | the norm of ($h$ plus $F$ of it) | the original of 2017 |
# | Peri-LN | as pre-norm, and $A$'s result is normalised too | as pre-norm, and $F$'s result is normalised too | Gemma 2 |
# | output norm | the stream plus the normalised result of $A$ | $h$ plus the normalised result of $F$ | OLMo 2 |
#
# As pictures, with $\rightarrow$ for what a sublayer reads and $\oplus$ for the sum:
#
# $$
# \begin{aligned}
# \text{pre-norm} &: \quad x \to \mathcal N_1 \to A \to \oplus \quad\text{with } x \\
# \text{post-norm} &: \quad x \to A \to \oplus \text{ with } x \to \mathcal N_1 \\
# \text{Peri-LN} &: \quad x \to \mathcal N_{\text{in}} \to A \to \mathcal N_{\text{out}} \to \oplus \quad\text{with } x \\
# \text{output norm} &: \quad x \to A \to \mathcal N_{\text{out}} \to \oplus \quad\text{with } x
# \end{aligned}
# $$
#
# Only in post-norm does the stream itself pass through a norm.

# %% [markdown]
# ## A number to do on paper
#
# Let everything be a map of single numbers that nobody mistakes for another: $\mathcal N_1(x) = 2x + 1$,
# $\mathcal N_2(x) = 3x + 2$, $A(x) = 5x$, $F(x) = 7x$, and $x = 1$.
#
# - **Pre-norm.** $\mathcal N_1$ makes 3 of 1, $A$ makes 15 of it, so $h = 16$. $\mathcal N_2$ makes 50 of 16, $F$ makes
#   350, and **366** leaves the block.
# - **Post-norm.** $1 + 5 = 6$, and $\mathcal N_1$ makes $h = 13$ of it. $13 + 91 = 104$, and $\mathcal N_2$ makes **314**.
#
# If you get 51 for the first, your FFN has read $x$ and not $h$.

# %% [markdown]
# ## How large does the stream become?
#
# `forward_scale` measures the RMS $\rho$ of a linear stream after each of $L$ steps, each with its own random matrix
# $W_l$: $[D, D]$. With $U(v) = v / \max(\rho(v), 10^{-12})$:
#
# $$
# \text{none: } h + W h
# \qquad
# \text{pre: } h + W\,U(h)
# \qquad
# \text{post: } U(h + W h)
# $$
#
# In one dimension with $W = 1$ and $h = 3$: without a norm 6, then 12; with pre 4, then 5; with post 1, then 1.

# %% [markdown]
# ## Your answer
#
# Nothing is forbidden here but the ways round the tests (`exec`, `importlib` and the like). Each callable is called
# exactly once, with one tensor. An unknown `placement` is a `ValueError`.

# %% answer="placement"

# %% check="placement"

# %% [markdown]
# ## See it work
#
# The same question with $D = 256$ and 36 random matrices:

# %%
# Given: 36 linear steps under three placements, by your own function.
from nanolm.notebook import experiment

experiment("forward-scale", globals())

# %% [markdown]
# Without a norm the mean square of the stream about doubles with every step. Pre-norm bounds what a step adds, so the growth is
# that of a sum. Post-norm sets the size anew each time, and pays for it elsewhere: if each of 32 norms on the stream
# multiplies the gradient by 0.9, then $0.9^{32} = 0.034$ of it reaches the first layer.

# %%
# Given: the gradient at the first layer, through your own blocks; every norm is a map with slope 0.9.
from nanolm.notebook import experiment

experiment("decay", globals())

# %% [markdown] question="placement 1"

# %% [markdown]
# ## What next
#
# Nothing was trained here, and scale going forward is no verdict on training. `10_block.ipynb` puts your pre-norm step
# round real attention. [The exercise's page](../../docs/exercises/placement.md) has a branch that erases its input,
# residual connection and all.
