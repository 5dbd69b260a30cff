"""Exercise qk_norm: three ways to keep attention scores from growing without bound (M6 §7).

Letters: B batch, S queries, T keys, N query heads, H head width; `[..., S, H]` is any number of leading axes, none too.
Output dtype = input dtype, inputs are not modified and may be non-contiguous, gradients reach every tensor argument.

From scratch: `nn.RMSNorm`, `F.rms_norm`, `torch.rms_norm`, `nn.LayerNorm`, `F.layer_norm` and their relatives are the
answer and make the exercise `forbidden`, wherever this file names them; so do ways round the rule (`exec`, `eval`,
`importlib`, `torch.ops`, …). `F.normalize`, `torch.linalg.vector_norm` and everything elementary are allowed.

Check: `NANOLM_IMPL=exercises pytest -k qk_norm -v`
"""

from __future__ import annotations

import torch
from torch import Tensor


def l2_qk_scores(q: Tensor, k: Tensor, tau: float | Tensor, eps: float = 1e-6) -> Tensor:
    """Attention scores of unit vectors with a learned scale, the original QKNorm (M6 §7).

    `scores[..., i, j] = tau * q̂[..., i, :] · k̂[..., j, :]` with `v̂ = v / max(‖v‖₂, eps)`

    Each query and each key is divided by its own length, taken over its H features alone; `tau` stands where the
    factor 1/√H usually stands. A vector of zeros stays zeros, since its length is floored by eps.

    Worked number: q = (3, 4) and k = (4, 3) both have length 5, so tau = 10 gives 10 · 24/25 = 9.6.

    q: [..., S, H], k: [..., T, H] with the same leading axes, tau a float or a 0-d tensor (which then receives its
    gradient) → [..., S, T], same dtype as q.
    """
    ### BEGIN SOLUTION qk_norm: divide each vector by its floored length, then scale the products by tau
    q_unit = q / torch.linalg.vector_norm(q, dim=-1, keepdim=True).clamp_min(eps)
    k_unit = k / torch.linalg.vector_norm(k, dim=-1, keepdim=True).clamp_min(eps)
    scores: Tensor = tau * (q_unit @ k_unit.transpose(-2, -1))
    return scores
    ### END SOLUTION


def per_head_rms_norm(q: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """RMS normalisation of every head by itself, as in Qwen3 (M6 §7).

    `y = q / sqrt(mean(q², H features of one head) + eps) * gamma`

    All heads share the one gain; nothing else is shared between heads, so scaling a head changes no head's output.
    float16 and bfloat16 are widened to float32 *before* squaring, and the result is cast back.

    Worked number: the head (3, 4) has RMS 3.54 and leaves as (0.85, 1.13) with a gain of ones (W6). So does the head
    (0.3, 0.4) beside it: ten times shorter, same direction.

    q: [B, S, N, H], gamma: [H] → [B, S, N, H], same dtype as q. The same function serves the keys.
    """
    ### BEGIN SOLUTION qk_norm: divide each head by its own root mean square and apply gamma
    wide = q.to(torch.promote_types(q.dtype, torch.float32))
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return (wide * torch.rsqrt(mean_square + eps) * gamma).to(q.dtype)
    ### END SOLUTION


def full_width_rms_norm(q: Tensor, gamma: Tensor, n_heads: int, eps: float = 1e-6) -> Tensor:
    """RMS normalisation of the whole projection, then the split into heads, as in OLMo2 (M6 §7).

    `y = q / sqrt(mean(q², all N·H features of one token) + eps) * gamma`, cut into N heads of H features each

    One denominator serves all heads of a token, so scaling one head changes the others. Head 0 is the first H
    features, head 1 the next H, and so on. float16 and bfloat16 are widened to float32 *before* squaring, and the
    result is cast back.

    Worked number: the heads (3, 4) and (0.3, 0.4) share the RMS 2.51 and leave as (1.19, 1.59) and (0.12, 0.16) with
    a gain of ones: the first stays ten times the second.

    q: [B, S, N·H], gamma: [N·H] → [B, S, N, H], same dtype as q.
    """
    ### BEGIN SOLUTION qk_norm: divide each token by one root mean square, apply gamma, split into heads
    wide = q.to(torch.promote_types(q.dtype, torch.float32))
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    normalised = (wide * torch.rsqrt(mean_square + eps) * gamma).to(q.dtype)
    batch, length, width = q.shape
    return normalised.reshape(batch, length, n_heads, width // n_heads)
    ### END SOLUTION


def soft_cap(scores: Tensor, cap: float) -> Tensor:
    """Scores bent smoothly into the range from -cap to cap (M6 §7).

    `cap * tanh(scores / cap)`

    Small scores pass nearly unchanged, large ones of any size stay within the cap, and none of them loses its gradient
    at a corner. It bounds scores without normalising q or k.

    Worked number: with cap = 2, a score of 2 becomes 2 · tanh(1) = 1.52, and a score of 0.1 becomes 0.0999.

    scores: any shape → the same shape and dtype. `cap <= 0` is a ValueError.
    """
    ### BEGIN SOLUTION qk_norm: refuse a cap that is not positive, then bend the scores with tanh
    if cap <= 0:
        raise ValueError(f"cap must be positive, not {cap}")
    return cap * torch.tanh(scores / cap)
    ### END SOLUTION
