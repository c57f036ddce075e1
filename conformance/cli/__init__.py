"""The command line, `dml-conformance`.

Nothing but click is imported until a command runs, so that `--version` and completion answer at once. A command module
is added by one line in `COMMANDS`.

Exit codes, everywhere: 0 conformant, 1 not conformant, 2 wrong usage or bad input, 3 the run is incomplete or broken.
"""

from __future__ import annotations

import click

from conformance.cli.lazy import CommandLine

PROGRAM = "dml-conformance"

COMMANDS = {
    "certify": "conformance.cli.certify:certify",
    "replay": "conformance.cli.replay:replay",
    "report": "conformance.cli.report:report",
    "check": "conformance.cli.check:check",
    "completion": "conformance.cli.completion:completion",
    "directml": "conformance.cli.directml:directml",
    "export": "conformance.cli.export:export",
    "export-model": "conformance.cli.exchange:export_model",
    "generate": "conformance.cli.generate:generate",
    "history": "conformance.cli.history:history",
    "import-model": "conformance.cli.exchange:import_model_command",
    "operators": "conformance.cli.catalogue:operators",
    "rules": "conformance.cli.catalogue:rules",
    "keys": "conformance.cli.keys:keys",
    "run": "conformance.cli.run:run",
    "spec": "conformance.cli.spec_commands:spec",
    "strength": "conformance.cli.strength:strength",
    "verify": "conformance.cli.verify:verify",
}


@click.group(
    PROGRAM,
    cls=CommandLine,
    commands_at=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 conformant, 1 not conformant, 2 wrong usage or bad input, 3 the run is incomplete or broken.",
)
@click.version_option(None, "-V", "--version", package_name=PROGRAM, prog_name=PROGRAM)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(context: click.Context, debug: bool) -> None:
    """Certify implementations of DirectML operators, and check descriptors against the specification."""
    context.obj.debug = debug
