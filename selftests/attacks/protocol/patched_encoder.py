# /// attack
# tries = "replaces the worker's encoder by one that sends another's frame"
# rides = true
# outcomes = ["crashed", "passed", "wrong_value", "exception"]
# marks = "zeros"
# ///

import grader.wire
import grader.worker
from nanolm.protocol import Reply

SEND = grader.wire.encode_reply


def encode_reply(reply, sequence):
    return SEND(Reply(tensors={name: value * 0 for name, value in reply.tensors.items()}), sequence) * 2


grader.worker.encode_reply = encode_reply
