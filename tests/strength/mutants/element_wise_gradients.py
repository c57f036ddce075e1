"""Gradients that are passed on where they are not to be, or changed on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from strength.mutants.base import Arrays, computes, fault, numbers


def passed_on(passed: Any, desc: Any, arrays: Arrays) -> Any:
    """Passes on other gradients of the rectifier."""
    given = numbers(desc, arrays)
    return passed(x=given["input_tensor"], gradient=given["input_gradient_tensor"])


computes(passed_on, families=("activation_relu_grad",)).each(
    GradientAt0=fault(lambda x, gradient: np.where(x >= 0, gradient, 0), "Passes on the gradient of 0."),
    GradientBelow0=lambda x, gradient: np.where(x > 0, 0, gradient),
    GradientOffZero=fault(
        lambda x, gradient: np.where(x != 0, gradient, 0), "Passes on the gradient of everything but 0."
    ),
    GradientFrom1On=fault(
        lambda x, gradient: np.where(np.trunc(x) > 0 if x.dtype.kind == "f" else x > 1, gradient, 0),
        "Passes on the gradient of elements that are above 0 as whole numbers.",
    ),
    GradientUpTo6=fault(
        lambda x, gradient: np.where((x > 0) & (x < 6), gradient, 0), "Is the gradient of a rectifier that ends at 6."
    ),
    GradientRectified=fault(
        lambda gradient: np.where(gradient > 0, gradient, 0), "Looks at the gradient, and not at the element."
    ),
    GradientAbove0Alone=fault(
        lambda x, gradient: np.where((x > 0) & (gradient > 0), gradient, 0), "Leaves out gradients below 0."
    ),
    ElementRectified=fault(lambda x: np.where(x > 0, x, 0), "Is the rectifier itself."),
    SlopeOfTheRectifier=fault(lambda x: x > 0, "Has 1 in place of the gradient."),
    GradientTimesElement=lambda x, gradient: np.where(x > 0, gradient * x, 0),
    GradientNegated=lambda x, gradient: np.where(x > 0, 0 - gradient, 0),
    HalfGradientAt0=fault(
        lambda x, gradient: np.where(x > 0, gradient, np.where(x == 0, gradient / 2, 0)),
        "Has the mean of both slopes at 0.",
    ),
    GradientLeaks=fault(
        lambda x, gradient: np.where(x > 0, gradient, gradient / 8), "Is the gradient of a leaky rectifier."
    ),
    GradientOfSignBit=fault(
        lambda x, gradient: np.where(x.view(f"i{x.itemsize}") >= 0, gradient, 0),
        "Takes the sign bit for the comparison.",
    ),
)
