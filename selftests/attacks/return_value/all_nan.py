# /// attack
# tries = "returns NaN everywhere, which no careless comparison finds different"
# rides = true
# marks = "zeros"
# outcomes = ["not_finite", "wrong_gradient", "wrong_value"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        return torch.full_like(x, float("nan")) * self.gamma.to(x.dtype)
