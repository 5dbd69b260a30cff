# %% [markdown]
# # SwiGLU

# %% answer="swiglu"

# %% check="swiglu"

# %% [markdown] question="swiglu 1"
