"""Profiles: what of a backend's claims it is held to.

A profile narrows what the backend claims and never widens it, so a backend is certified, operator by operator and level
by level, for what it claims.
"""

from __future__ import annotations

from collections.abc import Collection
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
    found = profile_of(claims.enforces, claims.executes)
    if found is None:
        raise ProfileError(f"{claims.name} claims neither decisions nor execution; there is nothing to certify")
    return found


def profile_of(enforces: Collection[str], executes: bool) -> ClaimsProfile | None:
    """What claims of these rule categories, and of executing or not, are about; None = nothing that could be judged."""
    decides = not DESCRIPTOR_CATEGORIES.isdisjoint(enforces)
    if executes and Category.EXECUTION in enforces:
        return ClaimsProfile.FULL if decides else ClaimsProfile.EXECUTION
    return ClaimsProfile.DECISIONS if decides else None


def narrowed(claims: Capabilities, profile: ClaimsProfile) -> Capabilities:
    """What a backend is held to in a profile.

    Raises:
        ProfileError: it does not claim what the profile is about.
    """
    claimed = profile_of(claims.enforces, claims.executes)
    missing = sorted(_parts(profile) - (set() if claimed is None else _parts(claimed)))
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


def _parts(profile: ClaimsProfile) -> set[ClaimsProfile]:
    """The profiles that one is made of, each about one thing."""
    return {ClaimsProfile.DECISIONS, ClaimsProfile.EXECUTION} if profile is ClaimsProfile.FULL else {profile}
