"""The JSON files of a package: their types, and reading and writing them.

The schemas published in `docs/schemas` are made from these types and texts (`reports.views.schemas`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from dml_conformance.reports.model.records import Count, LevelLabel, Phase, Sha256
from dml_conformance.reports.model.text import MALFORMED, indented_json
from dml_conformance.reports.package import PackageFormError

Date = Annotated[str, msgspec.Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
MaybeText = Annotated[str, msgspec.Meta(max_length=2000)]
Patterns = Annotated[list[Annotated[str, msgspec.Meta(min_length=1, max_length=200)]], msgspec.Meta(max_length=10_000)]


class PackageEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything in these files: no field but its own."""


_D = TypeVar("_D", bound="PackageDocument")


class PackageDocument(PackageEntry, frozen=True, kw_only=True):
    """A whole file; `form` is raised when a reader of the old one could misread the new one."""

    def to_json(self) -> bytes:
        """The file's content; the same for equal documents."""
        return indented_json(self).encode() + b"\n"

    @classmethod
    def from_json(cls: type[_D], text: bytes) -> _D:
        """Read what `to_json` wrote.

        Raises:
            PackageFormError: it is no JSON, or not in this form; the message names the field.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except MALFORMED as error:
            raise PackageFormError(str(error)) from None


class Stated(PackageEntry, frozen=True, kw_only=True):
    """What whoever hands in a package says of the product; nothing of it can be checked from the package.

    Attributes:
        vendor: who makes the product.
        product: its name.
        product_version: the version that was certified.
        device: the hardware, as the vendor calls it.
        driver: its driver and version.
        contact: whom to ask.
        url: where the product is described; "" if nowhere.
        notes: anything else.
        versions: of other parts that matter, by name.
    """

    vendor: Text
    product: Text
    product_version: Text
    device: MaybeText = ""
    driver: MaybeText = ""
    contact: MaybeText = ""
    url: MaybeText = ""
    notes: MaybeText = ""
    versions: dict[str, MaybeText] = {}


class Claims(PackageEntry, frozen=True, kw_only=True):
    """What the backend was held to: its own claims, narrowed to the profile.

    Attributes:
        backend: its name, as on the command line.
        device: the hardware, in the backend's words.
        versions: of the libraries and drivers that its answers depend on.
        levels: feature levels claimed.
        operators: operators claimed.
        categories: of rules that its answers are held to.
        executes: whether it was executed.
    """

    backend: str
    device: str
    versions: dict[str, str]
    levels: list[LevelLabel]
    operators: list[str]
    categories: list[str]
    executes: bool


class Certified(PackageEntry, frozen=True, kw_only=True):
    """Levels at which an operator came out conformant.

    Attributes:
        operator: `GATHER`.
        levels: ascending; empty where there is none.
    """

    operator: str
    levels: list[LevelLabel]


class Statement(PackageDocument, frozen=True, kw_only=True):
    """What a package says: of which product, held to what, and how it came out.

    Attributes:
        form: of this document.
        suite_version: of the package dml-conformance that ran.
        stated: what the vendor says; null where nothing was stated.
        profile: what was judged: decisions on descriptors, execution, or both.
        claims: what the backend was held to.
        outcome: conformant, not conformant or incomplete.
        certified: operators and levels that came out conformant.
        waived: failed cases that a waiver sets aside; they count as neither pass nor failure.
        started: of the campaign; ISO 8601, UTC.
        finished: of the campaign; ISO 8601, UTC.
    """

    form: Literal[1] = 1
    suite_version: str
    stated: Stated | None
    profile: Literal["decisions", "execution", "full"]
    claims: Claims
    outcome: str
    certified: list[Certified]
    waived: Count
    started: str
    finished: str


class PhaseCases(PackageEntry, frozen=True, kw_only=True):
    """The cases of one phase.

    Attributes:
        phase: which.
        cases: how many.
        sha256: over the digests of the cases in order, a line each.
    """

    phase: Phase
    cases: Count
    sha256: Sha256


class CaseList(PackageDocument, frozen=True, kw_only=True):
    """The corpus of a package: what fixes its cases, and digests of them.

    Attributes:
        form: of this document.
        suite_version: whose generators made the cases.
        seed: of search and sweep.
        budget: how much was tried.
        operators: in the order of the run.
        levels: ascending.
        spec: what counted as the specification.
        accuracy: tolerance whose bounds results of arithmetic were held to.
        phases: those that have cases, in the order of the run.
    """

    form: Literal[1] = 1
    suite_version: str
    seed: int
    budget: str
    operators: list[str]
    levels: list[LevelLabel]
    spec: Literal["documented", "observed"]
    accuracy: str = "directml"
    phases: list[PhaseCases]


class Waiver(PackageEntry, frozen=True, kw_only=True):
    """A known difference that until a day counts as no failure. It says what it covers by `cases`, `rules` or both.

    Attributes:
        cases: patterns of case digests, `*` standing for any characters; empty = not limited.
        rules: patterns of rule ids, such as `GATHER.*`; empty = not limited.
        operators: it is limited to; empty = all.
        levels: it is limited to; empty = all.
        reason: why the difference is there.
        link: to where it is tracked; an address that begins with https:// or http://.
        owner: who answers for it.
        expires: the last day on which it holds.
    """

    cases: Patterns = []
    rules: Patterns = []
    operators: list[str] = []
    levels: list[LevelLabel] = []
    reason: Text
    link: Annotated[str, msgspec.Meta(pattern=r"^https?://[^\s/]+\S*$", max_length=2000)]
    owner: Text
    expires: Date


class WaiverList(PackageDocument, frozen=True, kw_only=True):
    """The waivers that a run was given; each of them set at least one failure aside.

    Attributes:
        form: of this document.
        waivers: in the order of the file that they come from; the first that covers a failure applies.
    """

    form: Literal[1] = 1
    waivers: Annotated[list[Waiver], msgspec.Meta(max_length=10_000)] = []


class ManifestEntry(PackageEntry, frozen=True, kw_only=True):
    """A file of the package.

    Attributes:
        name: of the file.
        size: in bytes.
        sha256: of its content.
    """

    name: Text
    size: Count
    sha256: Sha256


class Manifest(PackageDocument, frozen=True, kw_only=True):
    """Every file of a package but this one and the signature.

    Attributes:
        form: of this document, and of the package.
        suite_version: of the package dml-conformance that made it.
        files: by name, ascending.
    """

    form: Literal[1] = 1
    suite_version: str
    files: Annotated[list[ManifestEntry], msgspec.Meta(max_length=100)]


class EnvelopeSignature(PackageEntry, frozen=True, kw_only=True):
    """One signature of an envelope.

    Attributes:
        keyid: SHA-256 of the raw public key, hexadecimal; a hint, by which nothing is trusted.
        sig: Ed25519, over the pre-authentication encoding of type and payload; base64.
    """

    keyid: MaybeText
    sig: Text


class Envelope(PackageEntry, frozen=True, kw_only=True):
    """A signature in the form of DSSE (Dead Simple Signing Envelope) 1.0 around an in-toto Statement v1.

    Attributes:
        payload: the in-toto statement, base64.
        payloadType: of the payload.
        signatures: one or more.
    """

    payload: str
    payloadType: Literal["application/vnd.in-toto+json"]  # noqa: N815 - the standard's own name
    signatures: Annotated[list[EnvelopeSignature], msgspec.Meta(min_length=1, max_length=16)]


class SignedFile(PackageEntry, frozen=True, kw_only=True):
    """A file that a signature covers.

    Attributes:
        name: of the file.
        digest: its SHA-256, under `sha256`.
    """

    name: Text
    digest: dict[Literal["sha256"], Sha256]


class Predicate(PackageEntry, frozen=True, kw_only=True):
    """What the signature says of the files, so that it can be read without them.

    Attributes:
        suite_version: of the package dml-conformance that ran.
        outcome: of the campaign.
        profile: what was judged.
        product: name and version, as stated; "" where nothing was.
        vendor: as stated.
    """

    suite_version: str
    outcome: str
    profile: str
    product: str
    vendor: str


class InTotoStatement(
    PackageEntry, frozen=True, kw_only=True, rename={"type_": "_type", "predicate_type": "predicateType"}
):
    """An in-toto Statement v1 about every file of a package, the manifest included.

    Attributes:
        type_: of the statement.
        subject: the files.
        predicate_type: of the predicate.
        predicate: what is said of them.
    """

    type_: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
    subject: Annotated[list[SignedFile], msgspec.Meta(min_length=1, max_length=100)]
    predicate_type: Literal["urn:dml-conformance:certification:1"] = "urn:dml-conformance:certification:1"
    predicate: Predicate


def decoded(kind: type[Any], text: bytes) -> Any:
    """JSON of a type that is no `PackageDocument`; raises PackageFormError."""
    try:
        return msgspec.json.decode(text, type=kind)
    except MALFORMED as error:
        raise PackageFormError(str(error)) from None
