# %% [markdown]
# # Counting a model's parameters

# %% answer="budget"

# %% check="budget"

# %% [markdown] question="budget 1"
