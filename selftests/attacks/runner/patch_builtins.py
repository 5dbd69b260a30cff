# /// attack
# tries = "replaces builtins that a comparison might use: abs, all, any, max, isinstance"
# rides = true
# marks = "identity"
# outcomes = ["crashed", "exception", "passed", "wrong_interface"]
# ///

import builtins

builtins.abs = lambda value: 0
builtins.max = lambda *a, **k: 0
builtins.all = builtins.any = lambda values: True
builtins.isinstance = lambda value, cls: True


class RMSNorm(RMSNorm):
    def forward(self, x):
        return x
