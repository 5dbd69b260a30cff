"""Exercise mhc: several residual streams and the manifold constraint on how they mix (M6 §12; W6).

Letters: n residual streams, D model width; `[..., n, D]` is any number of leading axes, none too. The streams of one
token are the rows of its X. Output dtype = input dtype, inputs are not modified, gradients reach every tensor.

From scratch: everything in torch is allowed here. Ways round the tests (`exec`, `eval`, `importlib`, …) make
the exercise `forbidden`, wherever this file names them.

Check: `NANOLM_IMPL=exercises pytest tests/test_hyper_connections.py -k mhc -v`
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    """Nearly doubly stochastic matrices from any real ones (M6 §12; W6): logits: [..., n, n] → [..., n, n], same dtype.

    Start from the entries exp(logits). One iteration divides each column by its sum, then each row by its sum;
    `n_iters` of them follow one another. The order decides what is exact at the end: rows sum to 1, columns nearly.

    Work with the logarithms of the entries throughout. Only then everything stays finite, and rows sum to 1, for logits
    of ±10000. A constant added to a column, or to all logits, changes nothing; each matrix of a batch is projected
    as if it were alone; float16 and bfloat16 are widened to float32 at the start and cast back at the end.

    Worked number: from the entries [[3, 1], [1, 1]], whose logits are their logarithms, one iteration gives
    [[0.6, 0.4], [1/3, 2/3]], three give about [[0.63, 0.37], [0.37, 0.63]].
    """
    ### BEGIN SOLUTION mhc: normalise columns, then rows, n_iters times, in the log domain
    log_P = logits.to(torch.promote_types(logits.dtype, torch.float32))
    for _ in range(n_iters):
        log_P = log_P - torch.logsumexp(log_P, dim=-2, keepdim=True)
        log_P = log_P - torch.logsumexp(log_P, dim=-1, keepdim=True)
    return log_P.exp().to(logits.dtype)
    ### END SOLUTION


def mix_streams(R: Tensor, X: Tensor) -> Tensor:
    """Mix the streams of each token by one matrix (M6 §12): R: [n, n], X: [..., n, D] → [..., n, D], same dtype.

    The result is `R X`: row i of R says how much of each old stream goes into the new stream i.

    Worked number: R = [[0.75, 0.25], [0.25, 0.75]] turns the streams 2 and 6 (D = 1) into 3 and 5. A symmetric R hides
    a transpose: try one that is not.
    """
    ### BEGIN SOLUTION mhc: every new stream is a combination of the old ones, weighted by a row of R
    return torch.einsum("ij,...jd->...id", R, X)
    ### END SOLUTION


def hyper_connection_step(
    X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch: Callable[[Tensor], Tensor]
) -> Tensor:
    """One layer between several streams (W6): X: [..., n, D], R: [n, n], read: [n], write: [n] → [..., n, D].

    `R X + write ⊗ branch(read · X)`

    `read` combines the n old streams into the one vector that the layer sees, `branch` ([..., D] → [..., D], attention
    or an FFN with its norm) is called once on it, in X's dtype, and `write` says how much of its result each stream
    receives.

    Worked number: n = 2, D = 1, X = (2, 6), R as in `mix_streams`, read = (0.5, 0.5), write = (1, 2) and a branch that
    adds 1: the branch sees 4 and returns 5, the streams become 3 + 1·5 = 8 and 5 + 2·5 = 15.
    """
    ### BEGIN SOLUTION mhc: mix the old streams and give each its share of what the branch returns
    update = branch(torch.einsum("n,...nd->...d", read, X))
    return mix_streams(R, X) + torch.einsum("n,...d->...nd", write, update)
    ### END SOLUTION


def mhc_step(
    X: Tensor,
    residual_logits: Tensor,
    read_logits: Tensor,
    write_logits: Tensor,
    branch: Callable[[Tensor], Tensor],
    n_iters: int = 20,
) -> Tensor:
    """The same step with constrained weights (W6): residual_logits: [n, n], read_logits and write_logits: [n].

    R is the Sinkhorn projection of `residual_logits` after `n_iters` iterations; read and write are the sigmoids of
    their logits. Gradients reach all three. X: [..., n, D] → [..., n, D], same dtype.

    Worked number: a product of 32 doubly stochastic matrices still keeps the sum of the streams, while 32 times
    R = [[1, 0.3], [0.3, 1]] lets streams of ones grow to 1.3³², about 4400.
    """
    ### BEGIN SOLUTION mhc: constrain the three weights and take a hyper-connection step
    R = sinkhorn(residual_logits, n_iters)
    return hyper_connection_step(X, R, torch.sigmoid(read_logits), torch.sigmoid(write_logits), branch)
    ### END SOLUTION
