"""Valid files of every kind that a command reads, the same in every run of a release."""

from __future__ import annotations

import io
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import numpy as np
import onnx
import onnx_models
import package_support
import report_data
from click.testing import CliRunner
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from five_operators import FIRST_OF_FAMILIES
from pages_support import OWN_PAGES

from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.cli import main
from dml_conformance.conformance.exchange.corpus import Header, corpus_lines
from dml_conformance.conformance.exchange.dxdispatch.exporting import export
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.history.database import HistoryFile
from dml_conformance.reports.model.records import Phase, Record, Throughput
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.store.results import StoreWriter
from dml_conformance.reports.views.failures import failing_cases
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.strategies.cases import numbered_case
from dml_conformance.strategies.values import in_place_input

WAIVERS = """\
# Known, and agreed on.
[[waiver]]
rules = ["GATHER.values", "TILE.*"]
operators = ["GATHER", "TILE"]
levels = ["3_0"]
reason = "Indices are clamped"
link = "https://example.com/issues/17"
owner = "kernels@example.com"
expires = 2999-12-31

[[waiver]]
cases = ["0123abcd*"]
reason = '''
Of several
lines'''
link = "https://example.com/issues/18"
owner = "kernels@example.com"
expires = 2999-12-31
"""
STATEMENT = """\
vendor = "Example Ltd"
product = "Example NPU"
product_version = "1.2"
device = "X1"
driver = "1.0"
contact = "someone@example.com"
url = "https://example.com"
notes = "None"

[versions]
firmware = "7"
"""

# Of the corpus: sizes that repeat, indices, an array of tensors, arithmetic and reductions.
FEW = ("TILE", "GATHER", "JOIN", "ELEMENT_WISE_ADD1", "REDUCE")
OUT = "out"  # a file or folder that a command is told to write
# In the process of the command, which is the one that is watched.
REFERENCE = ("--backend", "reference", "--in-process")
CERTIFY = ("certify", *REFERENCE, "--operator", "TILE", "--level", "3_0", "--budget", "quick")

# Encrypting draws its salt by chance, so this one was made once, with the password "secret".
_ENCRYPTED_KEY = b"""\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGjMF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBD7VgbmFZnyC2pbO2JD
R0m4AgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQK99OzUe87aDxIXzN
BGrPwgRA7IpHNfeaYN5yyfb7/YUjuGNET++G3PF5ReMFsv2amw1EbqBDTRJOHGN2
l/PwRQWJzNWsuqG7ARKLKwQ2aI5WPw==
-----END ENCRYPTED PRIVATE KEY-----"""


@dataclass(frozen=True, repr=False)
class Seeds:
    """The content of valid files.

    Attributes:
        cases: JSON of single cases, of every operator, executed and broken ones.
        descriptor: JSON of a descriptor.
        model: the files of a DxDispatch model, `model.json` and its buffers.
        inline_model: a model with every way of giving values.
        networks: ONNX models, with a loop and functions too.
        corpus: lines, not compressed.
        results: a database of results in which much fails.
        other_results: of another campaign.
        history: a database of sums.
        package: the files of a package, signed by `private_key`.
        interrupted: what a run of `CERTIFY` into the folder `OUT` leaves beside it when it is interrupted.
        failures: files of failing cases.
        pages: pages of the specification.
        private_key: Ed25519, PEM.
        public_key: Ed25519, PEM.
        other_keys: PEM of keys of other kinds.
    """

    cases: tuple[bytes, ...]
    descriptor: bytes
    model: dict[str, bytes]
    inline_model: bytes
    networks: tuple[bytes, ...]
    corpus: bytes
    results: bytes
    other_results: bytes
    history: bytes
    package: dict[str, bytes]
    interrupted: dict[str, bytes]
    failures: dict[str, bytes]
    pages: dict[str, bytes]
    private_key: bytes
    public_key: bytes
    other_keys: tuple[bytes, ...]

    def __repr__(self) -> str:
        return "<seeds>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # Hypothesis would print all content


def make_seeds(folder: Path) -> Seeds:
    """Make them; the folder is for files on the way and is empty."""
    cases = [numbered_case(0, name, HIGHEST, n) for name in FIRST_OF_FAMILIES for n in range(4)]
    valid = next(case for case in cases if case.data and not in_place_input(case))  # which no model has
    descriptor = {name: valid.to_json()[name] for name in ("type", "desc")}
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    results, summary = _results(folder / "results.sqlite", faulty=True)
    other_results, _ = _results(folder / "other.sqlite", faulty=False)
    with HistoryFile(folder / "history.sqlite", create=True) as history:
        history.add(summary)
    package = package_support.make(folder / "package", ReferenceBackend(), key=key)
    return Seeds(
        cases=tuple(msgspec.json.encode(case.to_json()) for case in cases),
        descriptor=msgspec.json.encode(descriptor),
        model=export(valid, None).all_files(),
        inline_model=msgspec.json.encode(_inline_model(valid)),
        networks=_networks(),
        corpus=b"".join(corpus_lines(Header.of(30, 0, FEW))),
        results=results,
        other_results=other_results,
        history=(folder / "history.sqlite").read_bytes(),
        package={path.name: path.read_bytes() for path in package.iterdir()},
        interrupted=_interrupted(folder / "interrupted"),
        failures=dict(list(failing_cases(summary).items())[:5]),
        pages={path.name: path.read_bytes() for path in OWN_PAGES},
        private_key=_pem(key),
        public_key=_public_pem(key),
        other_keys=_other_keys(key),
    )


