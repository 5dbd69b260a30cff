# %% [markdown]
# # A block out of your own parts
