"""Runs witnesses of the exercises' pages: `python -m selftests.witnesses` reads a request from standard input.

A witness is one or more statements separated by `;`, the last of them an expression, on the names of one exercise file.
The process lives for one request: the bank's files are executed in it.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import torch

from nanolm.adapters.student import fresh_memory_is_nan
from nanolm.sources import TextSource


def plain(value: Any) -> Any:
    """A value as lists, numbers and text; dtypes are told by their bare name."""
    if isinstance(value, torch.Tensor):
        return plain(value.detach().tolist())
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    return value if isinstance(value, bool | int | float | str) or value is None else repr(value)


def evaluate(witness: str, names: dict[str, Any]) -> Any:
    """The value of the last expression, or the name of the exception's class."""
    scope = {"tensor": torch.tensor, "torch": torch, "np": np, "math": math, **names}
    *statements, expression = witness.split(";")
    try:
        torch.manual_seed(0)
        with fresh_memory_is_nan(), np.errstate(all="ignore"):
            for statement in statements:
                exec(statement.strip(), scope)
            return plain(eval(expression.strip(), scope))
    except Exception as error:
        return type(error).__name__


def main() -> None:
    """Answer one request: a list of [texts by file name, file, witnesses] → a list of lists of values."""
    answers = []
    for texts, file, witnesses in json.load(sys.stdin):
        source = TextSource(texts)
        source.install()
        try:
            # Later names win, so a page may use `ModelConfig` without importing it.
            names = {**source.names("config.py"), **source.names(file)}
            answers.append([evaluate(witness, names) for witness in witnesses])
        finally:
            source.uninstall()
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
