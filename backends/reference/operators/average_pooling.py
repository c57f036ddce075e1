"""AVERAGE_POOLING1: the means of what windows see that slide over an image."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._windows import counted, gathered, seen
from dml_conformance.spec.accuracy import Profile
from dml_conformance.spec.operator import Misfit
from dml_conformance.spec.operators._windows import FIRST, windows_of


def average_pooling(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[n, c, b] = mean(input[n, c, b * Strides + w * Dilations - StartPadding] for each w).

    The padding is 0, and counts where IncludePadding says so. Where nothing counts a NaN is as right as 0.
    """
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    lengths, output = numbers.shape[FIRST:], desc.output_tensor.sizes
    windows = windows_of(desc, desc.window_size, len(lengths))
    assert not isinstance(windows, Misfit), "the shapes follow from a valid descriptor"
    places = [seen(*each) for each in zip(windows, lengths, output[FIRST:], strict=True)]
    count = counted(places, lengths) if not desc.include_padding else np.array(prod(desc.window_size))

    def means(profile: Profile) -> Enclosure:
        x = Evaluation(profile).of(numbers)
        elements = x.each(partial(gathered, places=places)).reshape(*output, -1)
        total = elements.sum((len(output),)).reshape(*output)
        mean = total / Enclosure(total.evaluation, np.maximum(count, 1).astype(np.float64))
        nan = mean.nan | (count == 0)
        found = Enclosure(mean.evaluation, mean.value, mean.low, mean.high, nan if nan.any() else None)
        return found.to(desc.output_tensor.data_type)

    return {"output_tensor": means}


OPERATORS: dict[str, Compute] = {"AVERAGE_POOLING1": average_pooling}
