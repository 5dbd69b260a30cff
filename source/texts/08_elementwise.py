# %% [markdown]
# # Curves in the place of a norm

# %% answer="elementwise"

# %% check="elementwise"

# %% [markdown] question="elementwise 1"
