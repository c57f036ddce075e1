"""Profiles: what of a backend's claims it is held to.

A profile narrows what the backend claims and never widens it, so a backend is certified, operator by operator and level
by level, for what it claims.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec.structs import replace

from dml_conformance.backends.base import Capabilities
from dml_conformance.spec.errors import BadInputError
from dml_conformance.spec.rules import DESCRIPTOR_CATEGORIES, Category


class ProfileError(BadInputError, ValueError):
    """A profile that a backend's claims do not reach; the message says what is not claimed."""


class ClaimsProfile(StrEnum):
    """What is judged: decisions on descriptors, execution, or both."""

    DECISIONS = "decisions"
    EXECUTION = "execution"
    FULL = "full"


def widest(claims: Capabilities) -> ClaimsProfile:
    """The profile for all that a backend claims.

    Raises:
        ProfileError: it claims nothing that could be judged.
    """
    if not _decides(claims) and not _executes(claims):
        raise ProfileError(f"{claims.name} claims neither decisions nor execution; there is nothing to certify")
    if not _executes(claims):
        return ClaimsProfile.DECISIONS
    return ClaimsProfile.FULL if _decides(claims) else ClaimsProfile.EXECUTION


def narrowed(claims: Capabilities, profile: ClaimsProfile) -> Capabilities:
    """What a backend is held to in a profile.

    Raises:
        ProfileError: it does not claim what the profile is about.
    """
    missing = [
        what
        for what, needed, claimed in (
            ("decisions", profile is not ClaimsProfile.EXECUTION, _decides(claims)),
            ("execution", profile is not ClaimsProfile.DECISIONS, _executes(claims)),
        )
        if needed and not claimed
    ]
    if missing:
        raise ProfileError(
            f"profile {profile}: {claims.name} does not claim {' and '.join(missing)}; it can have profile "
            f"{widest(claims)}"
        )
    if profile is ClaimsProfile.DECISIONS:
        return replace(claims, enforces=claims.enforces & DESCRIPTOR_CATEGORIES, executes=False)
    if profile is ClaimsProfile.EXECUTION:
        return replace(claims, enforces=claims.enforces - DESCRIPTOR_CATEGORIES)
    return claims


def _decides(claims: Capabilities) -> bool:
    return not claims.enforces.isdisjoint(DESCRIPTOR_CATEGORIES)


def _executes(claims: Capabilities) -> bool:
    return claims.executes and Category.EXECUTION in claims.enforces
