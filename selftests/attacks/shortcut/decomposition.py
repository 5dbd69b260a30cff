# /// attack
# tries = "torch's own decomposition of the operator, found in its table"
# rides = true
# outcomes = ["forbidden"]
# ///

TABLE = getattr(torch, "pmoced_"[::-1]).decomposition_table
NORM = [TABLE[op] for op in TABLE if str(op) == "aten._fused_rms" + "_norm.default"][0]


class RMSNorm(RMSNorm):
    def forward(self, x):
        return NORM(x, (x.shape[-1],), self.gamma, self.eps)[0]
