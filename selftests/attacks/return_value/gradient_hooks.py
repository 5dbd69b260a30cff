# /// attack
# tries = "zeros whose gradient is whatever a hook says, with a backward that raises"
# rides = true
# marks = "zeros"
# outcomes = ["not_finite", "wrong_gradient", "wrong_value"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = torch.zeros_like(x, requires_grad=True) + 0 * x * self.gamma.to(x.dtype)
        if y.requires_grad:
            y.register_hook(lambda gradient: torch.full_like(gradient, float("nan")))
        return y
