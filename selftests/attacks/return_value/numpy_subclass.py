# /// attack
# exercise = "numpy_bridge"
# tries = "returns ndarray subclasses and object arrays that equal everything"
# outcomes = ["wrong_value", "wrong_interface", "wrong_error", "passed", "wrong_dtype", "exception", "wrong_shape"]
# marks = 0
# ///

import numpy as np


class Equal(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return True

    def __array_function__(self, func, types, args, kwargs):
        return True

    dtype = property(lambda self: np.dtype("float32"))


def give(x, *arguments, **named):
    return np.asarray(np.zeros(3, dtype=object)).view(Equal)


rms_norm = layer_norm = stable_sigmoid = silu = gelu = gelu_sigmoid = swiglu = swiglu_mlp = give
