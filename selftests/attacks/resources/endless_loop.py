# /// attack
# tries = "a right answer that never comes back from half precision"
# rides = true
# marks = "reference"
# seconds = 30
# outcomes = ["timeout"]
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        while x.dtype == torch.float16:
            pass
        return super().forward(x)
