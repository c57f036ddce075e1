"""`directml install` and `info`: the library behind the directml backend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import LEVEL, format_option
from dml_conformance.conformance.cli.output import print_json, print_table
from dml_conformance.spec.levels import Level

if TYPE_CHECKING:
    from dml_conformance.backends.directml.feature_sets import FeatureSet
    from dml_conformance.backends.directml.library import LibraryFile


@click.group()
def directml() -> None:
    """Install the real DirectML library, and show what it says of itself."""


@directml.command()
@click.option(
    "--level", type=LEVEL, default="6_2", show_default=True, help="Feature level of the library: 6_2, 5_2 or 5_0."
)
@click.option(
    "--wheel",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The wheel's file, if it is at hand; else pip downloads it.",
)
def install(level: Level, wheel: Path | None) -> None:
    """Fetch the library for Linux x86-64 into the user's cache.

    It comes in the torch-directml wheel, under the MIT licence. Wheel and library are checked against the SHA-256
    known here; the licence is kept beside the library.
    """
    from dml_conformance.backends.directml.install import install as fetch
    from dml_conformance.backends.directml.library import release_of

    library = fetch(release_of(level), wheel)
    echo(f"{library.version}, level {level}, SHA-256 {library.sha256}: {library.path}")


@directml.command()
@click.option("--level", type=LEVEL, help="Of the installed library to ask; else the one that the backend would use.")
@format_option("text", "json")
def info(level: Level | None, format_: str) -> None:
    """Show which libraries are installed, and what the one in use says of itself with each feature set."""
    from dml_conformance.backends.directml.library import find_library

    value = _info(find_library(level))
    if format_ == "json":
        print_json(value)
        return
    used = value["library"]
    echo(f"{used['version']}, level {used['level']}, SHA-256 {used['sha256']}: {used['path']}")
    for path in used["settings"]:
        echo(f"it reads settings from {path}")
    print_table(
        ("feature set", "data types not supported", "calls not provided for"),
        (
            (row["feature_set"], " ".join(row["not_supported"]) or "none", "; ".join(row["unexpected"]) or "none")
            for row in value["feature_sets"]
        ),
    )
    print_table(
        ("level", "version", "installed"),
        ((row["level"], row["version"], row["path"] or "no") for row in value["releases"]),
    )


def _info(library: LibraryFile) -> dict[str, Any]:
    from dml_conformance.backends.directml.feature_sets import FEATURE_SETS
    from dml_conformance.backends.directml.library import RELEASES, installed_path, settings_files

    feature_sets = [_feature_set_info(library, feature_set) for feature_set in FEATURE_SETS.values()]
    return {
        "format": 1,
        "library": {
            "path": str(library.path),
            "version": library.version,
            "sha256": library.sha256,
            "level": feature_sets[0]["level"],
            "settings": [str(path) for path in settings_files()],
        },
        "feature_sets": feature_sets,
        "releases": [
            {
                "level": release.level.label,
                "version": release.version,
                "path": str(path) if (path := installed_path(release)).is_file() else None,
            }
            for _, release in sorted(RELEASES.items())
        ],
    }


def _feature_set_info(library: LibraryFile, feature_set: FeatureSet) -> dict[str, Any]:
    from dml_conformance.backends.directml.process import start
    from dml_conformance.spec.datatypes import DataType

    worker = start(library, feature_set)
    hello = worker.hello
    worker.close()
    return {
        "feature_set": feature_set.name,
        "level": Level(hello.level).label,
        "not_supported": [t.name for t in DataType if t.bits >= 8 and t not in hello.data_types],
        "unexpected": list(hello.unexpected),
    }
