"""`dml-conformance keys`: the keys that packages are signed with."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def keys() -> None:
    """Make and show keys that sign packages."""


@keys.command()
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the private key goes; the public one goes beside it, to FILE.pub. Neither may exist.",
)
def new(output: Path) -> None:
    """Make an Ed25519 key pair.

    The private key is not encrypted; its file is made for its owner alone. Print the id of the public key.
    """
    from dml_conformance.reports.package.signature import key_id, new_key

    click.echo(key_id(new_key(output)))


@keys.command()
@click.argument("file", type=click.Path(path_type=Path))
def show(file: Path) -> None:
    """Print the id of the key in FILE, and the public key as PEM.

    FILE is a private or a public key.
    """
    from dml_conformance.reports.package.signature import key_id, public_pem, read_public_key

    key = read_public_key(file)
    click.echo(key_id(key))
    click.echo(public_pem(key).decode(), nl=False)
