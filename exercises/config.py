"""ModelConfig: the sizes of a decoder-only Transformer. Given: there is nothing to write here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelConfig:
    """Sizes in the course's letters (W6). It does not validate: the functions that count with it do.

    V vocabulary · D model width · L layers · N query heads · K key/value heads · H head width · F FFN width.
    `tie_embeddings`: the input embedding and the output head are one matrix.
    """

    V: int
    D: int
    L: int
    N: int
    K: int
    H: int
    F: int
    tie_embeddings: bool = False

    @property
    def G(self) -> int:
        """Query heads a key/value head serves: N // K."""
        return self.N // self.K

    @property
    def ffn_dim(self) -> int:
        """The FFN width F."""
        return self.F
