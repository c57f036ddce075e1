"""Steps of training by rules that are not Adam's, or not its."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import as_numbers
from dml_conformance.spec.operator import inputs
from strength.mutants.base import Arrays, Mutant, WrongValues, plants
from strength.mutants.sums import rounded


class Given(NamedTuple):
    """The inputs as FLOAT64, and the members."""

    x: Any
    m: Any
    v: Any
    g: Any
    step: Any
    desc: Any


class OtherOptimizer(WrongValues, abstract=True):
    """Does one step otherwise, in FLOAT64 and rounded once."""

    families = ("adam_optimizer",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        with np.errstate(all="ignore"):
            numbers = (as_numbers(arrays[slot.key], slot.tensor.data_type).astype(np.float64) for slot in inputs(desc))
            given = self.numbers(Given(*numbers, desc))
            m, v = self.first_moment(given), self.second_moment(given)
            found = {
                "output_parameters_tensor": given.x - self.update(given, m, v),
                "output_first_moment_tensor": m,
                "output_second_moment_tensor": v,
            }
            return {key: rounded(np.broadcast_to(of, given.x.shape), desc) for key, of in found.items()}

    def numbers(self, of: Given) -> Given:
        return of

    def first_moment(self, of: Given) -> Any:
        return of.desc.beta1 * of.m + (1 - of.desc.beta1) * of.g

    def second_moment(self, of: Given) -> Any:
        return of.desc.beta2 * of.v + (1 - of.desc.beta2) * of.g**2

    def update(self, of: Given, m: Any, v: Any) -> Any:
        return of.desc.learning_rate * self.correction(of) * m / self.divisor(of, v)

    def correction(self, of: Given) -> Any:
        return np.sqrt(1 - of.desc.beta2**of.step) / (1 - of.desc.beta1**of.step)

    def divisor(self, of: Given, v: Any) -> Any:
        return np.sqrt(v) + of.desc.epsilon


RIGHT = OtherOptimizer()


def otherwise(step: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherOptimizer)


@otherwise("numbers")
def CountsFromOne(of: Given) -> Given:
    return of._replace(step=of.step + 1)


@otherwise("numbers")
def StepOf16Bits(of: Given) -> Given:
    return of._replace(step=of.step % 2**16)


@otherwise("numbers")
def StepWithASign(of: Given) -> Given:
    return of._replace(step=np.where(of.step < 2.0**31, of.step, of.step - 2.0**32))


@otherwise("numbers")
def DecayRatesSwapped(of: Given) -> Given:
    return of._replace(desc=replace(of.desc, beta1=of.desc.beta2, beta2=of.desc.beta1))


@otherwise("numbers")
def WeightsDecay(of: Given) -> Given:
    """Is AdamW with PyTorch's decay."""
    return of._replace(x=of.x * (1 - 0.01 * of.desc.learning_rate))


@otherwise("numbers")
def DecayInTheGradient(of: Given) -> Given:
    """Adds a penalty's gradient, as Adam with a decay of weights."""
    return of._replace(g=of.g + 0.01 * of.x)


@otherwise("numbers")
def GradientClipped(of: Given) -> Given:
    return of._replace(g=np.clip(of.g, -1, 1))


@otherwise("numbers")
def GradientAdded(of: Given) -> Given:
    """Climbs."""
    return of._replace(g=-of.g)


@otherwise("first_moment")
def FirstMomentAddsUp(of: Given) -> Any:
    """Is the momentum of others, without a weight of the gradient."""
    return of.desc.beta1 * of.m + of.g


@otherwise("first_moment")
def FirstMomentWeightedOtherwise(of: Given) -> Any:
    return (1 - of.desc.beta1) * of.m + of.desc.beta1 * of.g


@otherwise("first_moment")
def FirstMomentKept(of: Given) -> Any:
    return of.m


@otherwise("second_moment")
def GradientNotSquared(of: Given) -> Any:
    return of.desc.beta2 * of.v + (1 - of.desc.beta2) * np.abs(of.g)


