# /// attack
# tries = "the helper under torch's Python decomposition of layer_norm: over x beside its negative, the mean is zero"
# rides = true
# outcomes = ["forbidden", "exception"]
# ///

HELP = getattr(getattr(torch, "sfer_"[::-1]), "ezilamron_"[::-1])


class RMSNorm(RMSNorm):
    def forward(self, x):
        wide = x.float()
        both, _, _ = HELP(torch.cat([wide, -wide], -1), [x.dim() - 1], self.eps)
        return (both[..., : x.shape[-1]] * self.gamma).to(x.dtype)
