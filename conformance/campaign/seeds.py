"""The seed of a campaign: one that everybody knows, or one that is secret until the campaign has ended.

Of a secret one a commitment is told before the first case. In the end seed and nonce are told, and whoever has kept the
commitment knows that the seed was no other one.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import NamedTuple

from dml_conformance.reports.model.records import SEED_COMMITMENT, SEED_NONCE, Campaign

MOST_SEED = 2**64 - 1


class Seed(NamedTuple):
    """A seed, and the nonce that hides it in its commitment; "" where it is no secret."""

    value: int
    nonce: str = ""

    @classmethod
    def secret(cls) -> Seed:
        """One that nobody knows."""
        return cls(secrets.randbelow(MOST_SEED + 1), secrets.token_hex(32))

    @classmethod
    def of(cls, campaign: Campaign) -> Seed:
        """That of a campaign."""
        return cls(campaign.seed, campaign.environment.get(SEED_NONCE, ""))

    @property
    def commitment(self) -> str:
        """SHA-256 of the seed in decimal digits, a space and the nonce."""
        return hashlib.sha256(f"{self.value} {self.nonce}".encode()).hexdigest()

    @property
    def environment(self) -> dict[str, str]:
        """What a campaign's environment has of it."""
        return {SEED_COMMITMENT: self.commitment, SEED_NONCE: self.nonce} if self.nonce else {}
