"""Fuzz the command line: `python -m fuzz --minutes 10`. Exit code 1 if a fault was found."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import given as given_
from hypothesis import strategies as st

from fuzz.judged import Workplace
from fuzz.kinds import KINDS, Input, good_inputs, hostile
from fuzz.sandbox import Sandbox
from fuzz.seeds import make_seeds

ROUND = 50  # inputs of a kind before it is the next one's turn
MOST_SHRINKING = 15.0  # seconds for making an input smaller


@dataclass
class Tally:
    """What became of the inputs of a kind."""

    codes: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0


class Fault(AssertionError):
    """A command did what it should not."""


class Fuzzer:
    """Runs inputs, counts them, and keeps those that show a fault.

    Args:
        workplace: that runs them.
        folder: that failing inputs go to.
    """

    def __init__(self, workplace: Workplace, folder: Path) -> None:
        self._workplace = workplace
        self._folder = folder
        self.tallies: dict[str, Tally] = {}
        self.faults: dict[str, str] = {}

    def round(self, kind: str, strategy: st.SearchStrategy[Input], number: int, examples: int, until: float) -> None:
        """Some inputs of a kind, and if one shows a fault, the smallest that shows it."""
        tally = self.tallies.setdefault(kind, Tally())
        shown: dict[str, tuple[Input, list[str]]] = {}
        shrink_until = math.inf

        @seed(number)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            print_blob=False,
        )
        @given_(strategy)
        def fuzz(given: Input) -> None:
            nonlocal shrink_until
            # Hypothesis asks once more for what it has made smallest, also when the time is over.
            if given.digest not in shown:
                if time.monotonic() > (shrink_until if shown else until):
                    return
                outcome, faults = self._workplace.run(given)
                tally.codes[outcome.code] += 1
                tally.slowest = max(tally.slowest, outcome.seconds)
                new = [fault for fault in faults if _about(kind, given, fault) not in self.faults]
                if not new:
                    return
                shown[given.digest] = given, new
                shrink_until = min(shrink_until, time.monotonic() + MOST_SHRINKING)
            raise Fault

        try:
            fuzz()
        except Fault:
            self._keep(kind, *list(shown.values())[-1])

    def _keep(self, kind: str, given: Input, faults: list[str]) -> None:
        """Save an input, so that the command can be run on it again, and tell of it."""
        folder = self._folder / f"{kind}-{given.digest[:12]}"
        for name, content in given.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        links = "".join(f"ln -s {target} {name}\n" for name, target in given.links.items())
        stdin = f" < {given.stdin}" if given.stdin else ""
        (folder / "COMMAND").write_text(f"{links}dml-conformance {' '.join(given.command)}{stdin}\n")
        self.faults.update({_about(kind, given, fault): str(folder) for fault in faults})
        print(f"\n{kind}: {' '.join(given.command)}\n  in {folder}", flush=True)
        for fault in faults:
            print(f"  {fault}", flush=True)


def _about(kind: str, given: Input, fault: str) -> str:
    """What makes two faults one: the command and the beginning of what is wrong, without the numbers in it."""
    words = "".join("#" if c.isdigit() else c for c in fault)
    return f"{kind}: {' '.join(given.command[:2])}: {words[:60]}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long; 10")
    parser.add_argument("--kind", action="append", help="only this kind of file; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs; 0")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="for inputs that show a fault; build/fuzz")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    with TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        (folder / "seeds").mkdir()
        seeds = make_seeds(folder / "seeds")
        strategies = {kind: hostile(make(seeds)) for kind, make in KINDS.items() if kind in (options.kind or [kind])}
        with Sandbox(folder / "sandbox") as sandbox:
            workplace = Workplace(sandbox)
            for good in good_inputs(seeds):
                workplace.warm_up(good)
            fuzzer = Fuzzer(workplace, options.out)
            number = 0
            while time.monotonic() < until:
                for place, (kind, strategy) in enumerate(strategies.items()):
                    if time.monotonic() < until:
                        fuzzer.round(kind, strategy, options.seed * 1_000_003 + number * 101 + place, ROUND, until)
                number += 1
    _tell(fuzzer)
    return 1 if fuzzer.faults else 0


def _tell(fuzzer: Fuzzer) -> None:
    print(f"\n{'kind':<12}{'inputs':>8}{'0':>7}{'1':>7}{'2':>7}{'other':>7}{'slowest':>10}")
    for kind, tally in fuzzer.tallies.items():
        usual = [tally.codes[code] for code in (0, 1, 2)]
        counts = "".join(f"{count:>7,}" for count in (*usual, tally.codes.total() - sum(usual)))
        print(f"{kind:<12}{tally.codes.total():>8,}{counts}{tally.slowest:>8.2f} s")
    total = sum(tally.codes.total() for tally in fuzzer.tallies.values())
    print(f"{total:,} inputs, {len(fuzzer.faults)} faults")


if __name__ == "__main__":
    sys.exit(main())
