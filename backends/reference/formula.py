"""Formulas of operators, as enclosures are computed by them: of a tensor's elements, or of any numbers like them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.floats import FORMATS, Array, P, namespace, nearest, quiet, type_name
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED
from dml_conformance.spec.accuracy import Subnormals, Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Box, Expectation
from dml_conformance.spec.field_kinds import ScaleBias

EVERY_FLOAT16 = np.arange(2**16, dtype=UNSIGNED[2]).view(NUMBERS[DataType.FLOAT16])


class Formula(NamedTuple):
    """A formula and the numbers that it is taken of.

    Attributes:
        function: of an enclosure for each argument; gives that of the results.
        arguments: numbers, each in its own type.
        data_type: of the results, and what is computed with.
        axes: along which elements of the arguments are taken together for a result; none where each depends on those
            at its own place alone.
        keeps_zero_signs: whether the sign of a result that is zero is right only as computed.
        is_chained: whether the first argument is rounded before, as by ScaleBias, so that errors are not of it alone.
    """

    function: Callable[..., Enclosure]
    arguments: tuple[Array, ...]
    data_type: DataType
    axes: tuple[int, ...] = ()
    keeps_zero_signs: bool = False
    is_chained: bool = False

    @property
    def is_element_wise(self) -> bool:
        return not self.axes

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the results, which the first argument has too."""
        return tuple(self.arguments[0].shape)

    def cut(self, box: Box) -> Formula:
        """Of some elements alone; what has other sizes than the results stays as it is."""
        cut = tuple(each[box] if each.shape == self.shape else each for each in self.arguments)
        return self._replace(arguments=cut)

    def __call__(self, tolerance: Tolerance) -> Enclosure:
        """What the results may be under a tolerance."""
        evaluation = Evaluation(tolerance, self.data_type)
        return self.function(*map(evaluation.of, self.arguments))

    @quiet
    def expectation(self, tolerance: Tolerance, reach: float = inf) -> Expectation:
        """What is right of the results under a tolerance.

        Args:
            tolerance: the tolerance.
            reach: the largest argument that bounds lie around the exact value for.
        """
        if (places := self.of_every_value()) is not None:
            return self._replace(arguments=(EVERY_FLOAT16,)).expectation(tolerance, reach).cut((places,))
        found = self(tolerance)
        expected = found.expectation(self.data_type)
        within, first, shape = expected.within, self.arguments[0], found.shape
        assert within is not None
        if self.keeps_zero_signs:
            is_zero = [part.view(NUMBERS[self.data_type]) == 0 for part in (within.low, within.high)]
            within = within._replace(where=~(is_zero[0] & is_zero[1]) | found.nan)
        if not self.is_chained and np.broadcast_shapes(first.shape, shape) == shape:
            within = within._replace(argument=np.broadcast_to(first.astype(np.float64), shape))
        counted = self.counted(found, reach)
        if counted is not None:
            within = within._replace(counted=counted)
        return expected._replace(within=within)

    def counted(self, found: Enclosure, reach: float) -> Any:
        """Where the error of a result says how well it was computed, see `Within`; None for everywhere.

        A result is near the subnormal numbers up to twice their end.
        """
        xp, subnormals = found.xp, found.evaluation.tolerance.subnormals
        may_be_zero = [of for of, habit in subnormals.items() if habit is not Subnormals.KEPT]
        left_out = None
        if self.data_type in may_be_zero:
            left_out = (found.value != 0) & (abs(found.value) < 2 * FORMATS[self.data_type].normal)
        for argument in (of for of in self.arguments if self.is_element_wise and tuple(of.shape) == found.shape):
            for of in may_be_zero:
                if type_name(argument.dtype) == of.name:
                    is_tiny = (argument != 0) & (abs(argument) < FORMATS[of].normal)
                    left_out = is_tiny if left_out is None else left_out | is_tiny
        if reach < inf:
            is_beyond = abs(self.arguments[0]) > reach
            left_out = is_beyond if left_out is None else left_out | is_beyond
        if left_out is None or not bool(xp.any(left_out)):
            return None
        return xp.broadcast_to(~left_out, found.shape)

    def of_every_value(self) -> Any:
        """The argument's bits where it has more elements than FLOAT16 has values: each of these is computed once."""
        (first, *others) = self.arguments
        is_large = first.dtype == EVERY_FLOAT16.dtype and first.size > EVERY_FLOAT16.size
        if others or not is_large or not self.is_element_wise:
            return None
        return np.ascontiguousarray(first).view(UNSIGNED[2]).reshape(first.shape)


def attribute(x: Enclosure, value: float) -> Enclosure:
    """An attribute, which FLOAT32 has; with FLOAT16 it may be the nearest number of FLOAT16."""
    known = x.operand(float(np.float32(value)))
    if x.evaluation.data_type is not DataType.FLOAT16:
        return known
    near = nearest(namespace(known.value), known.value, DataType.FLOAT16)
    return either(known, Enclosure(x.evaluation, near)) if bool(abs(near) < inf) else known


def in_float32(function: Callable[P, Enclosure]) -> Callable[P, Enclosure]:
    """The function of the same enclosures, computed in FLOAT32 whatever their type, and then rounded to it."""

    @wraps(function)
    def computed(*arguments: P.args, **options: P.kwargs) -> Enclosure:
        wide: Any = [x.computed_in(DataType.FLOAT32) if isinstance(x, Enclosure) else x for x in arguments]
        found = function(*wide, **options)
        own = next(x.evaluation.data_type for x in arguments if isinstance(x, Enclosure))
        return found.to(own) if own is DataType.FLOAT16 else found

    return computed


def scaled(x: Enclosure, scale_bias: ScaleBias | None) -> Enclosure:
    """What ScaleBias does: `x * Scale + Bias`, each step rounded, or both at once."""
    return x if scale_bias is None else x * attribute(x, scale_bias.scale) + attribute(x, scale_bias.bias)
