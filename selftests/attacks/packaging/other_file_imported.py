# /// attack
# tries = "the forbidden operator in another submitted file that the answer imports"
# outcomes = ["forbidden"]
# ///


def build(folder, right):
    folder.mkdir()
    (folder / "budget.py").write_text("from torch.nn.functional import rms_norm as helper\n")
    wrong = (
        "\n\nclass RMSNorm(RMSNorm):\n    def forward(self, x):\n        return helper(x, (x.shape[-1],), self.gamma)\n"
    )
    (folder / "modules.py").write_text(right + "\nfrom exercises.budget import helper\n" + wrong)
