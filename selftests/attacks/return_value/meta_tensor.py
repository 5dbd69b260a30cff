# /// attack
# tries = "returns a tensor on the meta device: a shape and no numbers"
# rides = true
# marks = "raising"
# ///

class RMSNorm(RMSNorm):
    def forward(self, x):
        return super().forward(x).to("meta")
