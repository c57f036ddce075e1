"""`spec errata`: the document for those who maintain the pages."""

from __future__ import annotations

from pathlib import Path

import click

from dml_conformance.conformance.cli.files import HTML, JSON, OutputFile, output_options
from dml_conformance.conformance.cli.options import OPERATOR, format_option
from dml_conformance.reports.model.text import indented_json

_TITLE = "# Errata of the DirectML pages"
_SIGNATURES = {"md": _TITLE.encode(), "json": JSON, "html": HTML}


@click.command(name="errata")
@click.option("--operator", "names", type=OPERATOR, multiple=True, help="Only this operator; may be given again.")
@format_option("md", "json", "html")
@output_options("FILE")
def errata_command(names: tuple[str, ...], format_: str, output: Path, replace: bool) -> None:
    """Write what is known to be wrong on the pages, for those who maintain them.

    For each erratum: page and place, what it says and why that cannot stand, the evidence, and a proposed wording. The
    evidence is computed: examples run on the reference, descriptors decided by the rules, the checks of spec check, and
    what the real library does where that is on record. Without --operator also what concerns every tensor and the
    levels.
    """
    from dml_conformance.documents.errata import INTRODUCTION, as_html, as_markdown, errata_document

    target = OutputFile(output, replace=replace, signature=_SIGNATURES[format_])
    document = errata_document(names)
    if format_ == "json":
        text = indented_json(document) + "\n"
    elif format_ == "html":
        text = as_html(document)
    else:
        text = f"{_TITLE}\n\n{INTRODUCTION}\n\n{as_markdown(document)}\n"
    target.write(text)
