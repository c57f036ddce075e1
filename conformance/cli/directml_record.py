"""`directml record`: the calls of Direct3D 12 that the real library makes for operators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.conformance.cli.lines import complain
from dml_conformance.conformance.cli.options import LEVEL, format_option
from dml_conformance.conformance.cli.output import print_json
from dml_conformance.reports.text import in_lines

if TYPE_CHECKING:
    from dml_conformance.backends.directml.library import Library
    from dml_conformance.backends.directml.profiles import Profile
    from dml_conformance.backends.directml.recording.calls import Recording
    from dml_conformance.backends.directml.recording.process import Recorder
    from dml_conformance.spec.levels import Level
    from dml_conformance.spec.operator import OperatorDesc

FORMAT = 1


class Subject(NamedTuple):
    """An operator to record: the argument that it comes from, the place there, and the descriptor."""

    source: str
    where: str
    desc: OperatorDesc


class Outcome(NamedTuple):
    """What came of it: a recording, or why there is none and the exit code that this means."""

    subject: Subject
    recording: Recording | None
    problem: str = ""
    code: Exit = Exit.CONFORMANT


@click.command()
@click.argument("subjects", nargs=-1, required=True, metavar="MODEL.json|EXAMPLE...", type=click.Path(allow_dash=True))
@click.option("--level", type=LEVEL, help="Of the installed library to ask; else the one that the backend would use.")
@click.option("--device-profile", metavar="PROFILE", help="What the recording device claims to be, such as no-doubles.")
@format_option("text", "json")
@click.pass_context
def record(
    context: click.Context, subjects: tuple[str, ...], level: Level | None, device_profile: str | None, format_: str
) -> None:
    """Show what the real DirectML asks of Direct3D 12 to run operators.

    A MODEL.json holds descriptors as for check; an EXAMPLE is a worked example of the pages, such as GATHER/1; - reads
    standard input. Each operator is compiled, initialized and dispatched on a device that takes down every call and
    does nothing: no GPU is needed, and nothing is computed.

    Ends with 0 if everything was recorded, 1 if the library refuses an operator, 2 if a file cannot be read or there
    is no library, 3 if the library crashed or called what the recording device does not have.
    """
    from dml_conformance.backends.directml.library import find_library
    from dml_conformance.backends.directml.recording.process import Recorder

    found = [subject for argument in subjects for subject in _read(argument)]
    library, profile = find_library(level), _profile(device_profile)
    with Recorder(library, profile) as recorder:
        outcomes = [_recorded(recorder, subject) for subject in found]
        spoken = recorder.hello.level
    if format_ == "json":
        print_json(_as_json(outcomes, library, spoken, profile))
    else:
        click.echo(in_lines(_as_text(outcomes, library, spoken, profile)))
    for outcome in outcomes:
        if outcome.problem:
            subject = outcome.subject
            place = ": ".join(filter(None, (subject.source, subject.where)))
            complain(f"{place}: {outcome.problem}")
    context.exit(max(outcome.code for outcome in outcomes))


def _read(argument: str) -> Iterator[Subject]:
    from dml_conformance.conformance.cli.models import name_of, read_operators
    from dml_conformance.spec.examples import examples

    if argument in examples() and not Path(argument).exists():
        yield Subject(argument, "", examples()[argument].with_types())
        return
    for located in read_operators(argument).operators:
        yield Subject(name_of(argument), located.where, located.desc)


def _profile(name: str | None) -> Profile:
    from dml_conformance.backends.directml.profiles import FULL, PROFILES

    if name is not None and name not in PROFILES:
        raise click.BadParameter(f"{name!r} is none of {', '.join(PROFILES)}.", param_hint="--device-profile")
    return FULL if name is None else PROFILES[name]


def _recorded(recorder: Recorder, subject: Subject) -> Outcome:
    from dml_conformance.backends.base import Unsupported
    from dml_conformance.backends.directml.errors import LibraryCrash
    from dml_conformance.backends.directml.recording.process import OperatorRefused, RecordingError

    try:
        (recording,) = recorder.record([subject.desc])
    except OperatorRefused as refused:
        return Outcome(subject, None, f"refused: {refused}", Exit.NOT_CONFORMANT)
    except Unsupported as error:
        return Outcome(subject, None, str(error), Exit.BAD_INPUT)
    except (LibraryCrash, RecordingError) as error:
        return Outcome(subject, None, str(error), Exit.BROKEN)
    return Outcome(subject, recording)


def _as_json(outcomes: list[Outcome], library: Library, level: int, profile: Profile) -> dict[str, Any]:
    """The outcomes as `--format json` prints them.

    Returns:
        `format` (1; another number when a member changes its meaning), `library` (version, sha256, level),
        `device_profile`, and `operators`: each with `source`, `where`, `operator`, `problem` ("" if it was recorded)
        and `recording` (null if it was not): `backends.directml.recording.calls.Recording`.
    """
    from dml_conformance.spec.levels import Level

    return {
        "format": FORMAT,
        "library": {"version": library.version, "sha256": library.sha256, "level": Level(level).label},
        "device_profile": profile.name,
        "operators": [
            {
                "source": outcome.subject.source,
                "where": outcome.subject.where,
                "operator": outcome.subject.desc.operator,
                "problem": outcome.problem,
                "recording": outcome.recording,
            }
            for outcome in outcomes
        ],
    }


def _as_text(outcomes: list[Outcome], library: Library, level: int, profile: Profile) -> Iterator[str]:
    from dml_conformance.backends.directml.recording.text import lines
    from dml_conformance.spec.levels import Level
    from dml_conformance.spec.registry import spec_of

    yield f"{library.version}, level {Level(level)}, on a recording device ({profile.name})"
    for outcome in outcomes:
        subject = outcome.subject
        place = ": ".join(filter(None, (subject.source, subject.where, spec_of(subject.desc).dml_name)))
        yield ""
        yield (place if outcome.recording else f"{place}: not recorded")
        for line in lines(outcome.recording) if outcome.recording else ():
            yield f"  {line}"
