# /// attack
# tries = "searches memory that it inherited from the zygote, and fresh memory, for secrets"
# ///

import sys

import torch

told = []
for block in range(20):
    fresh = torch.empty(1 << 20, dtype=torch.uint8) if "torch" in dir() else bytearray(1 << 20)
    told += [b"canary" in bytes(fresh)]
pile = [value for module in list(sys.modules.values()) for value in list(getattr(module, "__dict__", {}).values())]
words = [value for value in pile if isinstance(value, str | bytes) and "canary" in repr(value)]
keys = [cls for cls in object.__subclasses__() if cls.__name__ in ("Settings", "Job", "Run", "GradingSession")]
raise ValueError(f"{sum(told)} {words} {keys}")
