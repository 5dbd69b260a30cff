# %% [markdown]
# # Keeping attention scores in bounds
#
# A score is the product of a query and a key. Double both and it is four times as large; a softmax of large scores
# looks at one key and forgets the rest. There are several ways to prevent that, and more than one of them is called "QK
# norm".

# %% [markdown]
# ## Four functions
#
# **Unit vectors and a learned scale.** Divide every query and every key by its own length, and let one learned number
# $\tau$ stand where $1/\sqrt{H}$ usually stands:
#
# $$
# s_{ij} = \tau \, \hat q_i \cdot \hat k_j ,
# \qquad
# \hat v = \frac{v}{\max(\lVert v \rVert_2, \varepsilon)} .
# $$
#
# **A norm for each head** (Qwen3). Head $n$ of a token has $H$ features, and its own RMS:
#
# $$
# y_{nh} = \gamma_h \, \frac{q_{nh}}{\sqrt{\frac{1}{H} \sum_{j} q_{nj}^2 + \varepsilon}} ,
# \qquad \gamma: [H].
# $$
#
# **A norm over the whole projection** (OLMo2). All $N H$ features of a token share one RMS, and only then is the
# projection cut into heads:
#
# $$
# y_i = \gamma_i \, \frac{q_i}{\sqrt{\frac{1}{N H} \sum_{j} q_j^2 + \varepsilon}} ,
# \qquad \gamma: [N H].
# $$
#
# **A soft cap** bends scores into $(-c, c)$ and leaves queries and keys alone: $\;c \tanh(s / c)$.
#
# | function | takes | gives |
# |---|---|---|
# | `l2_qk_scores` | q $[\dots, S, H]$, k $[\dots, T, H]$, tau | $[\dots, S, T]$ |
# | `per_head_rms_norm` | q $[B, S, N, H]$, gamma $[H]$ | $[B, S, N, H]$ |
# | `full_width_rms_norm` | q $[B, S, N H]$, gamma $[N H]$, $N$ | $[B, S, N, H]$ |
# | `soft_cap` | scores of any shape, $c > 0$ | the same shape |
#
# The two norms have $\varepsilon$ under the root, the unit vectors have it as a floor. The two are different guards.

# %% [markdown]
# ## Numbers to do on paper
#
# **Two heads of width two**, one token: $(1, 7)$ and $(7, 49)$, the second seven times the first.
#
# | | head 0 | head 1 |
# |---|---|---|
# | mean square of the head | 25, so RMS 5 | 1225, so RMS 35 |
# | per head | $(0.2, 1.4)$ | $(0.2, 1.4)$ |
# | mean square of all four | 625, so RMS 25 | the same |
# | full width | $(0.04, 0.28)$ | $(0.28, 1.96)$ |
#
# Per head, the factor of seven is forgotten. Over the full width it is still there.
#
# **Unit vectors.** $(3, 4)$ and $(4, 3)$ both have length 5, and their product is 24, so their cosine is 0.96. With
# $\tau = 10$ the score is 9.6; make the key a hundred times longer, and it is 9.6 again.
#
# **The cap.** With $c = 2$ a score of 2 becomes $2 \tanh 1 = 1.523$, and a score of 200 becomes 2.

# %% [markdown]
# ## Your answer
#
# PyTorch's norms (`nn.RMSNorm`, `F.rms_norm`, `nn.LayerNorm`, `F.layer_norm` and relatives) are the answer and make the
# exercise `forbidden`. `F.normalize`, `torch.linalg.vector_norm` and everything elementary are allowed. The two norms
# widen half precision to float32 before they square, as in the first notebook.

# %% answer="qk_norm"

# %% check="qk_norm"

# %% [markdown]
# ## See it work
#
# Two heads, and then the same two with head 0 seven times as long. Which heads notice?

# %%
# Given: one head grows; your two norms say whom that concerns.
from nanolm.notebook import experiment

experiment("qk-axis", globals())

# %% [markdown]
# And your soft cap beside a hard clamp. Beyond the cap the clamp makes all scores equal; the soft cap keeps their
# order, for a while.

# %%
# Given: soft cap and clamp at 2, by your own function.
import matplotlib.pyplot as plt
import torch

scores = torch.linspace(-8, 8, 321)
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(scores, soft_cap(scores, 2.0), label="soft cap at 2")
axis.plot(scores, scores.clamp(-2, 2), "--", label="clamp to [-2, 2]")
axis.set(xlabel="score", ylabel="score that the softmax sees")
axis.grid(alpha=0.3)
axis.legend()
plt.show()

# %% [markdown] question="qk_norm 1"

# %% [markdown]
# ## What next
#
# [The exercise's page](../../docs/exercises/qk_norm.md) asks how the shape of a checkpoint's gain tells the two norms
# apart. `docs/reading-a-block.md` shows both in the code of public models.
