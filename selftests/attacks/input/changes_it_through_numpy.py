# /// attack
# tries = "zeroes its argument through a NumPy view, which autograd does not see"
# rides = true
# marks = "in_place"
# outcomes = ["input_mutated", "wrong_gradient"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = super().forward(x).clone()
        if x.dtype != torch.bfloat16:
            x.detach().numpy()[...] = 0
        return y
