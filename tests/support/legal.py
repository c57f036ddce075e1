"""Evaluations of a formula that a right implementation may make: every step rounded, sums in an order of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Evaluation
from dml_conformance.backends.reference.floats import spacing
from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.spec.primitives import PRIMITIVES


@dataclass
class Choice:
    """How one evaluation chooses.

    Attributes:
        random: what it draws by.
        evaluation: whose bounds it keeps.
        strays: whether functions and quotients are as far off as their bounds let them be, and sums and products cut
            where they may be; else all are rounded to nearest.
    """

    random: np.random.Generator
    evaluation: Evaluation
    strays: bool

    def rounded(self, exact: Any, name: str) -> Legal:
        """A result of a primitive."""
        kind = NUMBERS[self.evaluation.data_type]
        bound = PRIMITIVES[name].bound(self.evaluation.tolerance, self.evaluation.data_type)
        near = exact.astype(kind)
        if not self.strays or bound.ulp == 0.5:
            return Legal(self, near)
        if PRIMITIVES[name].keeps:
            return Legal(self, np.where(np.abs(near) > np.abs(exact), np.nextafter(near, kind.type(0)), near))
        units = spacing(np, np.asarray(exact), self.evaluation.data_type)
        allowed = np.maximum((bound.ulp - 0.5) * units, bound.absolute)
        return Legal(self, (exact + self.random.uniform(-1, 1, exact.shape) * allowed).astype(kind))

    def function(self, name: str, function: Any, x: Legal) -> Legal:
        bound = PRIMITIVES[name].bound(self.evaluation.tolerance, self.evaluation.data_type)
        argument = x.wide
        if self.strays:
            argument = argument * (1 + bound.argument * self.random.uniform(-1, 1, x.wide.shape))
        return self.rounded(function(argument), name)


class Legal:
    """Numbers of the type that an evaluation is computed in, with the operations of enclosures."""

    def __init__(self, choice: Choice, numbers: Any) -> None:
        self.choice, self.numbers = choice, np.asarray(numbers)

    @property
    def wide(self) -> Any:
        return self.numbers.astype(np.float64)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape

    def other(self, other: Any) -> Any:
        return other.wide if isinstance(other, Legal) else np.float64(other)

    def __getitem__(self, index: Any) -> Legal:
        return Legal(self.choice, self.numbers[index])

    def __neg__(self) -> Legal:
        return Legal(self.choice, -self.numbers)

    def __add__(self, other: Any) -> Legal:
        return self.choice.rounded(self.wide + self.other(other), "add")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Legal:
        return self.choice.rounded(self.wide - self.other(other), "add")

    def __rsub__(self, other: Any) -> Legal:
        return self.choice.rounded(self.other(other) - self.wide, "add")

    def __mul__(self, other: Any) -> Legal:
        return self.choice.rounded(self.wide * self.other(other), "multiply")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Legal:
        return self.choice.rounded(self.wide / self.other(other), "divide")

    def max(self, axes: tuple[int, ...]) -> Legal:
        return Legal(self.choice, self.numbers.max(axes, keepdims=True))

    def sum(self, axes: tuple[int, ...]) -> Legal:
        (axis,) = axes
        terms = self.choice.random.permutation(np.moveaxis(self.numbers, axis, 0))
        return Legal(self.choice, np.expand_dims(self._added(terms), axis))

    def _added(self, terms: Any) -> Any:
        """One after the other, or in a tree."""
        if self.choice.random.integers(2):
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            return total
        while len(terms) > 1:
            even = len(terms) // 2 * 2
            terms = np.concatenate([terms[:even:2] + terms[1:even:2], terms[even:]])
        return terms[0]

    def mean(self, axes: tuple[int, ...]) -> Legal:
        return self.sum(axes) / self.numbers.shape[axes[0]]

    def variance(self, axes: tuple[int, ...]) -> Legal:
        away = self - self.mean(axes)
        return (away * away).mean(axes)

    def __matmul__(self, other: Legal) -> Legal:
        products = self.numbers[..., :, :, None] * other.numbers[..., None, :, :]
        return Legal(self.choice, self._added(self.choice.random.permutation(np.moveaxis(products, -2, 0))))


class Functions:
    """The functions of a formula, of enclosures or of legal numbers."""

    def __getattr__(self, name: str) -> Any:
        from dml_conformance.backends.reference import functions

        of_enclosures = getattr(functions, name)
        of_numbers = {"sigmoid": lambda x: 1 / (1 + np.exp(-x))}.get(name) or getattr(np, name, None)

        def either(x: Any, *more: Any) -> Any:
            if not isinstance(x, Legal):
                return of_enclosures(x, *more)
            if name == "lerp":
                return (1.0 - more[1]) * x + more[1] * more[0]
            return x.choice.function(name, of_numbers, x)

        return either


f = Functions()
