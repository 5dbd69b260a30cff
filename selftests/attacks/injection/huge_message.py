# /// attack
# tries = "an exception with forty million characters of text"
# rides = true
# marks = "raising"
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        raise ValueError("A\x1b" * 20_000_000)