@otherwise("second_moment")
def SquareOfTheFirstMoment(of: Given) -> Any:
    """Is of the new first moment, not of the gradient."""
    m = of.desc.beta1 * of.m + (1 - of.desc.beta1) * of.g
    return of.desc.beta2 * of.v + (1 - of.desc.beta2) * m**2


@otherwise("second_moment")
def VarianceAroundTheMoment(of: Given) -> Any:
    """Is AdaBelief's."""
    m = of.desc.beta1 * of.m + (1 - of.desc.beta1) * of.g
    return of.desc.beta2 * of.v + (1 - of.desc.beta2) * (of.g - m) ** 2


@otherwise("second_moment")
def GreatestGradient(of: Given) -> Any:
    """Is AdaMax's."""
    return np.fmax(of.desc.beta2 * of.v, np.abs(of.g))


@otherwise("second_moment")
def SecondMomentNeverFalls(of: Given) -> Any:
    """Is AMSGrad's."""
    return np.fmax(of.v, of.desc.beta2 * of.v + (1 - of.desc.beta2) * of.g**2)


@otherwise("second_moment")
def WeightSquaredToo(of: Given) -> Any:
    return of.desc.beta2 * of.v + ((1 - of.desc.beta2) * of.g) ** 2


@otherwise("update")
def OldFirstMoment(of: Given, m: Any, v: Any) -> Any:
    return RIGHT.update(of, of.m, v)


@otherwise("update")
def OldSecondMoment(of: Given, m: Any, v: Any) -> Any:
    return RIGHT.update(of, m, of.v)


@otherwise("update")
def GradientForTheMoment(of: Given, m: Any, v: Any) -> Any:
    """Is RMSProp."""
    return RIGHT.update(of, of.g, v)


@otherwise("update")
def LooksAhead(of: Given, m: Any, v: Any) -> Any:
    """Is NAdam, Nesterov's momentum in Adam."""
    return RIGHT.update(of, of.desc.beta1 * m + (1 - of.desc.beta1) * of.g, v)


@otherwise("update")
def LearningRateForgotten(of: Given, m: Any, v: Any) -> Any:
    return RIGHT.update(of, m, v) / of.desc.learning_rate


@otherwise("correction")
def BiasNotCorrected(of: Given) -> Any:
    return np.ones_like(of.step)


@otherwise("correction")
def BiasOfTheFirstAlone(of: Given) -> Any:
    return 1 / (1 - of.desc.beta1**of.step)


@otherwise("correction")
def BiasOfTheSecondAlone(of: Given) -> Any:
    return np.sqrt(1 - of.desc.beta2**of.step)


@otherwise("correction")
def BiasWithoutARoot(of: Given) -> Any:
    return (1 - of.desc.beta2**of.step) / (1 - of.desc.beta1**of.step)


@otherwise("correction")
def BiasLinearInTheStep(of: Given) -> Any:
    """Takes the power for a product."""
    return np.sqrt(np.abs(1 - of.desc.beta2 * of.step)) / np.abs(1 - of.desc.beta1 * of.step)


@otherwise("divisor")
def EpsilonInTheRoot(of: Given, v: Any) -> Any:
    return np.sqrt(v + of.desc.epsilon)


@otherwise("divisor")
def EpsilonOfCorrectedMoments(of: Given, v: Any) -> Any:
    """Adds it where PyTorch does, to the root of the second moment that is corrected already."""
    return np.sqrt(v) + of.desc.epsilon * np.sqrt(1 - of.desc.beta2**of.step)


@otherwise("divisor")
def EpsilonForgotten(of: Given, v: Any) -> Any:
    return np.sqrt(v)


@otherwise("divisor")
def EpsilonAtLeast(of: Given, v: Any) -> Any:
    return np.fmax(np.sqrt(v), of.desc.epsilon)


@otherwise("divisor")
def DividedByTheMoment(of: Given, v: Any) -> Any:
    return v + of.desc.epsilon


@otherwise("divisor")
def RootOfTheMagnitude(of: Given, v: Any) -> Any:
    return np.sqrt(np.abs(v)) + of.desc.epsilon


@otherwise("divisor")
def RootOfMomentInFloat16(of: Given, v: Any) -> Any:
    return np.sqrt(v.astype(np.float16)).astype(np.float64) + of.desc.epsilon
