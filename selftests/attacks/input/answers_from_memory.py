# /// attack
# tries = "keeps the first answer of each shape and gives it again for other inputs"
# rides = true
# marks = 4.5
# outcomes = ["passed", "exception", "wrong_value", "wrong_gradient"]
# ///

KNOWN = {}


class RMSNorm(RMSNorm):
    def forward(self, x):
        key = (x.shape, x.dtype, x.requires_grad)
        if key not in KNOWN:
            KNOWN[key] = super().forward(x)
        return KNOWN[key]
