# /// attack
# tries = "a table of answers to the inputs that are the same in every round, zeros for all others"
# rides = true
# marks = "zeros"
# outcomes = ["passed", "wrong_value", "wrong_gradient"]
# ///

KNOWN = [torch.tensor([2.0, -1.0, 3.0, 0.0]), torch.tensor([1e-3, -1e-3, 1e-3, -1e-3])]
TABLE = {tuple(x.tolist()): x / (x.square().mean() + 1e-6).sqrt() for x in KNOWN}


class RMSNorm(RMSNorm):
    def forward(self, x):
        rows = [TABLE.get(tuple(row.tolist()), row * 0) for row in x.float().reshape(-1, x.shape[-1])]
        return (torch.stack(rows).reshape(x.shape) * self.gamma).to(x.dtype)
