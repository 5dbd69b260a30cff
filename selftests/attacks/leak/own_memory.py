# /// attack
# tries = "searches memory that it inherited from the zygote, and fresh memory, for secrets"
# outcomes = ["exception"]
# ///

import sys

import torch

told = []
for block in range(4):
    fresh = torch.empty(1 << 20, dtype=torch.uint8).numpy().tobytes()
    told += [b"canary" in fresh]
words = []
for module in list(sys.modules.values()):
    for value in list(getattr(module, "__dict__", {}).values()):
        if type(value) in (str, bytes) and b"canary" in (
            value if type(value) is bytes else value[:9999].encode("utf-8", "replace")
        ):
            words.append(value)
keys = [cls for cls in object.__subclasses__() if cls.__name__ in ("Settings", "Job", "Run", "GradingSession")]
raise ValueError(f"{sum(told)} {words} {keys}")
