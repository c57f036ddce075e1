"""What became of the mutants, as a file that is kept, and the explanations of those that survive."""

from __future__ import annotations

import json
import platform
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cosmic_ray.work_db import WorkDB

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.json"
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


def record_of(sessions: Mapping[Path, Path], timeout: float) -> dict[str, Any]:
    """What sessions of Cosmic Ray, by module, came to, as JSON."""
    from cosmic_ray.work_db import WorkDB, use_db

    modules: dict[str, dict[str, int]] = {}
    not_made = 0
    survivors: list[Mutant] = []
    for module, session in sorted(sessions.items()):
        with use_db(session, WorkDB.Mode.open) as database:
            untested = database.num_work_items - database.num_results
            if untested:
                raise ValueError(f"{untested} mutants of {module} are not tested yet")
            outcomes = Counter(result.worker_outcome.value for _, result in database.results)
            found = [mutant for _, mutant in survivors_of(database)]
        not_made += outcomes["exception"]
        if outcomes["normal"]:
            modules[module.as_posix()] = {"killed": outcomes["normal"] - len(found), "survived": len(found)}
        survivors += found
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {
            "Python": ".".join(platform.python_version_tuple()[:2]),
            **{name: version(name) for name in ("cosmic-ray", "hypothesis", "numpy", "pytest")},
        },
        "timeout": timeout,
        "not_made": not_made,
        "modules": modules,
        "survivors": [survivor._asdict() for survivor in sorted(survivors)],
    }


def save(record: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def recorded() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return read


def survivors(record: dict[str, Any]) -> list[Mutant]:
    return [Mutant(**survivor) for survivor in record["survivors"]]


def unexplained(record: dict[str, Any], explained: list[Explanation]) -> list[Mutant]:
    return [mutant for mutant in survivors(record) if not any(entry.fits(mutant) for entry in explained)]
