"""Activations and swiglu come back in float64 whatever they were given."""

from math import erf, isfinite, sqrt

import numpy as np


def rms_norm(x, gamma=None, eps=1e-6):
    """RMSNorm over the last axis."""
    if np.ndim(x) == 0 or np.shape(x)[-1] == 0:
        raise ValueError("nothing to normalize")
    if not np.isfinite(x).all():
        raise ValueError("x has nan or inf")
    if not isfinite(eps) or eps <= 0:
        raise ValueError("bad eps")
    d = x.shape[-1]
    if gamma is not None and np.shape(gamma) != (d,):
        raise ValueError("bad gamma")
    dtype = x.dtype
    acc = np.promote_types(dtype, np.float32)
    y = x.astype(acc)
    rms = np.sqrt(np.sum(np.square(y), axis=-1, keepdims=True) / d + eps)
    y = y / rms
    if gamma is not None:
        y = gamma * y
    return y.astype(dtype)


def layer_norm(x, gamma=None, beta=None, eps=1e-6):
    """LayerNorm over the last axis."""
    if np.ndim(x) == 0 or np.shape(x)[-1] == 0:
        raise ValueError("nothing to normalize")
    if not np.isfinite(x).all():
        raise ValueError("x has nan or inf")
    if not isfinite(eps) or eps <= 0:
        raise ValueError("bad eps")
    d = x.shape[-1]
    for w in (gamma, beta):
        if w is not None and np.shape(w) != (d,):
            raise ValueError("bad weight")
    dtype = x.dtype
    acc = np.promote_types(dtype, np.float32)
    y = x.astype(acc)
    mu = np.mean(y, axis=-1, keepdims=True)
    sigma2 = np.var(y, axis=-1, keepdims=True)
    y = (y - mu) / np.sqrt(sigma2 + eps)
    if gamma is not None:
        y = gamma * y
    if beta is not None:
        y = y + beta
    return y.astype(dtype)


def widen(values):
    return np.array(values, float)


def stable_sigmoid(x):
    wide = widen(x)
    decay = np.exp(-abs(wide))
    return np.where(wide < 0, decay, 1) / (1 + decay)


def silu(x):
    return stable_sigmoid(x) * widen(x)


def gelu(x):
    wide = widen(x)
    return 0.5 * wide * (1 + np.vectorize(erf)(wide / sqrt(2)))


def gelu_sigmoid(z):
    wide = widen(z)
    return wide * stable_sigmoid(1.702 * wide)


def swiglu(gate, up, *, alpha=1.0, gate_limit=None, up_limit=None, shift_up=0.0):
    if np.shape(gate) != np.shape(up):
        raise ValueError("shapes differ")
    if not np.isfinite(gate).all() or not np.isfinite(up).all():
        raise ValueError("nan or inf")
    for s in (alpha, shift_up, gate_limit, up_limit):
        if s is not None and not isfinite(s):
            raise ValueError("nan or inf")
    g = gate
    if gate_limit is not None:
        if gate_limit <= 0:
            raise ValueError("bad limit")
        g = np.where(g > gate_limit, gate_limit, g)
    u = up
    if up_limit is not None:
        if up_limit <= 0:
            raise ValueError("bad limit")
        u = np.minimum(np.maximum(u, -up_limit), up_limit)
    sig = stable_sigmoid(alpha * g)
    return g * sig * (u + shift_up)


def swiglu_mlp(x, w_gate, w_up, w_down):
    gate = np.matmul(x, w_gate)
    up = np.matmul(x, w_up)
    hidden = silu(gate) * up
    return np.matmul(hidden, w_down)
