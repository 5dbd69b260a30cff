# /// attack
# tries = "a right answer whose gain's name is bidirectional overrides, escapes and markup: it goes into a note"
# rides = true
# marks = "reference"
# outcomes = ["passed", "wrong_interface"]
# ///


class RMSNorm(nn.Module):
    NAME = "\u202e[red]\x1b[2J\nFORGED ::error::"

    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_parameter(self.NAME, nn.Parameter(torch.ones(d_model)))

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide * scale * getattr(self, self.NAME)).to(x.dtype)
