"""Runs Cosmic Ray over copies of the tree, as many at once as asked for, each mutant against the tests of its group."""

from __future__ import annotations

import ast
import compileall
import contextlib
import hashlib
import os
import random
import resource
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import NamedTuple

import cosmic_ray.plugins
from attrs import evolve
from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, WorkerOutcome, WorkItem, WorkResult
from declarations import Provider
from record import Mutant, survivors_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("spec", "documents", "strategies", "backends", "reports", "conformance")
ADDRESS_SPACE = 8 << 30  # bytes a test run may map; some mutants ask for all there is
LEFT_OUT = (".*", "__pycache__", "*.egg-info", "build", "dist", "shared")

cosmic_ray.plugins.OPERATOR_PROVIDERS["declarations"] = Provider()


def _file_of(name: str, separator: str, test: str) -> str:
    (path,) = (ROOT / "tests").rglob(f"test_{name}.py")
    return f"{path.relative_to(ROOT)}{separator}{test}"


class Group(NamedTuple):
    """Modules, and the tests that hold them."""

    name: str
    modules: tuple[Path, ...]
    tests: tuple[str, ...]  # names of files, `test_` and `.py` left out, or of tests in them

    @property
    def command(self) -> str:
        files = [_file_of(*name.partition("::")) for name in self.tests]
        plugins = ("xdist", "cacheprovider", "benchmark", "playwright", "base_url", "randomly")
        off = [part for plugin in plugins for part in ("-p", f"no:{plugin}")]
        return shlex.join([sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", *off, *files])


class Settings(NamedTuple):
    groups: tuple[Group, ...]
    timeout: float
    operators: frozenset[str]

    @property
    def modules(self) -> tuple[Path, ...]:
        return tuple(module for group in self.groups for module in group.modules)

    def group_of(self, module: Path) -> Group:
        return next(group for group in self.groups if module in group.modules)


def settings(only: Sequence[str] = ()) -> Settings:
    """What config.toml says.

    Args:
        only: patterns of modules, relative to the root; the others are left out. None = all.
    """
    read = tomllib.loads((Path(__file__).parent / "config.toml").read_text(encoding="utf-8"))
    groups = []
    for name, group in read["groups"].items():
        found = sorted(path.relative_to(ROOT) for pattern in group["modules"] for path in ROOT.glob(pattern))
        modules = tuple(path for path in found if not only or any(fnmatch(str(path), pattern) for pattern in only))
        groups.append(Group(name, modules, tuple(group["tests"])))
    return Settings(tuple(groups), read["timeout"], frozenset(_kept(read["comparisons"], read["arithmetic"])))


def _kept(comparisons: Sequence[str], arithmetic: Sequence[str]) -> Iterator[str]:
    for full_name in cosmic_ray.plugins.operator_names():
        _, name = full_name.split("/")
        kind, _, change = name.partition("_")
        if kind == "ReplaceComparisonOperator":
            kept = change in comparisons
        elif kind == "ReplaceBinaryOperator":
            kept = change in arithmetic
        else:
            kept = True
        if kept:
            yield full_name


def session_of(module: Path, asked: Settings, folder: Path) -> Path:
    """The file of a module's session; another one for every other text of the module or choice of operators."""
    parts = (ROOT / module, Path(__file__).parent / "declarations.py")
    digest = hashlib.sha256(b"".join(part.read_bytes() for part in parts))
    digest.update(repr(sorted(asked.operators)).encode())
    return folder / f"{'.'.join(module.with_suffix('').parts)}-{digest.hexdigest()[:12]}.sqlite"


def make_mutants(module: Path, asked: Settings, session: Path) -> None:
    """Writes a session with every mutant of a module, and with those that are left out by rule marked as skipped."""
    session.parent.mkdir(parents=True, exist_ok=True)
    unfinished = session.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with use_db(unfinished) as database, contextlib.chdir(ROOT):
        init([module], database, {})
        annotations = list(_annotations(module.read_text(encoding="utf-8")))
        skipped = [item.job_id for item in database.work_items if _is_left_out(item.mutations[0], asked, annotations)]
        database.set_multiple_results(skipped, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
    unfinished.replace(session)


Span = tuple[tuple[int, int], tuple[int, int]]


def _is_left_out(mutation: MutationSpec, asked: Settings, annotations: Sequence[Span]) -> bool:
    if mutation.operator_name not in asked.operators:
        return True
    return any(start <= mutation.start_pos and mutation.end_pos <= end for start, end in annotations)


def _annotations(source: str) -> Iterator[Span]:
    """Where annotations stand. They are held by the type checker, and not evaluated when the code runs."""
    for node in ast.walk(ast.parse(source)):
        stated = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for annotation in stated:
            if annotation is not None:
                yield (
                    (annotation.lineno, annotation.col_offset),
                    (annotation.end_lineno, annotation.end_col_offset),
                )


def forget(session: Path, explained: Callable[[Mutant], bool]) -> None:
    """Takes back the results of the mutants that survived without a reason, so that they are tested again."""
    with use_db(session, WorkDB.Mode.open) as database:
        left = [job_id for job_id, mutant in survivors_of(database) if not explained(mutant)]
    with contextlib.closing(sqlite3.connect(session)) as connection, connection:
        connection.executemany("DELETE FROM work_results WHERE job_id = ?", [(job_id,) for job_id in left])


def run_mutants(sessions: Sequence[Path], asked: Settings, workers: int) -> None:
    """Tests every mutant that has no result yet; each worker in a copy of the tree of its own."""
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        databases = [stack.enter_context(use_db(session, WorkDB.Mode.open)) for session in sessions]
        pending = [(database, item) for database in databases for item in database.pending_work_items]
        if not pending:
            return
        random.Random(0).shuffle(pending)
        commands = tuple(group.command for group in asked.groups if group.modules)
        with ProcessPoolExecutor(workers, initializer=_move_into_copy, initargs=(folder, commands)) as pool:
            _test_all(pool, pending, asked)


def _test_all(pool: ProcessPoolExecutor, pending: Sequence[tuple[WorkDB, WorkItem]], asked: Settings) -> None:
    running = {}
    for database, item in pending:
        command = asked.group_of(item.mutations[0].module_path).command
        future = pool.submit(mutate_and_test, item.mutations, command, asked.timeout)
        running[future] = database, item.job_id
    for done, future in enumerate(as_completed(running), 1):
        database, job_id = running[future]
        result = future.result()
        database.set_result(job_id, evolve(result, output=_telling(result.output or "")))
        if done % 100 == 0 or done == len(running):
            print(f"{done} of {len(running)} mutants tested", file=sys.stderr, flush=True)


def _package_of(tree: Path) -> Path:
    """A folder to import the tree's package from, with its rooms where an installation has them."""
    folder = tree.with_name("packages")
    package = folder / "dml_conformance"
    package.mkdir(parents=True)
    for path in (*(tree / "src" / "dml_conformance").iterdir(), *(tree / room for room in ROOMS)):
        (package / path.name).symlink_to(path)
    return folder


def _telling(output: str) -> str:
    """The lines of a test run that say what failed."""
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR", "E  ", "timeout"))]
    return "\n".join(lines)[:500]


def _move_into_copy(folder: str, commands: Sequence[str]) -> None:
    """Makes this process work in its own copy of the tree, in which all tests pass and everything is compiled.

    Compiled modules are held to a hash of their source, since a mutant can have the size and time of what it replaces.
    """
    copy = Path(tempfile.mkdtemp(dir=folder)) / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    os.chdir(copy)
    # One thread for each, hypothesis the same examples in each run, and this tree's packages before installed ones.
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", CI="1", PYTHONHASHSEED="0")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_package_of(copy)), os.environ.get("PYTHONPATH", ""))))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for room in ROOMS:
        compileall.compile_dir(room, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    for command in commands:
        ran = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise RuntimeError(f"the tests fail before anything is mutated:\n{ran.stdout[-4000:]}{ran.stderr[-2000:]}")
