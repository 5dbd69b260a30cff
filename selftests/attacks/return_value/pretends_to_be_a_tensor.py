# /// attack
# tries = "returns no tensor at all, but an object whose __class__ says so"
# rides = true
# marks = "raising"
# outcomes = ["wrong_interface", "exception", "wrong_shape"]
# ///


class Pretender:
    __class__ = property(lambda self: Tensor)
    layout, is_meta, is_quantized, requires_grad, dtype = torch.strided, False, False, True, torch.float32

    def __getattr__(self, name):
        return lambda *a, **k: self


class RMSNorm(RMSNorm):
    def forward(self, x):
        return Pretender()
