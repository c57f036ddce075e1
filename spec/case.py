"""A case: one descriptor at one level, its input data as a recipe, and what the specification expects of it.

A case is plain JSON and means the same on every machine: contents are never stored, a recipe names a pattern and a
seed (`strategies.values` fills buffers from it). Only worked examples carry explicit values.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from functools import cache
from typing import Any

import msgspec

from dml_conformance.spec.forms import FormError, desc_from_json, desc_from_usual_text, desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, inputs
from dml_conformance.spec.registry import rules_of
from dml_conformance.spec.validator import Outcome, Reading, decide


class Recipe(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one input tensor's buffer is filled.

    Attributes:
        pattern: name of a pattern in `strategies.values`.
        seed: picks one of the pattern's fillings; together they fix every byte.
        values: for the pattern `explicit`, the logical elements in row-major order; for `explicit-bits` their bits.
        in_place: whether an output is bound to this input's memory too; see `strategies.values.output_in_place`.
        period: elements after which those of a larger tensor begin again; 0 for none.
    """

    pattern: str
    seed: int = 0
    values: tuple[int | float, ...] = ()
    in_place: bool = False
    period: int = 0


MODEL_ORIGIN = "model/"  # before the name of a model and of its nodes, the origin of a case that is a layer
OFFSET_ALIGNMENT = 16  # bytes; all that is promised of a bound offset: DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT
SIZE_ALIGNMENT = 4  # bytes that a bound size is a multiple of


class Order(StrEnum):
    """In which order the tensors of a case lie in memory."""

    DECLARED = "declared"  # inputs, then outputs
    REVERSED = "reversed"
    OUTPUTS_FIRST = "outputs-first"
    OUTPUTS_BETWEEN = "outputs-between"  # after the first half of the inputs


