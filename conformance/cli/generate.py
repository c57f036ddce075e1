"""`dml-conformance generate`: write a corpus of seeded cases."""

from __future__ import annotations

from pathlib import Path

import click

from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import SHARD, levels_option, operators_option, replace_option, seed_option
from dml_conformance.conformance.exchange.corpus import WHOLE, Header, Shard, corpus_lines
from dml_conformance.conformance.exchange.corpus_files import STANDARD_STREAM, write_corpus
from dml_conformance.reports.views.console import Steps
from dml_conformance.spec.levels import Level

corpus_option = click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="The corpus to write, compressed where the name ends in .zst; - for standard output. It must not exist yet.",
)


@click.command()
@click.option(
    "--cases",
    required=True,
    metavar="N",
    type=click.IntRange(0, 2**53),
    help="Number of cases, in all shards together.",
)
@seed_option("the cases")
@operators_option
@levels_option
@click.option(
    "--shard", metavar="I/N", type=SHARD, help="Only part I of N, such as 3/16; the parts together are the whole."
)
@corpus_option
@replace_option("the corpus if it exists")
def generate(
    cases: int,
    seed: int,
    operators: tuple[str, ...],
    levels: tuple[Level, ...],
    shard: Shard | None,
    output: Path,
    replace: bool,
) -> None:
    """Write a corpus: cases for 'run', half of them valid and executed, half breaking one rule.

    Without --operator and --level it has all operators at all levels. The same seed, operators and levels give the same
    lines wherever a release runs. Exit code 0: it is written; 2: wrong usage or it cannot be written.
    """
    header = Header.of(cases, seed, operators, levels, shard or WHOLE)
    with Steps(f"Writing {output}", header.in_shard) as steps:
        write_corpus(output, steps.over(corpus_lines(header)), replace=replace)
    if str(output) != STANDARD_STREAM:
        echo(f"Corpus: {output}, {header.in_shard:,} cases")
