# /// attack
# tries = "the answer's operator under a name put together as the code runs"
# rides = true
# outcomes = ["forbidden"]
# ///

NORM = getattr(F, "_".join(["rms", "norm"]))


class RMSNorm(RMSNorm):
    def forward(self, x):
        return NORM(x, (x.shape[-1],), self.gamma, self.eps)
