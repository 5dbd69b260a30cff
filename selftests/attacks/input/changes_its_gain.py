# /// attack
# tries = "multiplies the gain that it was given, in place, at every call"
# rides = true
# marks = "reference"
# outcomes = ["wrong_gradient"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = super().forward(x).clone()
        with torch.no_grad():
            self.gamma.data.mul_(3)
        return y
