# %% [markdown]
# # Several residual streams

# %% answer="mhc"

# %% check="mhc"

# %% [markdown] question="mhc 1"
