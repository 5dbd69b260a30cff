# /// attack
# tries = "the operator through TorchScript's static runtime, which calls kernels without the dispatcher"
# rides = true
# outcomes = ["forbidden", "exception", "crashed", "passed"]
# marks = 3
# ///

UNIT = getattr(torch.jit, "tinUnoitalipmoC"[::-1])(
    "def forward(x: Tensor):\n    s = [x.size(-1)]\n    return torch.layer" + "_norm(x, s, None, None, 1e-6)\n"
)
C = getattr(torch, "C_"[::-1])
STATIC = getattr(C, "eludom_citats_ot_tij_"[::-1])(UNIT.forward.graph)


class RMSNorm(RMSNorm):
    def forward(self, x):
        wide = x.detach().float()
        both = STATIC(torch.cat([wide, -wide], -1))
        both = both[0] if isinstance(both, list | tuple) else both
        return (both[..., : x.shape[-1]] * self.gamma).to(x.dtype)
