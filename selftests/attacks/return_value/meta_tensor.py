# /// attack
# tries = "returns a tensor on the meta device: a shape and no numbers"
# rides = true
# marks = "raising"
# outcomes = ["wrong_interface", "exception", "wrong_shape"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        return super().forward(x).to("meta")
