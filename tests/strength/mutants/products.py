"""Products of integers, and of the numbers that they stand for, of which other factors are taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import as_numbers
from dml_conformance.spec.registry import operators
from strength.mutants.base import Arrays, Mutant, WrongValues, plants, right
from strength.mutants.sums import as_tf32

FAMILIES = ("matrix_multiply", "convolution")


class OtherFactors(WrongValues, abstract=True):
    """Takes other elements of some inputs, in the place of those that there are."""

    families = FAMILIES
    needs: tuple[str, ...] = ()

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        """Those with zero points that have the tensors that its fault needs."""
        fields = {name: {field.attribute for field in spec.fields} for name, spec in operators().items()}
        return tuple(
            name
            for name in super().operators()
            if any("zero_point" in field for field in fields[name]) and fields[name].issuperset(cls.needs)
        )

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        numbers = {key: as_numbers(bits, getattr(desc, key).data_type) for key, bits in arrays.items()}
        with np.errstate(all="ignore"):
            changed = {
                key: np.ascontiguousarray(value).astype(numbers[key].dtype)
                for key, value in self.taken(desc, numbers).items()
                if key in numbers
            }
        return right(desc, {**arrays, **{key: value.view(arrays[key].dtype) for key, value in changed.items()}})

    def taken(self, desc: Any, numbers: Arrays) -> Arrays:
        """What it takes in the place of some inputs; of those that are missing nothing."""
        raise NotImplementedError


def factors(*needs: str) -> Any:
    """Plants a fault in operators that have some tensors."""

    def planted(function: Any) -> type[Mutant]:
        return plants("taken", OtherFactors, needs=needs)(function)

    return planted


def _name(operand: str, desc: Any) -> str:
    """The key of the first or the second factor's tensor of a kind."""
    names = {"a": "input", "b": "filter"} if hasattr(desc, "input_tensor") else {"a": "a", "b": "b"}
    return names[operand]


def _zero_points(desc: Any, numbers: Arrays) -> list[str]:
    return [key for key in numbers if key.endswith("zero_point_tensor") and not key.startswith("output")]


@factors()
def ZeroPointsIgnored(desc: Any, numbers: Arrays) -> Arrays:
    return {key: np.zeros_like(numbers[key]) for key in _zero_points(desc, numbers)}


@factors()
def FirstZeroPointIgnored(desc: Any, numbers: Arrays) -> Arrays:
    key = f"{_name('a', desc)}_zero_point_tensor"
    return {key: np.zeros_like(numbers[key])} if key in numbers else {}


@factors()
def SecondZeroPointIgnored(desc: Any, numbers: Arrays) -> Arrays:
    key = f"{_name('b', desc)}_zero_point_tensor"
    return {key: np.zeros_like(numbers[key])} if key in numbers else {}


@factors()
def OneZeroPointForAll(desc: Any, numbers: Arrays) -> Arrays:
    """Takes the first zero point for all rows, columns or channels."""
    return {
        key: np.broadcast_to(numbers[key].reshape(-1)[0], numbers[key].shape) for key in _zero_points(desc, numbers)
    }


@factors()
def ZeroPointsInReverse(desc: Any, numbers: Arrays) -> Arrays:
    return {key: numbers[key].reshape(-1)[::-1].reshape(numbers[key].shape) for key in _zero_points(desc, numbers)}


@factors()
def LastFactorDropped(desc: Any, numbers: Arrays) -> Arrays:
    """Leaves out the last of the terms: the column of A, or the last element of a window."""
    key = f"{_name('b', desc)}_tensor"
    kept = numbers[key].copy()
    point = numbers.get(f"{_name('b', desc)}_zero_point_tensor", np.zeros(1))
    if key == "b_tensor":
        kept[..., -1, :] = np.broadcast_to(point, point.shape).reshape(-1) if point.size > 1 else point.reshape(-1)[0]
    else:
        row = kept.reshape(kept.shape[0], -1)
        row[:, -1] = point.reshape(-1) if point.size > 1 else point.reshape(-1)[0]
    return {key: kept}


@factors()
def SecondFactorOfTheOtherSign(desc: Any, numbers: Arrays) -> Arrays:
    """Takes signed integers for unsigned ones, and the other way round, without their zero points."""
    key = f"{_name('b', desc)}_tensor"
    return {key: numbers[key] ^ numbers[key].dtype.type(1 << (8 * numbers[key].itemsize - 2))}


@factors()
def ColumnTwice(desc: Any, numbers: Arrays) -> Arrays:
    """Has the last column, or output channel, but one in place of the last."""
    key = f"{_name('b', desc)}_tensor"
    found = numbers[key].copy()
    if key == "b_tensor":
        found[..., -1] = found[..., -2:][..., 0]
    else:
        found[-1] = found[-2:][0]
    return {key: found}


@factors("output_scale_tensor")
def ScalesOfTheSecondFactorIgnored(desc: Any, numbers: Arrays) -> Arrays:
    key = f"{_name('b', desc)}_scale_tensor"
    return {key: np.ones_like(numbers[key])}


@factors("output_scale_tensor")
def OneScaleForAll(desc: Any, numbers: Arrays) -> Arrays:
    key = f"{_name('b', desc)}_scale_tensor"
    return {key: np.broadcast_to(numbers[key].reshape(-1)[0], numbers[key].shape)}


