# /// attack
# tries = "gives its argument another storage, dtype and size"
# rides = true
# marks = "in_place"
# outcomes = ["input_mutated", "wrong_gradient"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = super().forward(x).clone()
        x.data = torch.zeros(1, dtype=torch.float64)
        return y
