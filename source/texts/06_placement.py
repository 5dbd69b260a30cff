# %% [markdown]
# # Where the norms stand

# %% answer="placement"

# %% check="placement"

# %% [markdown] question="placement 1"
