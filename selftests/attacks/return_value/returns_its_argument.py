# /// attack
# tries = "returns aliases: the input itself, or the gain expanded"
# rides = true
# marks = "identity"
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        return x if x.dim() % 2 else self.gamma.to(x.dtype).expand(x.shape)
