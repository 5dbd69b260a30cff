# %% [markdown]
# # RMSNorm

# %% answer="rmsnorm"

# %% check="rmsnorm"

# %% [markdown] question="rmsnorm 1"
