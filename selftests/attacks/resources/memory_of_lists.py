# /// attack
# tries = "asks for memory piece by piece until there is none, and keeps it"
# rides = true
# marks = "raising"
# seconds = 30
# ///

KEPT = []


class RMSNorm(RMSNorm):
    def forward(self, x):
        while True:
            KEPT.append(bytearray(256 << 20))
