# %% [markdown]
# # The parts in NumPy

# %% answer="numpy_bridge"

# %% check="numpy_bridge"

# %% [markdown] question="numpy_bridge 1"
