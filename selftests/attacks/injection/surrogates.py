# /// attack
# tries = "lone surrogates, NULs and noncharacters that no encoder takes"
# rides = true
# marks = "raising"
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        raise ValueError("\ud800\udfff\x00\ufffe\uffff\U0010ffff" * 50)
