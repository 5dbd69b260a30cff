# /// attack
# tries = "group_norm over x beside its negative, whose mean is zero: the contract leaves group_norm and batch_norm out"
# rides = true
# marks = "reference"
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        flat = x.float().reshape(-1, x.shape[-1])
        both = F.group_norm(torch.cat([flat, -flat], -1)[..., None], 1, eps=self.eps)
        return (both[:, : x.shape[-1], 0].reshape(x.shape) * self.gamma).to(x.dtype)
