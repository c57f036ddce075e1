"""What is wrong with how a command took a hostile input."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

from fuzz.kinds import Input
from fuzz.sandbox import MOST_SECONDS, Outcome, Sandbox
from fuzz.seeds import OUT

_PROGRAM = "dml-conformance: "
_BAD_INPUT, _BROKEN = 2, 3
_TOO_LARGE = "the harness executes cases of up to"
_NO_MEMORY = "out of memory; the run is incomplete"  # of a case that another machine has memory for
# Hypothesis's own notes; what a later run takes up with --resume; SQLite's index of a journal that came with the file.
_LEFT = re.compile(rf"\.hypothesis/|\.{OUT}\.partial|.*-shm$")
# Controls but tab and line feed; what reorders text on a screen.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Workplace:
    """Runs inputs in a sandbox, each in a fresh folder.

    Args:
        sandbox: that runs them.
        seconds: that each may take.
    """

    def __init__(self, sandbox: Sandbox, seconds: float = MOST_SECONDS) -> None:
        self._sandbox = sandbox
        self._seconds = seconds
        self._folder = sandbox.folder / "work"

    def warm_up(self, given: Input) -> None:
        """Run a good input in the process that is forked later."""
        self._lay_out(given)
        self._sandbox.warm_up(given.command, self._folder)

    def run(self, given: Input) -> tuple[Outcome, list[str]]:
        """Run an input.

        Returns:
            What it came to, and its faults, a line each; none if all is well.
        """
        self._lay_out(given)
        before = self._content()
        stdin = self._folder / given.stdin if given.stdin else None
        outcome = self._sandbox.run(given.command, self._folder, stdin=stdin, seconds=self._seconds)
        return outcome, list(self._faults(given, outcome, before))

    def _lay_out(self, given: Input) -> None:
        for folder in (self._folder, self._sandbox.folder / "tmp"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for name, content in given.files.items():
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o600)
        for name, target in given.links.items():
            (self._folder / name).symlink_to(target)

    def _content(self) -> dict[str, tuple[int, int]]:
        """Every file in the folder, by name: its size and when it was written."""
        found = {}
        for path in self._folder.rglob("*"):
            status = path.lstat()
            found[str(path.relative_to(self._folder))] = status.st_size, status.st_mtime_ns
        return {name: about for name, about in found.items() if not (self._folder / name).is_dir()}

    def _faults(self, given: Input, outcome: Outcome, before: dict[str, tuple[int, int]]) -> Iterator[str]:
        if outcome.timed_out:
            yield f"takes more than {self._seconds:g} seconds"
            return
        if not may_end_so(given, outcome):
            last = outcome.stderr.strip().splitlines()[-1:] or ["nothing on standard error"]
            yield f"ends with code {outcome.code}: {last[0][:300]}"
        yield from dict.fromkeys(f"does what no input may: {line}" for line in outcome.did)
        if outcome.code == _BAD_INPUT:
            yield from _message_faults(given, outcome.stderr)
        for name, text in (("output", outcome.stdout), ("error", outcome.stderr)):
            found = _UNPRINTABLE.search(text.replace("\r\n", "\n"))
            if found:
                around = text[max(found.start() - 40, 0) : found.end() + 20]
                yield f"writes {found[0]!a} to standard {name}: {around!a}"
        if "Traceback (most recent call last)" in outcome.stderr:
            yield "shows a traceback"
        yield from self._leftovers(given, outcome, before)

    def _leftovers(self, given: Input, outcome: Outcome, before: dict[str, tuple[int, int]]) -> Iterator[str]:
        for path in (self._sandbox.folder / "tmp").iterdir():
            yield f"leaves a temporary file: {path.name[:8]}"
        after = self._content()
        writes = _written_by(given) if outcome.code != _BAD_INPUT else ()
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name) and not (_LEFT.match(name) or name.startswith(writes)):
                yield f"writes or removes {name}"


def _written_by(given: Input) -> tuple[str, ...]:
    """Names that a command may make or change."""
    if given.command[:2] == ("history", "add"):
        return (given.command[2],)
    return OUT, *(("p/",) if "--replace" in given.command else ())


def may_end_so(given: Input, outcome: Outcome) -> bool:
    """Whether an exit code is one of an input that is fine (0, 1) or not (2).

    Fine too, and a 3 about which nothing is told on standard error, are cases that do not cover what a backend claims,
    a package of an incomplete run, a case on record whose data this release cannot make, and a case that is too large.
    """
    command, file = (*given.command, "")[:2]
    may_be_incomplete = command in ("run", "verify") or (command == "replay" and not file.endswith(".json"))
    may_be_incomplete |= "--resume" in given.command
    may_be_incomplete |= command == "replay" and _TOO_LARGE in outcome.stdout
    incomplete = may_be_incomplete and outcome.code == _BROKEN and _PROGRAM not in outcome.stderr
    incomplete |= command == "replay" and outcome.code == _BROKEN and _NO_MEMORY in outcome.stderr
    return outcome.code in (0, 1, _BAD_INPUT) or incomplete


def _message_faults(given: Input, stderr: str) -> Iterator[str]:
    """Faults of what is told on standard error of a bad input: one line that names the file."""
    lines = [line for line in stderr.splitlines() if line.startswith(_PROGRAM)]
    if len(lines) != 1 or stderr.splitlines()[-1] != lines[0]:
        yield f"expected one line of the program on standard error, found {stderr[:300]!a}"
    names = {"standard input"} if given.stdin else {name.partition("/")[0] for name in (*given.files, *given.links)}
    if "--resume" in given.command:
        names.add(OUT)  # what is left of a run is called by the folder that it was to have
    if not any(name in stderr for name in names):
        yield f"names no file: {stderr[:300]!a}"
