# %% [markdown]
# # Several residual streams
#
# A block usually has one residual stream, and every layer adds to it. Hyper-connections keep $n$ of them: a layer reads
# a blend, writes its result to all of them, and between layers the streams are mixed. mHC is the constraint that keeps
# this mixing from growing with depth.

# %% [markdown]
# ## One step
#
# The streams of a token are the rows of $X$: $[n, D]$. A layer $f$ works at width $D$, as ever. Three weights surround
# it: $R$: $[n, n]$ mixes, $r$: $[n]$ reads, $w$: $[n]$ writes.
#
# $$
# X' \;=\; R X \;+\; w \otimes f\bigl(r^{\mathsf T} X\bigr),
# \qquad
# (R X)_i = \sum_j R_{ij} X_j .
# $$
#
# $R_{ij}$ says how much of *old* stream $j$ goes into *new* stream $i$; read the other way round, it is another matrix.
# The layer is called once, on the blend; $w_i$ is the share of its result that stream $i$ gets.
#
# | what | shape |
# |---|---|
# | $X$, $X'$ | $[\dots, n, D]$ |
# | $R$ and its logits | $[n, n]$ |
# | read, write and their logits | $[n]$ |
# | the branch $f$ | $[\dots, D]$ to $[\dots, D]$, called once |

# %% [markdown]
# ## Why the mixing is constrained
#
# The matrices of all layers multiply. With $R = \begin{pmatrix}1 & 0.3\\ 0.3 & 1\end{pmatrix}$ two streams of ones become
# 1.3 after one layer, and $1.3^{32} = 4428$ after 32. If instead every row and every column of $R$ sums to 1 (a *doubly
# stochastic* matrix), each new stream is an average of old ones, and the sum of the streams stays what it was.
#
# **Sinkhorn's iteration** makes such a matrix out of any logits $A$. Start from $M = \exp(A)$, entry by entry. Then,
# again and again: divide every column by its sum, and after that every row by its sum.
#
# $$
# M_{ij} \leftarrow \frac{M_{ij}}{\sum_k M_{kj}}
# \qquad\text{then}\qquad
# M_{ij} \leftarrow \frac{M_{ij}}{\sum_k M_{ik}}
# $$
#
# Rows come last, so after any number of iterations the rows are exact and the columns nearly so.

# %% [markdown]
# ## Numbers to do on paper
#
# **One iteration** from the entries $\begin{pmatrix}3 & 1\\ 1 & 1\end{pmatrix}$ (their logits are $\log 3$ and 0). The
# columns sum to 4 and 2:
#
# $$
# \begin{pmatrix}0.75 & 0.5\\ 0.25 & 0.5\end{pmatrix}
# \quad\text{has row sums } 1.25 \text{ and } 0.75,\quad\text{so}\quad
# \begin{pmatrix}0.6 & 0.4\\ 1/3 & 2/3\end{pmatrix}.
# $$
#
# The rows are exact now; the columns sum to 0.933 and 1.067.
#
# **A mix.** $\begin{pmatrix}0.75 & 0.25\\ 0.25 & 0.75\end{pmatrix}$ turns streams 2 and 6 into 3 and 5. The sum, 8, is
# kept. Neither 2 nor 6 survives.
#
# **Far apart.** Logits may lie at $\pm 10^4$, and $e^{10000}$ is infinite in every float. The logarithm of a sum of
# exponentials can be computed without the exponentials ever getting large: stay with logarithms until the end.

# %% [markdown]
# ## Your answer
#
# `torch.logsumexp` is allowed, and so is everything elementary. A matrix in a batch must not feel its neighbours. In
# `mhc_step` the mixing weights are the Sinkhorn projection of their logits, the read and write weights the sigmoids of
# theirs.

# %% answer="mhc"

# %% check="mhc"

# %% [markdown]
# ## See it work
#
# How many iterations does it take until the columns sum to 1 as well?

# %%
# Given: row and column sums after so many iterations of your own function.
from nanolm.notebook import experiment

experiment("sinkhorn", globals())

# %% [markdown]
# And depth: two streams through 32 layers of mixing, first with the free matrix, then with a doubly stochastic one.

# %%
# Given: 32 layers without branches, mixed by your own function.
from nanolm.notebook import experiment

experiment("two-streams", globals())

# %% [markdown]
# The second one does not grow. Look at what else it does to the two streams: that is the next question.

# %% [markdown] question="mhc 3"

# %% [markdown]
# ## What next
#
# Here the weights are parameters; in a complete mHC layer they depend on the streams.
# [The exercise's page](../../docs/exercises/mhc.md) says what the constraint bounds and what it does not.
