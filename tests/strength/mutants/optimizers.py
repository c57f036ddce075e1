"""Steps of training by rules that are not Adam's, or not its."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from strength.mutants.base import Arrays, WrongValues, fault, plants, wide


class Given(NamedTuple):
    """The inputs as FLOAT64, and the members."""

    x: Any
    m: Any
    v: Any
    g: Any
    step: Any
    desc: Any


def moment(beta: float, old: Any, new: Any) -> Any:
    return beta * old + (1 - beta) * new


class OtherOptimizer(WrongValues, abstract=True):
    """Does one step otherwise, in FLOAT64 and rounded once."""

    families = ("adam_optimizer",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        given = self.numbers(Given(*wide(desc, arrays).values(), desc))
        m, v = self.first_moment(given), self.second_moment(given)
        return {
            "output_parameters_tensor": given.x - self.update(given, m, v),
            "output_first_moment_tensor": m,
            "output_second_moment_tensor": v,
        }

    def numbers(self, of: Given) -> Given:
        return of

    def first_moment(self, of: Given) -> Any:
        return moment(of.desc.beta1, of.m, of.g)

    def second_moment(self, of: Given) -> Any:
        return moment(of.desc.beta2, of.v, of.g**2)

    def update(self, of: Given, m: Any, v: Any) -> Any:
        return of.desc.learning_rate * self.correction(of) * m / self.divisor(of, v)

    def correction(self, of: Given) -> Any:
        return np.sqrt(1 - of.desc.beta2**of.step) / (1 - of.desc.beta1**of.step)

    def divisor(self, of: Given, v: Any) -> Any:
        return np.sqrt(v) + of.desc.epsilon


RIGHT = OtherOptimizer()


plants("numbers", OtherOptimizer).each(
    CountsFromOne=lambda of: of._replace(step=of.step + 1),
    StepOf16Bits=lambda of: of._replace(step=of.step % 2**16),
    StepWithASign=lambda of: of._replace(step=np.where(of.step < 2.0**31, of.step, of.step - 2.0**32)),
    DecayRatesSwapped=lambda of: of._replace(desc=replace(of.desc, beta1=of.desc.beta2, beta2=of.desc.beta1)),
    WeightsDecay=fault(
        lambda of: of._replace(x=of.x * (1 - 0.01 * of.desc.learning_rate)), "Is AdamW with PyTorch's decay."
    ),
    DecayInTheGradient=fault(
        lambda of: of._replace(g=of.g + 0.01 * of.x), "Adds a penalty's gradient, as Adam with a decay of weights."
    ),
    GradientClipped=lambda of: of._replace(g=np.clip(of.g, -1, 1)),
    GradientAdded=fault(lambda of: of._replace(g=-of.g), "Climbs."),
)

plants("first_moment", OtherOptimizer).each(
    FirstMomentAddsUp=fault(
        lambda of: of.desc.beta1 * of.m + of.g, "Is the momentum of others, without a weight of the gradient."
    ),
    FirstMomentWeightedOtherwise=lambda of: (1 - of.desc.beta1) * of.m + of.desc.beta1 * of.g,
    FirstMomentKept=lambda of: of.m,
)


plants("second_moment", OtherOptimizer).each(
    GradientNotSquared=lambda of: moment(of.desc.beta2, of.v, np.abs(of.g)),
    SquareOfTheFirstMoment=fault(
        lambda of: moment(of.desc.beta2, of.v, moment(of.desc.beta1, of.m, of.g) ** 2),
        "Is of the new first moment, not of the gradient.",
    ),
    VarianceAroundTheMoment=fault(
        lambda of: moment(of.desc.beta2, of.v, (of.g - moment(of.desc.beta1, of.m, of.g)) ** 2), "Is AdaBelief's."
    ),
    GreatestGradient=fault(lambda of: np.fmax(of.desc.beta2 * of.v, np.abs(of.g)), "Is AdaMax's."),
    SecondMomentNeverFalls=fault(lambda of: np.fmax(of.v, moment(of.desc.beta2, of.v, of.g**2)), "Is AMSGrad's."),
    WeightSquaredToo=lambda of: of.desc.beta2 * of.v + ((1 - of.desc.beta2) * of.g) ** 2,
)

plants("update", OtherOptimizer).each(
    OldFirstMoment=lambda of, v: RIGHT.update(of, of.m, v),
    OldSecondMoment=lambda of, m: RIGHT.update(of, m, of.v),
    GradientForTheMoment=fault(lambda of, v: RIGHT.update(of, of.g, v), "Is RMSProp."),
    LooksAhead=fault(
        lambda of, m, v: RIGHT.update(of, moment(of.desc.beta1, m, of.g), v), "Is NAdam, Nesterov's momentum in Adam."
    ),
    LearningRateForgotten=lambda of, m, v: RIGHT.update(of, m, v) / of.desc.learning_rate,
)

plants("correction", OtherOptimizer).each(
    BiasNotCorrected=lambda of: np.ones_like(of.step),
    BiasOfTheFirstAlone=lambda of: 1 / (1 - of.desc.beta1**of.step),
    BiasOfTheSecondAlone=lambda of: np.sqrt(1 - of.desc.beta2**of.step),
    BiasWithoutARoot=lambda of: (1 - of.desc.beta2**of.step) / (1 - of.desc.beta1**of.step),
    BiasLinearInTheStep=fault(
        lambda of: np.sqrt(np.abs(1 - of.desc.beta2 * of.step)) / np.abs(1 - of.desc.beta1 * of.step),
        "Takes the power for a product.",
    ),
)

plants("divisor", OtherOptimizer).each(
    EpsilonInTheRoot=lambda of, v: np.sqrt(v + of.desc.epsilon),
    EpsilonOfCorrectedMoments=fault(
        lambda of, v: np.sqrt(v) + of.desc.epsilon * np.sqrt(1 - of.desc.beta2**of.step),
        "Adds it where PyTorch does, to the root of the second moment that is corrected already.",
    ),
    EpsilonForgotten=lambda v: np.sqrt(v),
    EpsilonAtLeast=lambda of, v: np.fmax(np.sqrt(v), of.desc.epsilon),
    DividedByTheMoment=lambda of, v: v + of.desc.epsilon,
    RootOfTheMagnitude=lambda of, v: np.sqrt(np.abs(v)) + of.desc.epsilon,
    RootOfMomentInFloat16=lambda of, v: np.sqrt(v.astype(np.float16)).astype(np.float64) + of.desc.epsilon,
)
