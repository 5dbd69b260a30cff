# /// attack
# tries = "returns a subclass that lies about its type, dtype, shape, layout and numbers, and keeps itself on conversion"
# rides = true
# marks = "raising"
# outcomes = ["wrong_interface", "exception", "wrong_shape"]
# ///


class Liar(Tensor):
    dtype = property(lambda self: torch.float32)
    shape = property(lambda self: torch.Size([2, 3, 5]))
    __class__ = property(lambda self: Tensor)

    def as_subclass(self, cls):
        return self

    def detach(self):
        return self

    def numpy(self, *a, **k):
        raise SystemExit(0)


class RMSNorm(RMSNorm):
    def forward(self, x):
        return torch.zeros(1, dtype=torch.int64).as_subclass(Liar)
