"""Ed25519 keys and signatures: a DSSE envelope around an in-toto Statement v1 whose subjects are a package's files.

A signature says that the holder of a key had these files in hand; what it does not say stands in the documentation
(`docs/how-to/certify-and-hand-in.md`).

Sources: github.com/secure-systems-lab/dsse (protocol.md, envelope.md), github.com/in-toto/attestation
(spec/v1/statement.md).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dml_conformance.reports.package import PackageFormError
from dml_conformance.reports.package.forms import (
    Envelope,
    EnvelopeSignature,
    InTotoStatement,
    Predicate,
    SignedFile,
    decoded,
)
from dml_conformance.spec.errors import BadInputError

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
MOST_KEY_BYTES = 1 << 16
PUBLIC_SUFFIX = ".pub"

_PRIVATE_MODE, _PUBLIC_MODE = 0o600, 0o644
_EVERYONE_ELSE = stat.S_IRWXG | stat.S_IRWXO


class KeyFileError(BadInputError, ValueError):
    """A key that cannot be read, made or used; the message names the file and says what was expected."""


def new_key(path: Path) -> Ed25519PublicKey:
    """Make a key pair: the private key in `path`, for its owner alone, the public one beside it in `path`.pub.

    Both are PEM (PKCS #8 without encryption; SubjectPublicKeyInfo).

    Raises:
        KeyFileError: one of the files exists, or cannot be written; then none of them is left.
    """
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = public_pem(key.public_key())
    public_path = path.with_name(path.name + PUBLIC_SUFFIX)
    _write_new(path, private, _PRIVATE_MODE)
    try:
        _write_new(public_path, public, _PUBLIC_MODE)
    except KeyFileError:
        path.unlink()
        raise
    return key.public_key()


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that is not there yet; it has its mode from its first moment on."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise KeyFileError(f"{path}: exists; a key is never replaced, name another file") from None
    except OSError as error:
        raise KeyFileError(f"{path}: cannot be written: {error.strerror or error}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise KeyFileError(f"{path}: cannot be written: {error.strerror or error}") from None


def public_pem(key: Ed25519PublicKey) -> bytes:
    """The key as PEM."""
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def key_id(key: Ed25519PublicKey) -> str:
    """SHA-256 of the 32 bytes of a public key, in hexadecimal."""
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a file.

    Raises:
        KeyFileError: it is none, or others than its owner may read the file.
    """
    content = _content(path, private=True)
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm, InternalError):
        raise KeyFileError(
            f"{path}: expected an Ed25519 private key as 'dml-conformance keys new' makes it: PEM, not encrypted"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"{path}: expected an Ed25519 key, found a key of another kind")
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    """The public key in a file, which may also be the private key's.

    Raises:
        KeyFileError: there is none in it.
    """
    content = _content(path, private=False)
    if b"PRIVATE KEY" in content:
        return read_private_key(path).public_key()
    try:
        key = serialization.load_pem_public_key(content)
    except (ValueError, TypeError, UnsupportedAlgorithm, InternalError):
        raise KeyFileError(f"{path}: expected an Ed25519 public key, PEM, as in the file that ends in .pub") from None
    if not isinstance(key, Ed25519PublicKey):
        raise KeyFileError(f"{path}: expected an Ed25519 key, found a key of another kind")
    return key


def _content(path: Path, *, private: bool) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(MOST_KEY_BYTES)
    except OSError as error:
        raise KeyFileError(f"{path}: cannot be read: {error.strerror or error}") from None
    if private and os.name == "posix" and mode & _EVERYONE_ELSE:
        raise KeyFileError(f"{path}: others than its owner may use this private key; first: chmod 600 {path.name}")
    return content


def signed(digests: Mapping[str, str], predicate: Predicate, key: Ed25519PrivateKey) -> bytes:
    """The content of the file that signs a package.

    Args:
        digests: SHA-256 of each file, the manifest's too, by name.
        predicate: what is said of them.
        key: whose holder says so.
    """
    statement = InTotoStatement(
        subject=[SignedFile(name=name, digest={"sha256": digests[name]}) for name in sorted(digests)],
        predicate=predicate,
    )
    payload = msgspec.json.encode(statement)
    signature = key.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
    return _written(payload, [(key_id(key.public_key()), signature)])


def _written(payload: bytes, signatures: Sequence[tuple[str, bytes]]) -> bytes:
    """The file's content; the same for the same payload and signatures."""
    envelope = Envelope(
        payload=base64.b64encode(payload).decode(),
        payloadType=PAYLOAD_TYPE,
        signatures=[EnvelopeSignature(keyid=name, sig=base64.b64encode(raw).decode()) for name, raw in signatures],
    )
    return msgspec.json.format(msgspec.json.encode(envelope), indent=2) + b"\n"


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """What is signed, so that no payload can be taken for one of another type: DSSE's PAE."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


class SignedStatement(msgspec.Struct, frozen=True):
    """A signature file that has the right form; nothing in it is trusted yet.

    Attributes:
        statement: what it says.
        signed: the bytes that the signatures are over.
        signatures: raw, each with the key id beside it.
        is_canonical: whether the file is what is written for this content, byte by byte.
    """

    statement: InTotoStatement
    signed: bytes
    signatures: Sequence[tuple[str, bytes]]
    is_canonical: bool

    def ids_of(self, key: Ed25519PublicKey) -> list[str]:
        """The key ids beside those signatures that are this key's; any text can stand there."""
        return [name for name, signature in self.signatures if _is_by(key, signature, self.signed)]


def _is_by(key: Ed25519PublicKey, signature: bytes, content: bytes) -> bool:
    try:
        key.verify(signature, content)
    except InvalidSignature:
        return False
    return True


def opened(content: bytes) -> SignedStatement:
    """Read a signature file.

    Raises:
        PackageFormError: it has not the form of one; the message names the field.
    """
    envelope: Envelope = decoded(Envelope, content)
    payload = _from_base64(envelope.payload, "payload")
    statement: InTotoStatement = decoded(InTotoStatement, payload)
    signatures = tuple((each.keyid, _from_base64(each.sig, "signatures")) for each in envelope.signatures)
    return SignedStatement(
        statement,
        pre_authentication_encoding(envelope.payloadType, payload),
        signatures,
        is_canonical=content == _written(msgspec.json.encode(statement), signatures),
    )


def _from_base64(text: str, field: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise PackageFormError(f"{field}: expected base64") from None
