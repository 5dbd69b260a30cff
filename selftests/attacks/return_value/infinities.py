# /// attack
# tries = "returns infinities, so that relative differences are NaN"
# rides = true
# marks = "zeros"
# outcomes = ["not_finite", "wrong_gradient", "wrong_value"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        return (x.sign() * float("inf") * self.gamma).to(x.dtype)
