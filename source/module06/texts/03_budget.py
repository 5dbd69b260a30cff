# %% [markdown]
# # Counting a model's parameters
#
# How many parameters has Llama-3.1-8B, to the last one? The answer is a short sum, and every term of it says something
# about how the model is built.

# %% [markdown]
# ## How wide is a gated FFN?
#
# An ordinary FFN of width $4D$ has two matrices, so it costs $2 \cdot D \cdot 4D = 8D^2$. A gated one has three, and
# costs $3DF$. Setting the two equal gives
#
# $$
# F = \frac{8D}{3},
# $$
#
# and since hardware likes round numbers, $F$ is the *smallest multiple of* $m$ *that is not below* $8D/3$:
#
# $$
# F = m \left\lceil \frac{8D}{3m} \right\rceil .
# $$
#
# For $D = 4096$ and $m = 256$: $8D/3 = 10922.67$, which is 42.67 times 256. The next whole multiple is the 43rd, 11008.
#
# Everything here is in whole numbers. Floats skip whole numbers above $2^{53}$, and rounding twice (first to an
# integer, then to a multiple) is wrong even where they do not.

# %% [markdown]
# ## The ledger
#
# $V$ vocabulary, $D$ model width, $L$ layers, $N$ query heads, $K$ key/value heads of width $H$, $F$ FFN width. No map
# has a bias.
#
# | part | parameters | in Llama-3.1-8B |
# |---|---|---|
# | queries, and the output map | $2 \cdot D \cdot N H$ | 33,554,432 |
# | keys and values | $2 \cdot D \cdot K H$ | 8,388,608 |
# | gated FFN | $3 \cdot D \cdot F$ | 176,160,768 |
# | two norms of a block | $2 \cdot D$ | 8,192 |
# | **one block** | | **218,112,000** |
# | embedding and output head | $V \cdot D$ each, or once where they are tied | 1,050,673,152 |
# | the last norm | $D$ | 4,096 |
# | **model** | $L$ blocks and the rest | **8,030,261,248** |
#
# $H$ is a size of its own: $N H$ is often $D$, and need not be. Sharing keys and values among $G = N / K$ query heads
# makes two of the four maps smaller, and leaves the other two alone.

# %% [markdown]
# ## Your answer
#
# There is nothing to avoid here: it is arithmetic. Sizes that are 0, negative or floats (4096.0 too) are a
# `ValueError`, and so is an $N$ that is no multiple of $K$. `ModelConfig` is given, and it checks nothing by itself.

# %% answer="budget"

# %% check="budget"

# %% [markdown]
# ## See it work
#
# The model above, counted by your functions:

# %%
# Given: Llama-3.1-8B to the last parameter, by your own functions.
from nanolm.notebook import experiment

experiment("ledger", globals())

# %% [markdown]
# Its own $F$ is $3.5 D = 14336$, more than the 11008 of an equal budget. The FFN has four fifths of a block, and the
# two embeddings an eighth of the model. In GPT-2 small one such matrix is 38.6 of 124.4 million, almost a third: small
# models tie theirs for a reason.

# %% [markdown] question="budget 1"

# %% [markdown]
# ## What next
#
# `10_block.ipynb` builds a block and lets PyTorch count it: the two counts have to agree.
# [The exercise's page](../../docs/exercises/budget.md) has a model so small that its ledger fits on one line.
