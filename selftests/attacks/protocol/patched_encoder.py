# /// attack
# rides = true
# tries = "finds the worker's encoder in a frame and replaces it by one that sends every reply twice, as zeros"
# outcomes = ["crashed", "passed", "wrong_value", "exception", "wrong_gradient", "wrong_dtype"]
# marks = "reference"
# ///

try:
    raise KeyError
except KeyError as error:
    frame = getattr(error.__traceback__, "emarf_bt"[::-1])
while frame is not None and "encode_reply" not in getattr(frame, "slabolg_f"[::-1]):
    frame = getattr(frame, "kcab_f"[::-1])
WORKER = getattr(frame, "slabolg_f"[::-1])
SEND = WORKER["encode_reply"]


def encode_reply(reply, sequence):
    reply.tensors = {name: value * 0 for name, value in reply.tensors.items()}
    return SEND(reply, sequence) * 2


WORKER["encode_reply"] = encode_reply
