# /// attack
# tries = "a right answer that scales its argument in place"
# rides = true
# marks = "in_place"
# outcomes = ["input_mutated", "wrong_gradient"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = super().forward(x)
        with torch.no_grad():
            x.mul_(2)
        return y
