"""Adapters of `budget.py`: counts of parameters. A count is the fact `value`, since it may be larger than any tensor's.

A ModelConfig crosses as its fields; it is built here, with the class that the student's own file imports.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from nanolm.adapters.student import Student, interface_fault
from nanolm.protocol import Scalar, StudentFault

CFG_FIELDS = ("V", "D", "L", "N", "K", "H", "F", "tie_embeddings")


def swiglu_ffn_dim(student: Student) -> None:
    """`swiglu_ffn_dim(d_model[, multiple_of])`. Scalars: d_model, multiple_of (absent: the default)."""
    given = [student.scalars[name] for name in ("d_model", "multiple_of") if name in student.scalars]
    _count(student, student.name("swiglu_ffn_dim")(*given), of="swiglu_ffn_dim")


def ffn_params(student: Student) -> None:
    """`ffn_params(d_model, d_ff, gated=…)`. Scalars: d_model, d_ff, gated."""
    d_model, d_ff, gated = (student.scalars[name] for name in ("d_model", "d_ff", "gated"))
    _count(student, student.name("ffn_params")(d_model, d_ff, gated=gated), of="ffn_params")


def attention_params(student: Student) -> None:
    """`attention_params(cfg)`. Scalars: the fields of cfg."""
    _count(student, student.name("attention_params")(_cfg(student)), of="attention_params")


def block_params(student: Student) -> None:
    """`block_params(cfg)`. Scalars: the fields of cfg."""
    _count(student, student.name("block_params")(_cfg(student)), of="block_params")


def model_params(student: Student) -> None:
    """`model_params(cfg)`. Scalars: the fields of cfg."""
    _count(student, student.name("model_params")(_cfg(student)), of="model_params")


def model_growth(student: Student) -> None:
    """`model_params(cfg)` at L and at L + 1 layers: what a layer costs can be told from what the rest costs.

    Scalars: the fields of cfg. Facts: value (at L), next (at L + 1).
    """
    function = student.name("model_params")
    _count(student, function(_cfg(student, L=student.integer("L") + 1)), of="model_params")
    student.facts["next"] = student.facts["value"]
    _count(student, function(_cfg(student)), of="model_params")


def budget_refusal(student: Student) -> None:
    """How a function answers an argument that it should refuse: an observation, where a fault would say too little.

    Scalars: function, and its arguments. Facts: raised, the exception's name, empty where it returned.
    """
    try:
        FUNCTIONS[str(student.scalars["function"])](student)
    except (NotImplementedError, StudentFault):
        raise
    except Exception as error:
        student.facts["raised"] = "ValueError" if isinstance(error, ValueError) else type(error).__name__[:80]
    else:
        student.facts["raised"] = ""


FUNCTIONS = {
    function.__name__: function
    for function in (swiglu_ffn_dim, ffn_params, attention_params, block_params, model_params)
}


def _cfg(student: Student, **changed: Scalar) -> Any:
    fields: Mapping[str, Scalar] = {name: student.scalars[name] for name in CFG_FIELDS if name in student.scalars}
    return student.given("config.py", "ModelConfig")(**{**fields, **changed})


def _count(student: Student, value: Any, *, of: str) -> None:
    """Take one result as the fact `value`. A float stays one: whether that is right is the test's business.

    Whole numbers of another library (NumPy's) become an int, and are noted.
    """
    if isinstance(value, int | float):
        student.facts["value"] = value if isinstance(value, bool) else _plain(value)
    elif isinstance(value, Integral):
        student.notes.append(f"{of} returned a {type(value).__name__}; the exercise asks for an int.")
        student.facts["value"] = int(value)
    else:
        returned = (
            "nothing (None): is a `return` missing?" if value is None else f"a {type(value).__name__}, not an int"
        )
        raise interface_fault(f"{of} returned {returned}")


def _plain(value: int | float) -> int | float:
    """Without what a subclass (NumPy's float64, an enumeration) adds."""
    return int(value) if isinstance(value, int) else float(value)
