"""`dml-conformance corpus`: corpora of what people run, the layers of their models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dml_conformance.conformance.cli.generate import corpus_option
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import LEVEL, NETWORKS, PATH, ParsedType, format_option, replace_option
from dml_conformance.conformance.exchange.corpus import Header, LayerUse, corpus_lines
from dml_conformance.conformance.exchange.corpus_files import STANDARD_STREAM, write_corpus
from dml_conformance.conformance.exchange.networks.stored import network_at, network_names, stored_network
from dml_conformance.reports.model.text import count_of, pretty_json
from dml_conformance.spec.errors import BadInputError
from dml_conformance.spec.levels import HIGHEST, Level

if TYPE_CHECKING:
    from dml_conformance.conformance.exchange.onnx.layers import Layers


@click.group()
def corpus() -> None:
    """Write corpora, which run judges, of what people run."""


def _dimension(text: str) -> tuple[str, int]:
    """Read `batch=1`; raises ValueError."""
    symbol, _, size = text.rpartition("=")
    if not symbol or not size.isascii() or not size.isdigit() or not 0 < int(size) < 2**32:
        raise ValueError(f"expected a name and a size, such as batch=1; found {text!r}")
    return symbol, int(size)


@corpus.command("from-model")
@click.argument("model", metavar="MODEL.onnx", type=PATH)
@click.option("--level", type=LEVEL, help="Feature level of the cases; the highest if not given.")
@click.option(
    "--dim",
    "dims",
    multiple=True,
    type=ParsedType("dimension", _dimension),
    metavar="NAME=SIZE",
    help="Size of a symbolic dimension of the model's inputs; may be repeated.",
)
@corpus_option
@replace_option("the corpus if it exists")
def from_model(
    model: Path, level: Level | None, dims: tuple[tuple[str, int], ...], output: Path, replace: bool
) -> None:
    """Write the descriptors that the layers of an ONNX model become, as ONNX Runtime's DirectML provider makes them.

    There is a case for each distinct layer, with its count and the names of its nodes. Weights are not read. A node
    that becomes no valid descriptor at the level is told on standard error with the reason. Exit code 0: there is a
    case; 2: the model cannot be read, a size is missing, or no node could be mapped.
    """
    found = _layers(model, level or HIGHEST, dict(dims))
    name = click.format_filename(model)
    for told in found.unmapped:
        domain = f"{told.domain} " if told.domain else "opset "
        echo(f"{name}: node {told.node!r}: {told.op_type} of {domain}{told.version}: {told.reason}", err=True)
    if not found.layers:
        raise BadInputError(f"{name}: no node of it could be mapped to a descriptor at {level or HIGHEST}")
    cases = [layer.case for layer in found.layers]
    lines = corpus_lines(
        Header.of_model(model.name, cases), cases, [LayerUse.of(layer.nodes) for layer in found.layers]
    )
    write_corpus(output, lines, replace=replace)
    if str(output) != STANDARD_STREAM:
        steps = sum(layer.count for layer in found.layers)
        left = f"; {count_of(len(found.unmapped), 'node')} not mapped" if found.unmapped else ""
        echo(f"Corpus: {output}, {count_of(len(cases), 'case')} of {count_of(steps, 'layer')}{left}")


@corpus.command()
@click.argument("names", metavar="NAME", type=NETWORKS)
@click.option("--level", type=LEVEL, help="Feature level of the cases; the highest if not given.")
@corpus_option
@replace_option("the corpus if it exists")
def network(names: tuple[str, ...], level: Level | None, output: Path, replace: bool) -> None:
    """Write the layers of a network that has a name, as corpus networks lists them.

    It needs no package onnx. Layers that the level does not allow are told on standard error. Exit code 0: there is a
    case; 2: there is no such network, or several have names that begin so.
    """
    if len(names) > 1:
        raise click.UsageError(f"expected the name of one network; {', '.join(names)} begin so")
    (name,) = names
    described, cases = network_at(name, level or HIGHEST)
    for told in described.unmapped:
        echo(f"{name}: node {told.node!r}: {told.type}: {told.reason}", err=True)
    if not cases:
        raise BadInputError(f"{name}: no layer of it is valid at {level}")
    lines = corpus_lines(Header.of_model(name, cases), cases, [LayerUse.of(layer.nodes) for layer in described.layers])
    write_corpus(output, lines, replace=replace)
    if str(output) != STANDARD_STREAM:
        steps = sum(len(layer.nodes) for layer in described.layers)
        echo(f"Corpus: {output}, {count_of(len(cases), 'case')} of {count_of(steps, 'layer')}")


@corpus.command()
@format_option("text", "json")
def networks(format_: str) -> None:
    """List the networks that have names: what certify --models judges, and corpus network writes."""
    found = []
    for name in network_names():
        stored, layers = stored_network(name)
        layer_count = sum(len(layer.nodes) for layer in layers)
        row = {"network": name, "parameters": stored.parameters, "layers": layer_count, "distinct": len(layers)}
        found.append(row | {"level": stored.level})
    if format_ == "json":
        echo(pretty_json(found, 120))
        return
    for row in found:
        echo(
            f"{row['network']}: {row['parameters']:,} parameters, {row['layers']:,} layers of {row['distinct']} kinds, "
            f"from level {row['level']} on"
        )


def _layers(path: Path, level: Level, dims: dict[str, int]) -> Layers:
    """The layers of a model in a file; raises BadInputError, naming the file."""
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise BadInputError("models are read by the package onnx; run: pip install 'dml-conformance[onnx]'") from None
    from dml_conformance.conformance.exchange.onnx.layers import layers_of
    from dml_conformance.conformance.exchange.onnx.reading import OnnxModelError, read_model

    model = read_model(path)
    try:
        return layers_of(model, level, dims, path.name)
    except OnnxModelError as error:
        raise OnnxModelError(f"{path}: {error}") from None
