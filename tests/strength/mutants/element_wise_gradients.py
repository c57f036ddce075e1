"""Gradients that are passed on where they are not to be, or changed on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import UNSIGNED, as_numbers
from strength.mutants.base import Arrays, WrongValues, plants


class PassesOn(WrongValues, abstract=True):
    """Passes on other gradients of the rectifier."""

    families = ("activation_relu_grad",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.input_tensor.data_type
        x, gradient = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "input_gradient_tensor"))
        with np.errstate(all="ignore"):
            passed = np.ascontiguousarray(self.passed(x, gradient).astype(x.dtype))
        return {"output_gradient_tensor": passed.view(UNSIGNED[data_type.size])}

    def passed(self, x: Any, gradient: Any) -> Any:
        raise NotImplementedError


@plants("passed", PassesOn)
def GradientAt0(x: Any, gradient: Any) -> Any:
    """Passes on the gradient of 0."""
    return np.where(x >= 0, gradient, 0)


@plants("passed", PassesOn)
def GradientBelow0(x: Any, gradient: Any) -> Any:
    return np.where(x > 0, 0, gradient)


@plants("passed", PassesOn)
def GradientOffZero(x: Any, gradient: Any) -> Any:
    """Passes on the gradient of everything but 0."""
    return np.where(x != 0, gradient, 0)


@plants("passed", PassesOn)
def GradientFrom1On(x: Any, gradient: Any) -> Any:
    """Passes on the gradient of elements that are above 0 as whole numbers."""
    return np.where(np.trunc(x) > 0, gradient, 0) if x.dtype.kind == "f" else np.where(x > 1, gradient, 0)


@plants("passed", PassesOn)
def GradientUpTo6(x: Any, gradient: Any) -> Any:
    """Is the gradient of a rectifier that ends at 6."""
    return np.where((x > 0) & (x < 6), gradient, 0)


@plants("passed", PassesOn)
def GradientRectified(x: Any, gradient: Any) -> Any:
    """Looks at the gradient, and not at the element."""
    return np.where(gradient > 0, gradient, 0)


@plants("passed", PassesOn)
def GradientAbove0Alone(x: Any, gradient: Any) -> Any:
    """Leaves out gradients below 0."""
    return np.where((x > 0) & (gradient > 0), gradient, 0)


@plants("passed", PassesOn)
def ElementRectified(x: Any, gradient: Any) -> Any:
    """Is the rectifier itself."""
    return np.where(x > 0, x, 0)


@plants("passed", PassesOn)
def SlopeOfTheRectifier(x: Any, gradient: Any) -> Any:
    """Has 1 in place of the gradient."""
    return x > 0


@plants("passed", PassesOn)
def GradientTimesElement(x: Any, gradient: Any) -> Any:
    return np.where(x > 0, gradient * x, 0)


@plants("passed", PassesOn)
def GradientNegated(x: Any, gradient: Any) -> Any:
    return np.where(x > 0, 0 - gradient, 0)


@plants("passed", PassesOn)
def HalfGradientAt0(x: Any, gradient: Any) -> Any:
    """Has the mean of both slopes at 0."""
    return np.where(x > 0, gradient, np.where(x == 0, gradient / 2, 0))


@plants("passed", PassesOn)
def GradientLeaks(x: Any, gradient: Any) -> Any:
    """Is the gradient of a leaky rectifier."""
    return np.where(x > 0, gradient, gradient / 8)


@plants("passed", PassesOn)
def GradientOfSignBit(x: Any, gradient: Any) -> Any:
    """Takes the sign bit for the comparison."""
    return np.where(x.view(f"i{x.itemsize}") >= 0, gradient, 0)
