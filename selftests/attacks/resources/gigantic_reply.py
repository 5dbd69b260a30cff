# /// attack
# tries = "returns a billion numbers that take four bytes of memory"
# rides = true
# marks = "raising"
# outcomes = ["out_of_memory"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        return torch.zeros(1, dtype=x.dtype).expand(1 << 30)
