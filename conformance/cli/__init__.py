"""The command line, `dml-conformance`.

Nothing but click is imported until a command runs, so that `--help`, `--version` and completion answer at once. A
command module is added by one line in `COMMANDS` and one in `SHORT_HELP`.

Exit codes, everywhere: 0 conformant, 1 not conformant, 2 wrong usage or bad input, 3 the run is incomplete or broken.
"""

from __future__ import annotations

import click

from dml_conformance.conformance.cli.lazy import CommandLine

PROGRAM = "dml-conformance"

# Where each command stands, and what the list of all says of it: their modules take a second to import.
COMMANDS = {
    "certify": ("certify:certify", "Certify a backend against the specification."),
    "replay": ("replay:replay", "Judge cases again and say what comes of it."),
    "report": ("report:report", "Write one HTML page from results, of one backend or several."),
    "accuracy": ("accuracy:accuracy", "Measure how far results are from the exact values."),
    "check": ("check:check", "Decide whether operator descriptors are valid at a level."),
    "completion": ("completion:completion", "Print the completion script of a shell."),
    "corpus": ("corpus:corpus", "Write a corpus of the layers of a model."),
    "directml": ("directml:directml", "Install the real DirectML library, and show what it says."),
    "export": ("export:export", "Write results as CTRF, Markdown, CSV or JUnit."),
    "export-model": ("exchange:export_model", "Write cases as DxDispatch models."),
    "generate": ("generate:generate", "Write a corpus, the cases that run judges."),
    "history": ("history:history", "Keep the sums of many runs, and show what changed."),
    "import-model": ("exchange:import_model_command", "Read the operators of a DxDispatch model."),
    "merge": ("merge:merge", "Merge the results of all shards of a corpus."),
    "operators": ("catalogue:operators", "List all operators, and what of each is judged."),
    "rules": ("catalogue:rules", "List the rules of an operator, or of all."),
    "keys": ("keys:keys", "Make and show keys that sign packages."),
    "run": ("run:run", "Judge the cases of corpora on one backend or several."),
    "spec": ("spec_commands:spec", "Compare and check the specification itself."),
    "tolerance": ("tolerance:tolerance", "Say what a right implementation may give of some data."),
    "verify": ("verify:verify", "Verify a package that certify made."),
}


@click.group(
    PROGRAM,
    cls=CommandLine,
    commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 conformant, 1 not conformant, 2 wrong usage or bad input, 3 the run is incomplete or broken.",
)
@click.version_option(None, "-V", "--version", package_name=PROGRAM, prog_name=PROGRAM)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(context: click.Context, debug: bool) -> None:
    """Certify implementations of DirectML operators, and check descriptors against the specification."""
    context.obj.debug = debug
