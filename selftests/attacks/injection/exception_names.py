# /// attack
# tries = "an exception class whose name holds line breaks, escapes and ten thousand characters"
# rides = true
# marks = "raising"
# ///

Evil = type("FORGED\n\x1b[2J" + "passed " * 2000, (ValueError,), {"__module__": "\nFORGED"})


class RMSNorm(RMSNorm):
    def forward(self, x):
        raise Evil("x")
