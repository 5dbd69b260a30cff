"""Independent references of `block.py`: NumPy float64, small programs on a stack instead of nested calls.

A program is a row of words. `keep` puts another copy of the top on the stack, `add` takes the two uppermost and puts
back their sum, and any other word is a callable that replaces the top by what it returns. The same program, read from
its end, gives the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tests.oracles import Array

PROGRAMS = {
    "pre_norm_step": "keep norm1 attn add keep norm2 ffn add",
    "post_norm_step": "keep attn add norm1 keep ffn add norm2",
    "peri_norm_step": "keep in1 attn out1 add keep in2 ffn out2 add",
    "output_norm_step": "keep attn out1 add keep ffn out2 add",
}
SCALE_UNIT = 1e-12
"""The smallest RMS that a unit stream is divided by."""


def callables(step: str) -> list[str]:
    """The callables of a step, each once."""
    return sorted(set(PROGRAMS[step].split()) - {"keep", "add"})


def curved(numbers: Mapping[str, Array], name: str) -> Callable[[Array], Array]:
    """The stand-in of that name: tanh of a linear map, plus a constant."""
    return lambda v: np.tanh(np.einsum("de,...e->...d", numbers[f"{name}_A"], v)) + numbers[f"{name}_b"]


def straight(numbers: Mapping[str, Array], name: str) -> Callable[[Array], Array]:
    """The stand-in of that name without its tanh."""
    return lambda v: np.einsum("de,...e->...d", numbers[f"{name}_A"], v) + numbers[f"{name}_b"]


StandIns = Callable[[Mapping[str, Array], str], Callable[[Array], Array]]


def run(step: str, numbers: Mapping[str, Array], stand_ins: StandIns = curved) -> Array:
    """What a step makes of numbers["x"]: [..., D] → [..., D]."""
    return _executed(step, numbers, stand_ins)[0]


def _executed(step: str, numbers: Mapping[str, Array], stand_ins: StandIns) -> tuple[Array, dict[str, Array]]:
    """The result, and what each callable was handed."""
    stack, seen = [numbers["x"]], dict[str, Array]()
    for word in PROGRAMS[step].split():
        if word == "keep":
            stack.append(stack[-1])
        elif word == "add":
            stack[-2:] = [stack[-2] + stack[-1]]
        else:
            seen[word] = stack[-1]
            stack[-1] = stand_ins(numbers, word)(stack[-1])
    (result,) = stack
    return result, seen


def gradients(step: str, numbers: Mapping[str, Array], upstream: Array) -> dict[str, Array]:
    """Gradients of sum(upstream · run) with respect to x and to every callable's numbers, by name."""
    seen = _executed(step, numbers, curved)[1]
    stack, found = [upstream], dict[str, Array]()
    for word in reversed(PROGRAMS[step].split()):
        if word == "keep":  # backwards a copy is a sum, and a sum a copy
            stack[-2:] = [stack[-2] + stack[-1]]
        elif word == "add":
            stack.append(stack[-1])
        else:
            A, handed = numbers[f"{word}_A"], seen[word]
            slope = 1.0 - (curved(numbers, word)(handed) - numbers[f"{word}_b"]) ** 2
            width = A.shape[0]
            found[f"{word}_b"] = stack[-1].reshape(-1, width).sum(axis=0)
            found[f"{word}_A"] = (stack[-1] * slope).reshape(-1, width).T @ handed.reshape(-1, width)
            stack[-1] = np.einsum("de,...d->...e", A, stack[-1] * slope)
    (found["x"],) = stack
    return found


def stream_scales(h0: Array, weights: Array) -> dict[str, Array]:
    """The RMS of the linear stream after each layer, by placement: h0: [D], weights: [L, D, D] → [L] each.

    One matrix a layer, told by how much of the update it lets through, and a length in place of each RMS.
    """
    root = len(h0) ** 0.5
    found: dict[str, list[float]] = {"none": [], "pre": [], "post": []}
    for placement, lengths in found.items():
        stream = h0
        for W in weights:
            size = max(float(np.linalg.norm(stream)) / root, SCALE_UNIT) if placement == "pre" else 1.0
            stream = (np.eye(len(h0)) + W / size) @ stream
            if placement == "post":
                stream = stream * (root / max(float(np.linalg.norm(stream)), SCALE_UNIT * root))
            lengths.append(float(np.linalg.norm(stream)) / root)
    return {placement: np.array(lengths) for placement, lengths in found.items()}