class Placement(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How the tensors of a case are bound.

    Attributes:
        offsets: bytes from the start of a resource to a tensor, of the inputs and then the outputs in turn. A tensor
            with a larger GuaranteedBaseOffsetAlignment is bound at the next multiple of that.
        order: in which they lie in memory.
        heap: whether all of them share one resource, in which the first has its offset and the others its last bits.
        surplus: bytes that are bound beyond those that a tensor needs.

    Raises:
        ValueError: an offset or the surplus is negative, or no multiple of what the API asks for.
    """

    offsets: tuple[int, ...] = (0,)
    order: Order = Order.DECLARED
    heap: bool = False
    surplus: int = 0

    def __post_init__(self) -> None:
        if not self.offsets or any(offset < 0 or offset % OFFSET_ALIGNMENT for offset in self.offsets):
            raise ValueError(f"offsets: expected multiples of {OFFSET_ALIGNMENT}, found {list(self.offsets)}")
        if self.surplus < 0 or self.surplus % SIZE_ALIGNMENT:
            raise ValueError(f"surplus: expected a multiple of {SIZE_ALIGNMENT}, found {self.surplus}")

    @classmethod
    def drawn(cls, digest: str) -> Placement:
        """The placement of a case that names none, from its digest: the same on every machine, and in every release, as
        the digest of a stored case depends on it."""
        draws = bytes.fromhex(digest)
        offset = _OFFSETS[draws[0] % len(_OFFSETS)]
        others = [_OFFSETS[draw % len(_OFFSETS)] for draw in draws[1:3]] if draws[3] % 4 == 0 else ()
        order = _ORDERS[draws[4] % len(_ORDERS)]
        return cls((offset, *others), order, draws[5] % 4 == 0, _SURPLUS[draws[6] % len(_SURPLUS)])

    @property
    def words(self) -> str:
        """What differs from a resource for each tensor, bound from its start on, in the order of declaration."""
        said = [f"at offset {' and '.join(map(str, self.offsets))}" + " in turn" * (len(self.offsets) > 1)]
        said += [_ORDER_WORDS[self.order]] if self.order in _ORDER_WORDS else []
        said += ["all in one resource"] if self.heap else []
        said += [f"{self.surplus} bytes more than needed"] if self.surplus else []
        return ", ".join(said)


_ORDER_WORDS = {
    Order.REVERSED: "in reverse order, outputs before inputs",
    Order.OUTPUTS_FIRST: "outputs before inputs",
    Order.OUTPUTS_BETWEEN: "outputs between inputs",
}
# As often as they stand here. Resources begin where pages do, so an offset says what a tensor is aligned to; 80 is an
# odd multiple of 16. The last two are beyond 16 bits, and seldom, as all that lies before them is memory too.
_OFFSETS = (*(0,) * 5, *(80,) * 4, 16, 16, 256, 256, 4096, 2**16 + 16, 2**16 + 256)
_ORDERS = (*(Order.DECLARED,) * 4, *(Order.REVERSED,) * 2, Order.OUTPUTS_FIRST, Order.OUTPUTS_BETWEEN)
_SURPLUS = (0,) * 6 + (4, 64)


class Case(msgspec.Struct, frozen=True):
    """One case.

    Attributes:
        desc: the operator descriptor.
        level: the feature level that it is held against.
        data: a recipe for each input slot, by its key; None where nothing is executed.
        rule: id of the rule that the case is about, "" if none in particular.
        outcome: the specification's decision.
        broken: ids of the rules that the descriptor breaks, or that leave its fate open on the pages.
        origin: where the case comes from: a worked example's id, or the phase's own numbering.
        placement: how its tensors are bound; None for the one that is drawn from its digest.
        timed: whether it is executed as what is timed is, again and again.
    """

    desc: OperatorDesc
    level: Level
    data: dict[str, Recipe] | None
    rule: str
    outcome: Outcome
    broken: tuple[str, ...] = ()
    origin: str = ""
    placement: Placement | None = None
    timed: bool = False

    @classmethod
    def of(
        cls,
        desc: OperatorDesc,
        level: Level,
        data: dict[str, Recipe] | None = None,
        *,
        rule: str = "",
        origin: str = "",
        placement: Placement | None = None,
        timed: bool = False,
    ) -> Case:
        """A case whose expectation is what the validator decides."""
        decision = decide(desc, level)
        return cls(desc, level, data, rule, decision.outcome, decision.rules, origin, placement, timed)

    @property
    def operator(self) -> str:
        return self.desc.operator

    def read(self, reading: Reading) -> Case:
        """The case with what it is expected to come to by a reading; only open questions can come out otherwise."""
        if reading is Reading.DOCUMENTED or self.outcome is not Outcome.UNSPECIFIED:
            return self
        decision = decide(self.desc, self.level, reading)
        return msgspec.structs.replace(self, outcome=decision.outcome, broken=decision.rules)

    def to_json(self) -> dict[str, Any]:
        return {
            **desc_to_json(self.desc),
            "level": self.level.label,
            "data": self._data_to_json(),
            **({} if self.placement is None else {"placement": msgspec.to_builtins(self.placement)}),
            **({"timed": True} if self.timed else {}),
            "rule": self.rule,
            "expect": {"decision": str(self.outcome), "rules": list(self.broken)},
            "origin": self.origin,
        }

    def _data_to_json(self) -> dict[str, Any] | None:
        """Recipes by DirectML's names. Without inputs an empty object stands for a case that is executed."""
        reads = inputs(self.desc)
        if self.data is None:
            return {} if reads else None
        return {slot.name: msgspec.to_builtins(self.data[slot.key]) for slot in reads if slot.key in self.data}

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of what is executed, not the labels; see `digest_of`."""
        return digest_of(self.to_json())

    @classmethod
    def from_json(cls, value: Any, where: str = "case") -> Case:
        """Read what `to_json` wrote. The expectation is decided anew: a case cannot bring its own verdict.

        Raises:
            FormError: naming the field and what was expected there.
        """
        if not isinstance(value, dict):
            raise FormError(where, "expected an object with type, desc, level and data")
        unknown = set(value) - _FIELDS
        if unknown:
            raise FormError(f"{where}.{min(unknown)}", "a case has no such field; it has type, desc, level, data, rule")
        if "level" not in value:
            raise FormError(f"{where}.level", "missing; expected a feature level such as 3_0")
        desc = desc_from_json({key: value[key] for key in ("type", "desc") if key in value}, where)
        try:
            level = Level.parse(msgspec.convert(value.get("level"), str))
            named = msgspec.convert(value.get("data"), dict[str, Recipe] | None)
            placement = msgspec.convert(value.get("placement"), Placement | None)
            timed = msgspec.convert(value.get("timed", False), bool)
            rule = msgspec.convert(value.get("rule", ""), str)
            origin = msgspec.convert(value.get("origin", ""), str)
        except (ValueError, msgspec.ValidationError) as error:
            raise FormError(where, str(error)) from None
        if rule and rule not in _rule_ids(desc.operator):
            raise FormError(f"{where}.rule", f"{desc.operator} has no rule {rule!r}")
        keys = {slot.name: slot.key for slot in inputs(desc)}
        for name in named or ():
            if name not in keys:
                raise FormError(f"{where}.data.{name}", f"no such input tensor; there are {', '.join(keys)}")
        case = cls.of(desc, level, _by_key(named, keys), rule=rule, origin=origin, timed=timed)
        return case if placement is None else case.bound(placement)

    @classmethod
    def from_text(cls, text: bytes, where: str = "case") -> tuple[Case, Any]:
        """Read the JSON of what `to_json` wrote; returns the case and the expectation that was written with it.

        Text in just that form is read without a Python object for each of its values; whatever else there is, and
        whatever is wrong with it, is for `from_json`.

        Raises:
            FormError: naming the field and what was expected there.
            msgspec.MsgspecError, UnicodeDecodeError, RecursionError: it is no JSON.
        """
        usual = cls._from_usual_text(text)
        if usual is not None:
            return usual
        value = msgspec.json.decode(text)
        return cls.from_json(value, where), value.get("expect")

    @classmethod
    def _from_usual_text(cls, text: bytes) -> tuple[Case, Any] | None:
        try:
            form = _USUAL_DECODER.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        level, desc = _LEVELS.get(form.level), desc_from_usual_text(form.type, form.desc)
        if level is None or desc is None or (form.rule and form.rule not in _rule_ids(desc.operator)):
            return None
        keys = {slot.name: slot.key for slot in inputs(desc)}
        try:
            data = _by_key(form.data, keys)
        except KeyError:
            return None
        case = cls.of(desc, level, data, rule=form.rule, origin=form.origin, timed=form.timed)
        return (case if form.placement is None else case.bound(form.placement)), form.expect

    def bound(self, placement: Placement) -> Case:
        """The case with a placement; the one that is drawn for it goes unsaid."""
        plain = msgspec.structs.replace(self, placement=None)
        is_drawn = placement == Placement.drawn(plain.digest)
        return msgspec.structs.replace(self, placement=None if is_drawn else placement)


def _by_key(named: dict[str, Recipe] | None, keys: dict[str, str]) -> dict[str, Recipe] | None:
    """Recipes by the keys of their slots; see `_data_to_json`."""
    if named is None or (not named and keys):
        return None
    return {keys[name]: recipe for name, recipe in named.items()}


class _UsualCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case as `Case.to_json` writes it."""

    type: str
    desc: msgspec.Raw
    level: str
    data: dict[str, Recipe] | None = None
    placement: Placement | None = None
    timed: bool = False
    rule: str = ""
    expect: Any = None
    origin: str = ""


_FIELDS = frozenset(field.name for field in msgspec.structs.fields(_UsualCase))
_USUAL_DECODER = msgspec.json.Decoder(_UsualCase)
_LEVELS = {level.label: level for level in Level}


@cache
def _rule_ids(operator: str) -> frozenset[str]:
    return frozenset(rule.id for rule in rules_of(operator))


def digest_of(content: dict[str, Any]) -> str:
    """The digest of a case, from what its `to_json` gave.

    It is over the descriptor, level and data, and over that the case is timed; over the placement too where it is not
    the one that is drawn from these.
    """
    executed = {name: content[name] for name in ("type", "desc", "level", "data")}
    if "timed" in content:
        executed["timed"] = content["timed"]
    digest = _sha256(executed)
    if "placement" not in content or msgspec.convert(content["placement"], Placement) == Placement.drawn(digest):
        return digest
    return _sha256(executed | {"placement": content["placement"]})


def _sha256(content: dict[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()
