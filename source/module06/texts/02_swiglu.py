# %% [markdown]
# # SwiGLU: a feed-forward network with a gate
#
# An ordinary feed-forward network maps a token up to a larger width, bends it, and maps it down again. The one in most
# models of today has two maps up. One of them decides how much of the other gets through.

# %% [markdown]
# ## The idea
#
# The *up* branch carries values, the *gate* branch says what becomes of them. The gate is bent by SiLU, the up branch
# stays linear, and the two are multiplied channel by channel. A third map brings the product back to width $D$.
#
# With tokens as rows, $W_{\mathrm{gate}}, W_{\mathrm{up}}: [D, F]$ and $W_{\mathrm{down}}: [F, D]$:
#
# $$
# y = \bigl(\,\mathrm{SiLU}(x W_{\mathrm{gate}}) \odot x W_{\mathrm{up}}\bigr)\, W_{\mathrm{down}}
# \qquad\qquad
# \mathrm{SiLU}(z) = z \, \sigma(z) = \frac{z}{1 + e^{-z}}
# $$
#
# | what | shape |
# |---|---|
# | $x$ and $y$ | $[\dots, D]$ |
# | the two branches and their product | $[\dots, F]$ |
# | `w_gate.weight`, `w_up.weight` | $[F, D]$: `nn.Linear` stores the transpose |
# | `w_down.weight` | $[D, F]$ |
#
# None of the three maps has a bias, and `nn.Linear` has one unless it is told otherwise. $F$ is used as it is given;
# how it should be chosen is the next notebook. Elsewhere the matrices are called w1, w2 and w3, in different orders;
# here the three names decide.

# %% [markdown]
# ## A number to do on paper
#
# Two channels. The up branch holds 3 in both. The gate holds 2 in the first and -2 in the second.
#
# | gate $z$ | $\sigma(z)$ | $\mathrm{SiLU}(z)$ | times 3 |
# |---|---|---|---|
# | 2 | 0.881 | 1.76 | 5.28 |
# | -2 | 0.119 | -0.24 | -0.72 |
#
# Two equal values went in; one leaves as 5.28, the other smaller and with its sign turned. So a gate is more than a tap
# between shut and open: the curve below goes above 1 and below 0.

# %%
# Given: SiLU beside the sigmoid that is inside it.
import matplotlib.pyplot as plt
import torch

z = torch.linspace(-6, 6, 241)
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(z, z * torch.sigmoid(z), label="SiLU(z)")
axis.plot(z, torch.sigmoid(z), "--", label="σ(z)")
axis.set(xlabel="gate z", title="What becomes of a channel whose up value is 1")
axis.grid(alpha=0.3)
axis.legend()
plt.show()

# %% [markdown]
# ## A trap in the gradient
#
# $z / (1 + e^{-z})$ is right on paper. At $z = -100$ in float32 the exponential is infinite, and the *value* comes out
# as 0 all the same, so nobody notices. The gradient does: it is NaN. Value and gradient have to stay finite for every
# $|z| \le 10^4$.

# %%
# Given: the formula as it stands on paper, at z = -100.
import torch

z = torch.tensor([-100.0], requires_grad=True)
value = z / (1 + torch.exp(-z))
value.sum().backward()
print("value", value.detach(), "gradient", z.grad)

# %% [markdown]
# ## Your answer
#
# `nn.Linear`, `F.silu`, `torch.sigmoid` and everything elementary are allowed. (The norms of PyTorch are not, in this
# file's other exercise; here you need none.)

# %% answer="swiglu"

# %% check="swiglu"

# %% [markdown]
# ## See it work
#
# The two channels of the table, through your own class: the maps are set to the identity, so that the branches are what
# the table says.

# %%
# Given: the worked number. Each branch sees its own half of x, and w_down adds nothing of its own.
import torch

ffn = SwiGLU(4, 2)
with torch.no_grad():
    ffn.w_gate.weight.copy_(torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]]))
    ffn.w_up.weight.copy_(torch.tensor([[0.0, 0, 1, 0], [0, 0, 0, 1]]))
    ffn.w_down.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [0, 0], [0, 0]]))
    print(ffn(torch.tensor([2.0, -2.0, 3.0, 3.0])))

# %% [markdown] question="swiglu 2"

# %% [markdown]
# ## What next
#
# `07_gpt_oss.ipynb` takes a gated network of a real model apart, with clamps and a shift. [The exercise's
# page](../../docs/exercises/swiglu.md) has four more questions of this kind.
