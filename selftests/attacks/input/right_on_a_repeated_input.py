# /// attack
# tries = "right only for an input that has been seen before, in this process or in its folder's files"
# rides = true
# marks = 3
# outcomes = ["passed", "exception", "wrong_value", "wrong_gradient"]
# ///

import pathlib

SEEN = set()


class RMSNorm(RMSNorm):
    def forward(self, x):
        key = str(hash((tuple(x.shape), *x.detach().double().flatten().tolist())))
        mark = pathlib.Path(f"seen-{key}")
        again = key in SEEN or mark.exists()
        SEEN.add(key)
        mark.touch()
        return super().forward(x) if again else x
