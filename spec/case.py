"""A case: one descriptor at one level, its input data as a recipe, and what the specification expects of it.

A case is plain JSON and means the same on every machine: contents are never stored, a recipe names a pattern and a
seed (`strategies.values` fills buffers from it). Only worked examples carry explicit values.
"""

from __future__ import annotations

import hashlib
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
        in_place: whether the output is bound to this input's memory too.
    """

    pattern: str
    seed: int = 0
    values: tuple[int | float, ...] = ()
    in_place: bool = False


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
    """

    desc: OperatorDesc
    level: Level
    data: dict[str, Recipe] | None
    rule: str
    outcome: Outcome
    broken: tuple[str, ...] = ()
    origin: str = ""

    @classmethod
    def of(
        cls,
        desc: OperatorDesc,
        level: Level,
        data: dict[str, Recipe] | None = None,
        *,
        rule: str = "",
        origin: str = "",
    ) -> Case:
        """A case whose expectation is what the validator decides."""
        decision = decide(desc, level)
        return cls(desc, level, data, rule, decision.outcome, decision.rules, origin)

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
        """SHA-256 over the canonical JSON of what is executed: the descriptor, level and data, not the labels."""
        return digest_of(self.to_json())

    @classmethod
    def from_json(cls, value: Any, where: str = "case") -> Case:
        """Read what `to_json` wrote. The expectation is decided anew: a case cannot bring its own verdict.

        Raises:
            FormError: naming the field and what was expected there.
        """
        if not isinstance(value, dict):
            raise FormError(where, "expected an object with type, desc, level and data")
        unknown = set(value) - {"type", "desc", "level", "data", "rule", "expect", "origin"}
        if unknown:
            raise FormError(f"{where}.{min(unknown)}", "a case has no such field; it has type, desc, level, data, rule")
        if "level" not in value:
            raise FormError(f"{where}.level", "missing; expected a feature level such as 3_0")
        desc = desc_from_json({key: value[key] for key in ("type", "desc") if key in value}, where)
        try:
            level = Level.parse(msgspec.convert(value.get("level"), str))
            named = msgspec.convert(value.get("data"), dict[str, Recipe] | None)
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
        return cls.of(desc, level, _by_key(named, keys), rule=rule, origin=origin)

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
        return cls.of(desc, level, data, rule=form.rule, origin=form.origin), form.expect


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
    rule: str = ""
    expect: Any = None
    origin: str = ""


_USUAL_DECODER = msgspec.json.Decoder(_UsualCase)
_LEVELS = {level.label: level for level in Level}


@cache
def _rule_ids(operator: str) -> frozenset[str]:
    return frozenset(rule.id for rule in rules_of(operator))


def digest_of(content: dict[str, Any]) -> str:
    """The digest of a case, from what its `to_json` gave."""
    executed = {name: content[name] for name in ("type", "desc", "level", "data")}
    return hashlib.sha256(msgspec.json.encode(executed, order="sorted")).hexdigest()