def _networks() -> tuple[bytes, ...]:
    """A convolution, shapes that are computed and a loop, each with sizes that have to be given."""
    value, node = onnx_models.value, onnx.helper.make_node
    weights = {"w": np.ones((2, 3, 3, 3), np.float32), "s": np.int64([2, -1])}
    flat = [
        node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        node("Reshape", ["a", "s"], ["b"], name="flat"),
        node("Softmax", ["b"], ["y"], name="softmax"),
    ]
    kinds = (onnx.TensorProto.INT64, onnx.TensorProto.BOOL)
    body = onnx.helper.make_graph(
        [node("Add", ["v", "v"], ["w"]), node("Identity", ["go"], ["on"])],
        "body",
        [value("i", kind=kinds[0]), value("go", kind=kinds[1]), value("v", "n")],
        [value("on", kind=kinds[1]), value("w", "n")],
    )
    loop = [node("Loop", ["t", "", "x"], ["y"], name="loop", body=body)]
    models = (
        onnx_models.model(flat, [value("x", "n", 3, 4, 4)], ["y"], weights),
        onnx_models.model(loop, [value("x", "n")], ["y"], {"t": np.int64(3)}),
    )
    return tuple(model.SerializeToString() for model in models)


def _results(path: Path, *, faulty: bool) -> tuple[bytes, Summary]:
    summary = Summary()
    stream = FanOut(StoreWriter(path), summary)
    stream.start(report_data.campaign())
    for record in (report_data.faulty if faulty else report_data.sound)(200):
        stream.record(record)
    for operator in ("GATHER", "TILE"):
        stream.throughput(
            Throughput(operator, "FLOAT32", "[1024, 1024]", 1 << 22, (0.001, 0.0011, 0.0012), 1e12, 1 << 21)
        )
    stream.finish(report_data.ending())
    return path.read_bytes(), summary


def _interrupted(folder: Path) -> dict[str, bytes]:
    """The files of a run that somebody stops after some hundred cases."""
    judged, record = iter(range(400)), Judge.record

    def until_interrupted(judge: Judge, case: Case, phase: Phase) -> Record:
        if next(judged, None) is None:
            raise KeyboardInterrupt
        return record(judge, case, phase)

    folder.mkdir()
    with chdir(folder), mock.patch.object(Judge, "record", until_interrupted):
        result = CliRunner().invoke(main, [*CERTIFY, "--out", OUT])
    assert "interrupted" in result.output, result.output
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _inline_model(case: Case) -> dict[str, object]:
    """A model of a GATHER with a constant, a sequence, typed values and a file among its buffers."""
    tensor = {"DataType": "FLOAT32", "Sizes": [2, 3]}
    indices = {"DataType": "UINT32", "Sizes": [1, 2]}
    output = {"DataType": "FLOAT32", "Sizes": [2, 2]}
    fields = {"InputTensor": tensor, "IndicesTensor": indices, "OutputTensor": output, "Axis": 1, "IndexDimensions": 2}
    values = [{"type": "FLOAT32", "value": n} for n in (1, 2.5, "inf", "-inf", "nan", 0)]
    return {
        "$schema": "model.schema.json",
        "resources": {
            "mixed": {"initialValuesDataType": "UNKNOWN", "initialValues": values},
            "sequence": {
                "initialValuesDataType": "UINT32",
                "initialValues": {"valueCount": 2, "valueStart": 0, "valueDelta": 1},
            },
            "constant": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 6, "value": 1}},
            "file": {"initialValuesDataType": "UINT32", "initialValues": {"sourcePath": "indices.npy"}},
            "out": {"initialValuesDataType": "FLOAT32", "initialValues": [0, 0, 0, 0]},
        },
        "dispatchables": {
            "one": {"type": "DML_OPERATOR_GATHER", "desc": fields},
            "two": {"type": "DML_OPERATOR_GATHER", "desc": fields},
            "else": {"type": "DML_OPERATOR_OF_A_LATER_HEADER", "desc": {}},
        },
        "commands": [
            {
                "type": "dispatch",
                "dispatchable": "one",
                "bindings": {"InputTensor": "mixed", "IndicesTensor": "sequence", "OutputTensor": "out"},
            },
            {
                "type": "dispatch",
                "dispatchable": "two",
                "bindings": {
                    "InputTensor": {"name": "constant", "elementOffset": 0, "elementSizeInBytes": 4},
                    "IndicesTensor": "file",
                    "OutputTensor": "out",
                },
            },
        ],
    }


def npy() -> bytes:
    """The file that the model names."""
    file = io.BytesIO()
    np.save(file, np.array([0, 2], np.uint32))
    return file.getvalue()


def _pem(key: Ed25519PrivateKey | X25519PrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)


def _public_pem(key: Ed25519PrivateKey) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form)


def _other_keys(key: Ed25519PrivateKey) -> tuple[bytes, ...]:
    elliptic = derive_private_key(12345, SECP256R1())
    forms = serialization.PrivateFormat
    return (
        _ENCRYPTED_KEY,
        key.private_bytes(serialization.Encoding.PEM, forms.OpenSSH, serialization.NoEncryption()),
        elliptic.private_bytes(serialization.Encoding.PEM, forms.TraditionalOpenSSL, serialization.NoEncryption()),
        _pem(X25519PrivateKey.from_private_bytes(bytes(range(32)))),
    )
