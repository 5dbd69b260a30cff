# /// attack
# tries = "asks for memory piece by piece until there is none, and keeps it"
# rides = true
# marks = "reference"
# seconds = 60
# outcomes = ["out_of_memory", "timeout"]
# ///

KEPT = []


class RMSNorm(RMSNorm):
    def forward(self, x):
        while x.dtype == torch.float16:
            KEPT.append(bytearray(256 << 20))
        return super().forward(x)
