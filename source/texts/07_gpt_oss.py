# %% [markdown]
# # The activation of gpt-oss

# %% answer="gpt_oss"

# %% check="gpt_oss"

# %% [markdown] question="gpt_oss 1"
