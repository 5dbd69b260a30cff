# /// attack
# tries = "returns infinities, so that relative differences are NaN"
# rides = true
# marks = "zeros"
# ///

class RMSNorm(RMSNorm):
    def forward(self, x):
        return (x.sign() * float("inf") * self.gamma).to(x.dtype)
