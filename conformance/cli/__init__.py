"""The command line, `dml-conformance`.

Nothing but click is imported until a command runs, so that `--help`, `--version` and completion answer at once. A
command module is added by one line in `COMMANDS` and one in `SHORT_HELP`.

Exit codes, everywhere: 0 conformant, 1 not conformant, 2 wrong usage or bad input, 3 the run is incomplete or broken.
"""

from __future__ import annotations

import click

from dml_conformance.conformance.cli.lazy import CommandLine

PROGRAM = "dml-conformance"

COMMANDS = {
    "certify": "dml_conformance.conformance.cli.certify:certify",
    "replay": "dml_conformance.conformance.cli.replay:replay",
    "report": "dml_conformance.conformance.cli.report:report",
    "accuracy": "dml_conformance.conformance.cli.accuracy:accuracy",
    "check": "dml_conformance.conformance.cli.check:check",
    "completion": "dml_conformance.conformance.cli.completion:completion",
    "directml": "dml_conformance.conformance.cli.directml:directml",
    "export": "dml_conformance.conformance.cli.export:export",
    "export-model": "dml_conformance.conformance.cli.exchange:export_model",
    "generate": "dml_conformance.conformance.cli.generate:generate",
    "history": "dml_conformance.conformance.cli.history:history",
    "import-model": "dml_conformance.conformance.cli.exchange:import_model_command",
    "merge": "dml_conformance.conformance.cli.merge:merge",
    "operators": "dml_conformance.conformance.cli.catalogue:operators",
    "rules": "dml_conformance.conformance.cli.catalogue:rules",
    "keys": "dml_conformance.conformance.cli.keys:keys",
    "run": "dml_conformance.conformance.cli.run:run",
    "spec": "dml_conformance.conformance.cli.spec_commands:spec",
    "verify": "dml_conformance.conformance.cli.verify:verify",
}

# What each does, for the list of all: their modules take a second to import.
SHORT_HELP = {
    "certify": "Certify a backend against the specification.",
    "replay": "Judge cases again and say what comes of it.",
    "report": "Write one HTML page from results, of one backend or several.",
    "accuracy": "Measure how far results are from the exact values.",
    "check": "Decide whether operator descriptors are valid at a level.",
    "completion": "Print the completion script of a shell.",
    "directml": "Install the real DirectML library, and show what it says.",
    "export": "Write results as CTRF, Markdown, CSV or JUnit.",
    "export-model": "Write cases as DxDispatch models.",
    "generate": "Write a corpus, the cases that run judges.",
    "history": "Keep the sums of many runs, and show what changed.",
    "import-model": "Read the operators of a DxDispatch model.",
    "merge": "Merge the results of all shards of a corpus.",
    "operators": "List all operators, and what of each is judged.",
    "rules": "List the rules of an operator, or of all.",
    "keys": "Make and show keys that sign packages.",
    "run": "Judge the cases of corpora on one backend or several.",
    "spec": "Compare and check the specification itself.",
    "verify": "Verify a package that certify made.",
}


@click.group(
    PROGRAM,
    cls=CommandLine,
    commands_at=COMMANDS,
    short_help_of=SHORT_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 conformant, 1 not conformant, 2 wrong usage or bad input, 3 the run is incomplete or broken.",
)
@click.version_option(None, "-V", "--version", package_name=PROGRAM, prog_name=PROGRAM)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(context: click.Context, debug: bool) -> None:
    """Certify implementations of DirectML operators, and check descriptors against the specification."""
    context.obj.debug = debug
