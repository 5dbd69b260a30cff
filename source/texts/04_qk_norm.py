# %% [markdown]
# # Keeping attention scores in bounds

# %% answer="qk_norm"

# %% check="qk_norm"

# %% [markdown] question="qk_norm 1"
