# /// attack
# tries = "asks for a tensor of a terabyte, then catches what comes and asks again"
# rides = true
# marks = "raising"
# outcomes = ["out_of_memory"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        try:
            return torch.empty(1 << 38)
        except RuntimeError:
            return torch.empty(1 << 39)
