"""What became of the mutants, as a file that is kept, and the explanations of those that survive."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cosmic_ray.work_db import WorkDB

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXPLANATIONS = HERE / "explained.toml"


class Mutant(NamedTuple):
    """One that survives.

    Attributes:
        module: path from the root.
        definition: innermost class or function that it is in; empty at the module's level.
        operator: the mutation operator.
        was: what the line or lines say, without indentation.
        becomes: what they say instead.
        line: where, when the record was made; nothing rests on it.
    """

    module: str
    definition: str
    operator: str
    was: str
    becomes: str
    line: int


class Explanation(NamedTuple):
    """Why mutants survive that are no fault of the tests. Empty patterns fit everything.

    Attributes:
        modules: pattern of module paths.
        was: text that the lines as they are have to contain.
        becomes: texts; a mutant has to become one of them. Empty = any.
        pattern: regular expression that `was => becomes` has to contain.
        operators: pattern of operators.
        reason: why.
    """

    modules: str
    reason: str
    was: str = ""
    becomes: tuple[str, ...] = ()
    pattern: str = ""
    operators: str = "*"

    def fits(self, mutant: Mutant) -> bool:
        return (
            fnmatch(mutant.module, self.modules)
            and fnmatch(mutant.operator, self.operators)
            and self.was in mutant.was
            and (not self.becomes or mutant.becomes in self.becomes)
            and re.search(self.pattern, f"{mutant.was} => {mutant.becomes}") is not None
        )


def explanations() -> list[Explanation]:
    """Those of explained.toml, in its order."""
    found: list[Explanation] = []
    for entry in tomllib.loads(EXPLANATIONS.read_text(encoding="utf-8"))["explained"]:
        reason = entry["reason"] if "reason" in entry else found[-1].reason
        found.append(Explanation(**{**entry, "reason": reason, "becomes": tuple(entry.get("becomes", ()))}))
    return found


def changed_lines(diff: str) -> tuple[str, str]:
    """What a unified diff takes away and what it puts there, each on one line, without indentation."""
    body = [line for line in diff.splitlines() if not line.startswith(("---", "+++", "@@"))]
    was, becomes = ([line[1:].strip() for line in body if line.startswith(sign)] for sign in "-+")
    return " ".join(was).strip(), " ".join(becomes).strip()


def survivors_of(database: WorkDB) -> list[tuple[str, Mutant]]:
    """The mutants of a session that survived, with the ids of their jobs."""
    found = []
    for item, result in database.completed_work_items:
        if result.test_outcome == "survived":
            mutation = item.mutations[0]
            was, becomes = changed_lines(result.diff)
            mutant = Mutant(
                mutation.module_path.as_posix(),
                mutation.definition_name or "",
                mutation.operator_name.split("/")[1],
                was,
                becomes,
                mutation.start_pos[0],
            )
            found.append((item.job_id, mutant))
    return found


@dataclass
class Record:
    """What became of the mutants.

    Attributes:
        timeout: seconds after which a mutant counts as killed.
        killed: how many, by module.
        survivors: all that no test kills.
        not_made: how many Cosmic Ray could not make.
    """

    timeout: float
    killed: dict[str, int] = field(default_factory=dict)
    survivors: list[Mutant] = field(default_factory=list)
    not_made: int = 0

    @classmethod
    def of(cls, sessions: Mapping[Path, Path], timeout: float) -> Record:
        """Of sessions of Cosmic Ray, by module.

        Raises:
            ValueError: a session has mutants that were not tested.
        """
        from cosmic_ray.work_db import WorkDB, use_db

        record = cls(timeout)
        for module, session in sorted(sessions.items()):
            with use_db(session, WorkDB.Mode.open) as database:
                untested = database.num_work_items - database.num_results
                if untested:
                    raise ValueError(f"{untested} mutants of {module} are not tested yet")
                outcomes = Counter(result.worker_outcome.value for _, result in database.results)
                survivors = [mutant for _, mutant in survivors_of(database)]
            record.not_made += outcomes["exception"]
            if outcomes["normal"]:
                record.killed[module.as_posix()] = outcomes["normal"] - len(survivors)
            record.survivors += survivors
        return record

    def unexplained(self, explained: Sequence[Explanation]) -> list[Mutant]:
        return [mutant for mutant in self.survivors if not any(entry.fits(mutant) for entry in explained)]

    def unused(self, explained: Sequence[Explanation]) -> list[Explanation]:
        """The explanations that are no survivor's first."""
        used = {id(next((entry for entry in explained if entry.fits(mutant)), None)) for mutant in self.survivors}
        return [entry for entry in explained if id(entry) not in used]

    def figures(self, explained: Sequence[Explanation]) -> str:
        """The table of docs/mutation.md."""
        survived = Counter(mutant.module for mutant in self.survivors)
        left = Counter(mutant.module for mutant in self.unexplained(explained))
        rows = [(f"`{name}`", killed, survived[name] - left[name], left[name]) for name, killed in self.killed.items()]
        rows.append(("all", *(sum(row[column] for row in rows) for column in (1, 2, 3))))
        lines = ["| module | mutants | killed | survive, explained | survive, unexplained |", "| --- " * 5 + "|"]
        lines += [f"| {name} | {k + e + u:,} | {k:,} | {e:,} | {u:,} |" for name, k, e, u in rows]
        return "\n".join(lines) + f"\n\nNot counted are {self.not_made} mutants that Cosmic Ray could not make.\n"
