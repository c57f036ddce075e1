"""`export-model` and `import-model`: cases as DxDispatch models, and models as cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from dml_conformance.conformance.cli.cases import NamedCase, read_cases
from dml_conformance.conformance.cli.files import OutputFile, output_options
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import LEVEL, PATH, out_option
from dml_conformance.conformance.exchange.dxdispatch import MODEL_FILE
from dml_conformance.conformance.exchange.dxdispatch.exporting import ExportedModel, NotExpressible, export
from dml_conformance.conformance.exchange.dxdispatch.importing import import_model
from dml_conformance.reports.model.text import pretty_json
from dml_conformance.reports.output.folder import OutputError, OutputFolder
from dml_conformance.reports.views.console import Steps
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.levels import Level


@click.command("export-model")
@click.argument("cases", metavar="CASE...", nargs=-1, required=True)
@out_option("Folder for the models; it must not hold anything yet.", "-o")
@click.option("--inline", is_flag=True, help="One JSON file a case, with the values in it; for small tensors.")
def export_model(cases: tuple[str, ...], folder: Path, inline: bool) -> None:
    """Write cases as DxDispatch models, for people who have a driver and no Python.

    CASE is as for replay: JSON text, a file, -, RESULTS#ID, or RESULTS for the smallest failing case of each kind,
    operator and rule. Each case gets a folder with model.json, the inputs and the expected outputs as .npy, and a
    README.txt. Exit code 0: all are written; 2: a case cannot be read, or DxDispatch has no form for it.
    """
    named = [one for argument in cases for one in read_cases(argument)]
    if not named:
        raise FormError(" ".join(cases), "holds no failing case; name one by RESULTS#ID")
    with Steps("Exporting", len(named)) as steps:
        exported = [_exported(one, inline) for one in steps.over(named)]
    unique = {one.name: one for one in exported}
    with OutputFolder(folder) as output:
        _write(list(unique.values()), output.folder, folder, inline=inline)
        output.commit()
    for one in unique.values():
        echo(str(folder / (f"{one.name}.json" if inline else one.name)))
        for remark in one.remarks:
            echo(remark, indent=2)


def _exported(named: NamedCase, inline: bool) -> ExportedModel:
    try:
        return export(named.case, named.record, inline=inline)
    except NotExpressible as error:
        raise FormError(named.name, f"cannot be a DxDispatch model: {error}") from None


def _write(models: Sequence[ExportedModel], folder: Path, shown: Path, *, inline: bool) -> None:
    try:
        for model in models:
            if inline:
                (folder / f"{model.name}.json").write_text(model.model_text, encoding="utf-8")
                continue
            (folder / model.name).mkdir()
            for name, content in model.all_files().items():
                (folder / model.name / name).write_bytes(content)
    except OSError as error:
        raise OutputError(f"{shown}: cannot be written: {error.strerror or error}") from error


@click.command("import-model")
@click.argument("model", metavar="MODEL.json", type=PATH)
@click.option("--level", type=LEVEL, help="Feature level of the cases, in place of the one that the model says.")
@output_options("FILE")
def import_model_command(model: Path, level: Level | None, output: Path, replace: bool) -> None:
    """Read the operators of a DxDispatch model, with their buffers' initial values, as cases.

    Writes a list of cases as JSON, as replay reads it. A model made by export-model gives back its case; another one
    gets the highest level unless --level is given. Operators that are not known here, and inputs without initial
    values, are told on standard error; such a case is decided on and not executed. Exit code 0: there is a case; 2:
    the model cannot be read, or has no operator known here.
    """
    target = OutputFile(output, replace=replace, signature=b"[")
    imported = import_model(model / MODEL_FILE if model.is_dir() else model, level)
    name = click.format_filename(model)
    for skipped in imported.skipped:
        echo(f"{name}: {skipped.where}: {skipped.type} is not known here", err=True)
    if not imported.cases:
        raise FormError(name, "has no operator known here")
    for one in imported.cases:
        if one.without_data:
            echo(f"{name}: {one.where}: without data: {one.without_data}", err=True)
    cases = [one.case.to_json() for one in imported.cases]
    target.write(pretty_json(cases, 120) + "\n")
