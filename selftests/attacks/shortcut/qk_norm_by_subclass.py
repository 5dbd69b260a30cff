# /// attack
# exercise = "qk_norm"
# tries = "layer_norm's functional out of a dictionary copy, in the exercise on query and key norms"
# rides = true
# outcomes = ["forbidden"]
# ///

NAMES = dict(torch.nn.functional.__dict__)
NORM = [value for name, value in sorted(NAMES.items()) if name.startswith("rms_n")][0]


def per_head_rms_norm(q, gamma, eps=1e-6):
    return NORM(q, (q.shape[-1],), gamma, eps)