@factors("output_scale_tensor")
def MultipliedByTheOutputsScale(desc: Any, numbers: Arrays) -> Arrays:
    """Multiplies by it where it is to be divided by."""
    return {"output_scale_tensor": 1.0 / numbers["output_scale_tensor"]}


@factors("output_zero_point_tensor")
def OutputsZeroPointIgnored(desc: Any, numbers: Arrays) -> Arrays:
    key = "output_zero_point_tensor"
    return {key: np.zeros_like(numbers[key])} if key in numbers else {}


@factors("a_scale_tensor")
def ScalesOfRowsIgnored(desc: Any, numbers: Arrays) -> Arrays:
    """Takes the first scale of A for all of its rows."""
    return {
        "a_scale_tensor": np.broadcast_to(numbers["a_scale_tensor"].reshape(-1)[0], numbers["a_scale_tensor"].shape)
    }


@factors("bias_tensor")
def BiasLeftOut(desc: Any, numbers: Arrays) -> Arrays:
    return {"bias_tensor": np.zeros_like(numbers["bias_tensor"])} if "bias_tensor" in numbers else {}


class OtherProducts(WrongValues, abstract=True):
    """Makes something else of the numbers that A and B stand for than quantizing or rounding their product does."""

    families = ("matrix_multiply",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        def wide(name: str) -> Any:
            key = f"{name}_tensor"
            default = np.array(1.0 if name.endswith("scale") else 0.0)
            found = (
                as_numbers(arrays[key], getattr(desc, key).data_type).astype(np.float64) if key in arrays else default
            )
            return found.reshape(found.shape[-2:]) if "_" in name else found

        with np.errstate(all="ignore"):
            a, b = ((wide(name) - wide(f"{name}_zero_point")) * wide(f"{name}_scale") for name in ("a", "b"))
            data_type = desc.output_tensor.data_type
            found = self.made(a, b, wide("output_scale"), wide("output_zero_point"), data_type.limits or (0, 0))
            if data_type.is_float:
                found = found + wide("bias")
            else:
                found = np.nan_to_num(np.clip(found, -(2.0**40), 2.0**40)).astype(np.int64)
        return {"output_tensor": found.astype(data_type.name.lower()).view(f"u{data_type.size}")}

    def made(self, a: Any, b: Any, scale: Any, zero_point: Any, limits: tuple[int, int]) -> Any:
        """What becomes of both factors, the scale and zero point of the output, and the limits of its type."""
        raise NotImplementedError


def products(**traits: Any) -> Any:
    return lambda function: plants("made", OtherProducts, **traits)(function)


@products(has=("output_scale_tensor",))
def QuotientsHalvesUp(a: Any, b: Any, scale: Any, zero_point: Any, limits: tuple[int, int]) -> Any:
    return np.clip(np.floor(a @ b / scale + 0.5) + zero_point, *limits)


@products(has=("output_scale_tensor",))
def QuotientsCut(a: Any, b: Any, scale: Any, zero_point: Any, limits: tuple[int, int]) -> Any:
    return np.clip(np.trunc(a @ b / scale) + zero_point, *limits)


@products(has=("output_scale_tensor",))
def QuotientsWrap(a: Any, b: Any, scale: Any, zero_point: Any, limits: tuple[int, int]) -> Any:
    """Keeps the low 8 bits."""
    return np.rint(a @ b / scale) + zero_point


@products(has=("output_scale_tensor",))
def QuotientsSaturateBeforeTheZeroPoint(a: Any, b: Any, scale: Any, zero_point: Any, limits: tuple[int, int]) -> Any:
    return np.clip(np.rint(a @ b / scale), -128, 127) + zero_point


@products(lacks=("output_scale_tensor", "a_scale_tensor"))
def SumsOfProductsInInt16(a: Any, b: Any, scale: Any, zero_point: Any, limits: tuple[int, int]) -> Any:
    """Adds two neighbours up in INT16, and cuts them to it, as instructions of processors do."""
    pairs = [np.clip(a[..., k : k + 2] @ b[..., k : k + 2, :], -(2**15), 2**15 - 1) for k in range(0, a.shape[-1], 2)]
    return np.sum(pairs, axis=0)


@products(lacks=("output_scale_tensor", "a_scale_tensor"))
def SumsOfProductsInFloat32(a: Any, b: Any, scale: Any, zero_point: Any, limits: tuple[int, int]) -> Any:
    """Loses what is beyond 24 bits."""
    return (a @ b).astype(np.float32)


@products(has=("bias_tensor",), lacks=("input_tensor",))
def SumsOfFactorsInFloat16(a: Any, b: Any, scale: Any, zero_point: Any, limits: tuple[int, int]) -> Any:
    """Adds up in FLOAT16, one product after the other."""
    total = np.zeros((*a.shape[:-1], b.shape[-1]), np.float16)
    for k in range(a.shape[-1]):
        total = total + (a[..., k : k + 1] * b[..., k : k + 1, :]).astype(np.float16)
    return total.astype(np.float64)


@products(has=("bias_tensor",), lacks=("input_tensor",))
def FactorsWithTheMantissaOfTensorCores(a: Any, b: Any, scale: Any, zero_point: Any, limits: tuple[int, int]) -> Any:
    """Takes factors with the 10 bits of TF32."""
    return as_tf32(a) @ as_tf32(b)
