"""Clamps the gate after the sigmoid has weighted it.

Why people make it: it is the output of an activation that is feared to grow.
"""

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[float])


def _check_norm(x, eps, *params):
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError("last axis is empty")
    if not np.all(np.isfinite(x)):
        raise ValueError("x must be finite")
    if not np.isfinite(eps) or eps <= 0:
        raise ValueError("eps is not a positive number")
    for p in params:
        if p is not None and p.shape != (x.shape[-1],):
            raise ValueError("wrong parameter shape")


def _work(x):
    return x.astype(np.float32) if x.dtype == np.float16 else x


def rms_norm(x, gamma=None, eps=1e-6):
    x = np.asarray(x)
    _check_norm(x, eps, gamma)
    h = _work(x)
    ms = np.mean(h**2, axis=-1, keepdims=True)
    out = h / np.sqrt(ms + eps)
    if gamma is not None:
        out = out * gamma
    return out.astype(x.dtype)


def layer_norm(x, gamma=None, beta=None, eps=1e-6):
    x = np.asarray(x)
    _check_norm(x, eps, gamma, beta)
    h = _work(x)
    mean = h.mean(axis=-1, keepdims=True)
    var = np.mean((h - mean) ** 2, axis=-1, keepdims=True)
    out = (h - mean) / np.sqrt(var + eps)
    if gamma is not None:
        out = out * gamma
    if beta is not None:
        out = out + beta
    return out.astype(x.dtype)


def stable_sigmoid(z):
    z = np.asarray(z)
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1 / (1 + e), e / (1 + e))


def silu(z):
    return z * stable_sigmoid(z)


def gelu(z):
    z = np.asarray(z)
    phi = 0.5 * (1 + _erf(z / np.sqrt(2)))
    return (z * phi).astype(z.dtype)


def gelu_sigmoid(z):
    return z * stable_sigmoid(1.702 * z)


def swiglu(gate, up, *, alpha=1.0, gate_limit=None, up_limit=None, shift_up=0.0):
    gate, up = np.asarray(gate), np.asarray(up)
    if gate.shape != up.shape:
        raise ValueError("gate and up differ in shape")
    if not (np.isfinite(gate).all() and np.isfinite(up).all()):
        raise ValueError("there is a NaN or an infinity in gate or up")
    if not (np.isfinite(alpha) and np.isfinite(shift_up)):
        raise ValueError("alpha or shift_up is not a number")
    for limit in (gate_limit, up_limit):
        if limit is not None and (not np.isfinite(limit) or limit <= 0):
            raise ValueError("a limit is not a positive number")
    if up_limit is not None:
        up = np.clip(up, -up_limit, up_limit)
    act = gate * stable_sigmoid(alpha * gate)
    if gate_limit is not None:
        act = np.minimum(act, gate_limit)
    return act * (up + shift_up)


def swiglu_mlp(x, w_gate, w_up, w_down):
    return swiglu(x @ w_gate, x @ w_up) @ w_down
