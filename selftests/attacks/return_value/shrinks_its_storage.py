# /// attack
# tries = "returns a tensor whose storage is made smaller afterwards, so that reading it leaves its memory"
# rides = true
# marks = "raising"
# outcomes = ["crashed", "wrong_value", "wrong_interface", "wrong_gradient"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = torch.zeros(1 << 16).as_strided(x.shape, x.stride())
        y.untyped_storage().resize_(0)
        return y
