"""`certify --package`, `verify`, `keys`, and waivers on the command line."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from backend_files import write_backend
from click.testing import Result
from commands import invoke, records_of
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.packages.profiles import ClaimsProfile, ProfileError, narrowed, widest
from dml_conformance.reports.model.records import Verdict
from dml_conformance.reports.output.folder import FILES, FOR_CI, KNOWN
from dml_conformance.reports.package import MANIFEST, PACKAGE_FILES, SIGNATURE, STATEMENT
from dml_conformance.reports.package.signature import KeyFileError, key_id, read_private_key, read_public_key
from dml_conformance.spec.rules import DESCRIPTOR_CATEGORIES, Category

INVERTS = """
    def execute(self, desc, level, inputs, outputs):
        super().execute(desc, level, inputs, outputs)
        outputs["output_tensor"].view[0] ^= 0xFF
"""
WAIVER = """\
[[waiver]]
rules = ["{rules}"]
reason = "The first byte is inverted"
link = "https://example.com/issues/17"
owner = "kernels@example.com"
expires = {expires}
"""
STATEMENT_TOML = (
    'vendor = "Example Ltd"\nproduct = "Example NPU"\nproduct_version = "1.2"\n[versions]\nfirmware = "7"\n'
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_backend(Path(), INVERTS, file="wrong.py")
    Path("statement.toml").write_text(STATEMENT_TOML)


def certify(*more: str, backend: str = "reference", out: str = "out") -> Result:
    scope = ("--operator", "TILE", "--level", "3_0", "--budget", "quick")
    return invoke("certify", "--backend", backend, *scope, "--out", out, *more)


def write_waiver(rules: str = "*E*.*", expires: str = "2999-12-31") -> None:
    Path("waivers.toml").write_text(WAIVER.format(rules=rules, expires=expires))


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_a_signed_package_is_made_and_verified() -> None:
    assert invoke("keys", "new", "-o", "key").exit_code == 0
    made = certify("--package", "--statement", "statement.toml", "--sign-key", "key")
    assert made.exit_code == 0, made.output
    assert "Package: out.tar.zst" in made.stdout
    assert names("out") == sorted(PACKAGE_FILES)
    assert '"firmware": "7"' in Path("out", STATEMENT).read_text()
    for package in ("out", "out.tar.zst"):
        found = invoke("verify", package, "--public-key", "key.pub")
        assert found.exit_code == 0, found.output
        assert f"{package}: verifies. reference agrees" in found.stdout
        assert "Product: Example NPU 1.2, Example Ltd" in found.stdout


def test_what_does_not_verify_ends_with_1_and_says_why() -> None:
    certify("--package", "--profile", "decisions")
    assert invoke("verify", "out").exit_code == 0
    path = Path("out", STATEMENT)
    assert json.loads(path.read_bytes())["profile"] == "decisions"
    path.write_bytes(path.read_bytes().replace(b'"decisions"', b'"full"'))
    found = invoke("verify", "out")
    assert found.exit_code == 1
    assert "files: statement.json: not the file of the manifest" in found.stdout
    assert "not looked at, as the files are not those of the manifest" in " ".join(found.stdout.split())
    assert found.stdout.endswith("out: does not verify.\n")
    told = json.loads(invoke("verify", "out", "--format", "json").stdout)
    assert told["verifies"] is False
    assert {finding["file"] for finding in told["findings"]} == {"statement.json"}


def test_a_sample_is_run_again() -> None:
    certify("--package")
    found = invoke("verify", "out", "--rerun", "5%", "--backend", "reference", "--rerun-seed", "3")
    assert found.exit_code == 0, found.output
    assert "seed 3" in found.stdout
    found = invoke("verify", "out", "--rerun", "20%", "--backend", "wrong.py:Mine", "--rerun-seed", "3")
    assert found.exit_code == 1
    assert "executed again: expected 'pass accept', found 'fail accept'" in found.stdout


def test_a_package_is_replaced_by_another_and_by_nothing_else() -> None:
    assert certify("--package").exit_code == 0
    assert "exists and is not empty" in certify("--package").stderr
    assert certify("--package", "--replace").exit_code == 0
    shutil.rmtree("out")
    result = certify("--package")
    assert result.exit_code == 2
    assert "out.tar.zst: exists" in result.stderr
    Path("out.tar.zst").write_text("mine")
    assert "is no package; it is not replaced" in certify("--package", "--replace").stderr
    assert Path("out.tar.zst").read_text() == "mine"
    assert names(".") == ["out.tar.zst", "statement.toml", "wrong.py"]


# --- waivers ------------------------------------------------------------------------------------------------------


def test_waived_failures_do_not_count_and_waivers_are_part_of_a_package() -> None:
    write_waiver()
    assert certify(backend="wrong.py:Mine").exit_code == 1
    result = certify("--replace", "--package", "--waivers", "waivers.toml", backend="wrong.py:Mine")
    assert result.exit_code == 0, result.output
    assert "set aside by waivers" in " ".join(result.stdout.split())
    verdicts = {record.verdict for record in records_of(Path("out"))}
    assert Verdict.WAIVED in verdicts
    assert Verdict.FAIL not in verdicts
    assert invoke("verify", "out").exit_code == 0
    assert invoke("verify", "out", "--as-of", "2999-12-31").exit_code == 0
    found = invoke("verify", "out", "--as-of", "3000-01-01")
    assert found.exit_code == 1
    assert "waiver 1: expires: expired on 2999-12-31, before 3000-01-01" in found.stdout


def test_an_expired_waiver_stops_the_run_at_once() -> None:
    write_waiver(expires="2020-01-01")
    result = certify("--waivers", "waivers.toml")
    assert result.exit_code == 2
    assert "waivers.toml: waiver[1].expires: expired on 2020-01-01" in result.stderr
    assert not Path("out").exists()


@pytest.mark.parametrize("package", [True, False])
def test_an_unused_waiver_is_an_error_and_leaves_the_reports(package: bool) -> None:
    write_waiver(rules="GATHER.*")
    if package:
        assert certify("--package").exit_code == 0  # an earlier one, which goes
    result = certify("--replace", "--waivers", "waivers.toml", *(["--package"] if package else []))
    assert result.exit_code == 2
    assert "waivers.toml: waiver[1]: this waiver covers no failure of this run; remove it" in result.stderr
    assert names("out") == sorted(set(FILES) - set(FOR_CI) if package else KNOWN)
    assert not Path("out.tar.zst").exists()


def test_waivers_apply_to_runs_of_corpora() -> None:
    generated = invoke("generate", "--cases", "30", "--operator", "TILE", "--level", "3_0", "-o", "corpus.jsonl")
    assert generated.exit_code == 0
    run = ("run", "corpus.jsonl", "--backend", "reference")
    wrong = ("--backend", "wrong.py:Mine")
    assert invoke(*run, *wrong, "--in-process").exit_code == 1
    write_waiver()
    result = invoke(*run, *wrong, "--workers", "2", "--waivers", "waivers.toml")
    assert result.exit_code == 0, result.output
    assert "set aside by waivers" in " ".join(result.stdout.split())
    write_waiver(rules="GATHER.*")
    result = invoke(*run, "--in-process", "--waivers", "waivers.toml")
    assert result.exit_code == 2
    assert "covers no failure" in result.stderr


# --- keys ---------------------------------------------------------------------------------------------------------


def test_keys_are_made_and_shown() -> None:
    made = invoke("keys", "new", "-o", "key")
    assert made.exit_code == 0
    assert (
        made.stdout.strip()
        == key_id(read_public_key(Path("key.pub")))
        == key_id(read_private_key(Path("key")).public_key())
    )
    for name in ("key", "key.pub"):
        shown = invoke("keys", "show", name)
        assert shown.exit_code == 0
        assert shown.stdout == made.stdout + Path("key.pub").read_text()
    assert "PRIVATE" in Path("key").read_text()
    assert "PRIVATE" not in shown.stdout


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_private_key_is_for_its_owner_alone() -> None:
    old = os.umask(0)
    try:
        invoke("keys", "new", "-o", "key")
    finally:
        os.umask(old)
    assert stat.S_IMODE(Path("key").stat().st_mode) == 0o600
    Path("key").chmod(0o640)
    result = certify("--package", "--sign-key", "key")
    assert result.exit_code == 2
    assert "others than its owner may use this private key; first: chmod 600 key" in result.stderr
    assert invoke("keys", "show", "key").exit_code == 2


@pytest.mark.parametrize("name", ["key", "key.pub"])
def test_a_key_is_never_replaced(name: str) -> None:
    Path(name).write_text("mine")
    result = invoke("keys", "new", "-o", "key")
    assert result.exit_code == 2
    assert f"{name}: exists; a key is never replaced" in result.stderr
    assert Path(name).read_text() == "mine"
    assert [path.name for path in Path().glob("key*")] == [name]


def test_other_files_are_no_keys() -> None:
    pem = ec.generate_private_key(ec.SECP256R1())
    encoding, public = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    Path("other").write_bytes(
        pem.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    Path("other").chmod(0o600)
    Path("other.pub").write_bytes(pem.public_key().public_bytes(encoding, public))
    Path("text").write_text("text")
    Path("text").chmod(0o600)
    for read, path, message in (
        (read_private_key, "other", "another kind"),
        (read_private_key, "text", "an Ed25519 private key"),
        (read_public_key, "other.pub", "another kind"),
        (read_public_key, "text", "an Ed25519 public key"),
    ):
        with pytest.raises(KeyFileError, match=message):
            read(Path(path))


def test_a_signature_can_be_checked_without_this_project() -> None:
    """By hand, from the standards alone: DSSE's encoding, in-toto's subjects."""

    invoke("keys", "new", "-o", "key")
    certify("--package", "--sign-key", "key")
    envelope = json.loads(Path("out", SIGNATURE).read_bytes())
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    encoding = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])
    key = serialization.load_pem_public_key(Path("key.pub").read_bytes())
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), encoding)  # type: ignore[union-attr, call-arg]
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "urn:dml-conformance:certification:1"
    digests = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert MANIFEST in digests
    for name in set(names("out")) - {SIGNATURE}:
        assert digests[name] == hashlib.sha256(Path("out", name).read_bytes()).hexdigest()


# --- profiles -----------------------------------------------------------------------------------------------------


def claims(*categories: Category, executes: bool = True) -> Capabilities:
    return replace(ReferenceBackend().capabilities(), enforces=frozenset(categories), executes=executes)


def test_profiles_narrow_claims_and_never_widen_them() -> None:
    everything = claims(*Category)
    assert widest(everything) is ClaimsProfile.FULL
    assert narrowed(everything, ClaimsProfile.FULL) == everything
    decisions = narrowed(everything, ClaimsProfile.DECISIONS)
    assert (decisions.enforces, decisions.executes) == (DESCRIPTOR_CATEGORIES, False)
    execution = narrowed(everything, ClaimsProfile.EXECUTION)
    assert (execution.enforces, execution.executes) == ({Category.EXECUTION}, True)
    some = claims(Category.SHAPE, Category.EXECUTION)
    assert narrowed(some, ClaimsProfile.DECISIONS).enforces == {Category.SHAPE, Category.ACCEPTANCE}


@pytest.mark.parametrize(
    ("found", "profile", "message"),
    [
        (
            claims(Category.SHAPE, executes=False),
            ClaimsProfile.FULL,
            "does not claim execution; it can have profile decisions",
        ),
        (claims(Category.SHAPE), ClaimsProfile.EXECUTION, "does not claim execution; it can have profile decisions"),
        (claims(Category.EXECUTION), ClaimsProfile.FULL, "does not claim decisions; it can have profile execution"),
        (claims(), ClaimsProfile.FULL, "claims neither decisions nor execution"),
    ],
)
def test_a_profile_that_is_not_claimed_cannot_be_had(found: Capabilities, profile: ClaimsProfile, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        narrowed(found, profile)
