"""Corpora judged by the workers of a Dask scheduler: the records of one process, whatever becomes of the workers.

One cluster serves most tests: two workers in processes of their own, each with a nanny that replaces it when it dies,
and one of them with a resource. Where the cluster itself has to go, it is a small one in this process.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from backend_files import write_backend
from click.testing import Result
from commands import certificate, invoke
from judged_tasks import judge_tasks
from sweep_support import WITH_OPEN, damaged_block, untimed
from sweep_support import blocks as blocks_of_seed

from dml_conformance.backends import load_backend
from dml_conformance.backends.loading import BackendError
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.exchange.corpus import CorpusError, Header, corpus_lines
from dml_conformance.conformance.exchange.corpus_files import write_corpus
from dml_conformance.conformance.workers import cluster as cluster_module
from dml_conformance.conformance.workers.cluster import (
    Cluster,
    ClusterError,
    ClusterLost,
    ClusterMember,
    LoadedRun,
    Order,
    environment_of,
    first_difference,
    told_by,
)
from dml_conformance.conformance.workers.environment import environment
from dml_conformance.conformance.workers.executor import InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.reports.model.encoded import decode_records
from dml_conformance.reports.model.records import Record, Verdict
from dml_conformance.reports.model.release import suite_version
from dml_conformance.spec.levels import Level

pytest.importorskip("distributed")

import dask
from distributed import Client, Future, KilledWorker, Nanny, Scheduler, Security, SpecCluster, Worker

REFERENCE = JudgeSetup(("reference",))
blocks = partial(blocks_of_seed, seed=WITH_OPEN)
CUDA = {"cuda": 1.0}
QUICK = {"distributed.comm.timeouts.connect": "1s"}
PATIENT = {"distributed.deploy.lost-worker-timeout": "1h"}  # a nanny whose worker is away for a moment is no lost one


@contextmanager
def spec_cluster(kind: type, protocol: str = "tcp", **workers: dict[str, float]) -> Iterator[SpecCluster]:
    """A cluster of workers by name, and the resources of each."""
    security = Security()
    own = {"host": "127.0.0.1", "protocol": protocol, "security": security}
    options = {**own, "nthreads": 1, "dashboard": False, "silence_logs": logging.CRITICAL}
    with SpecCluster(
        scheduler={"cls": Scheduler, "options": {**own, "dashboard_address": "127.0.0.1:0", "port": 0}},
        workers={
            name: {"cls": kind, "options": {**options, "name": name, "resources": resources}}
            for name, resources in workers.items()
        },
        security=security,
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Client]:
    with (
        dask.config.set(PATIENT),
        spec_cluster(Nanny, one={}, other=CUDA) as cluster,
        Client(cluster.scheduler_address, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture
def address(dask_client: Client) -> str:
    """Of the scheduler, which has its two workers again."""
    dask_client.wait_for_workers(2, timeout=120)
    return str(dask_client.scheduler.address)


def pids(client: Client) -> dict[str, int]:
    found: dict[str, int] = client.run(os.getpid, on_error="ignore")  # one may be about to be replaced
    return found


def backend(folder: Path, does: str = "pass") -> str:
    methods = f"""
        def capabilities(self):
            claims = super().capabilities()
            if os.environ.get("MINE") == "none":
                os.kill(os.getppid(), signal.SIGKILL)
            return replace(claims, device=os.environ.get("MINE", claims.device))

        def execute(self, desc, level, inputs, outputs):
            {does}
            super().execute(desc, level, inputs, outputs)
    """
    return write_backend(folder, methods)


@pytest.fixture(scope="module")
def alone() -> list[Record]:
    """What this process finds."""
    (records,) = untimed(judge_tasks(InProcess(JudgeSetup(("reference",), limits=None).judges()), blocks()))
    assert {record.verdict for record in records} == {Verdict.PASS, Verdict.OBSERVED}
    return records


# --- the same as in one process ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("resources", [CUDA, {}], ids=["one worker", "two workers"])
def test_workers_give_what_one_process_gives(address: str, alone: list[Record], resources: dict[str, float]) -> None:
    with closing(Cluster(REFERENCE, address, resources)) as cluster:
        assert untimed(judge_tasks(cluster, blocks())) == [alone]
        assert untimed(judge_tasks(cluster, blocks(60))) == [alone]  # once more, in one block
        assert cluster.capabilities() == [load_backend("reference").capabilities()]
    assert not cluster.losses


def test_a_resource_says_who_judges(dask_client: Client, address: str) -> None:
    """Only the workers that have it load anything, and after the run nobody keeps what was loaded."""
    with closing(Cluster(REFERENCE, address, CUDA)) as cluster:
        list(cluster.outcomes(blocks(3)))
        own = dask_client.run(children)
        assert {at for at, processes in own.items() if processes} == {worker_named(dask_client, "other")}
    assert not any(dask_client.run(children).values())


def children() -> list[int]:
    return [process.pid for process in psutil.Process().children(recursive=True)]


def test_a_damaged_line_is_told_by_whoever_reads_it(address: str) -> None:
    with (
        closing(Cluster(REFERENCE, address)) as cluster,
        pytest.raises(CorpusError, match=r"^a\.jsonl: line 11: expected a case with its check: Object missing"),
    ):
        list(judge_tasks(cluster, [damaged_block()]))


def test_encryption_is_as_dask_is_configured(tmp_path: Path, alone: list[Record]) -> None:
    made = Security.temporary()
    files = {name: tmp_path / f"{name}.pem" for name in ("ca", "cert", "key")}
    for name, content in (("ca", made.tls_ca_file), ("cert", made.tls_client_cert), ("key", made.tls_client_key)):
        files[name].write_text(content)
    tls = {"ca-file": str(files["ca"])}
    for whose in ("client", "scheduler", "worker"):
        tls |= {f"{whose}.cert": str(files["cert"]), f"{whose}.key": str(files["key"])}
    with (
        dask.config.set({f"distributed.comm.tls.{name}": path for name, path in tls.items()}),
        spec_cluster(Worker, "tls", one={}) as small,
        closing(Cluster(REFERENCE, small.scheduler_address)) as cluster,
    ):
        assert cluster.address.startswith("tls://")
        assert untimed(judge_tasks(cluster, blocks(60))) == [alone]


# --- what dies on the way ---------------------------------------------------------------------------------------------


def test_workers_that_die_change_nothing(dask_client: Client, address: str, alone: list[Record]) -> None:
    """One after the other and then both at once, in the middle of what they are at."""
    found: list[list[Record]] = []
    with closing(Cluster(REFERENCE, address)) as cluster:
        before = set(pids(dask_client).values())
        for n, (records,) in enumerate(judge_tasks(cluster, blocks(3))):
            found.append(records)
            if n in (3, 9):
                victims = list(pids(dask_client).values())[: 1 if n == 3 else 2]
                for pid in victims:
                    os.kill(pid, signal.SIGKILL)
    assert untimed(iter([[records] for records in found])) == [alone]
    dask_client.wait_for_workers(2, timeout=120)
    assert not before & set(pids(dask_client).values())


def test_a_backend_that_crashes_takes_no_worker_with_it(
    dask_client: Client, address: str, tmp_path: Path, alone: list[Record]
) -> None:
    executed = [case for block in blocks() for case in block.make() if case.data and not case.broken]
    executed = [case for case in executed if "OWNED_BY_DML" not in repr(case.desc)]  # a worker's copy has a plain 1
    guilty = executed[len(executed) // 2]
    setup = JudgeSetup(
        (backend(tmp_path, f"repr(desc) == {repr(guilty.desc)!r} and os.kill(os.getpid(), signal.SIGSEGV)"),)
    )
    before = pids(dask_client)
    with closing(Cluster(setup, address)) as cluster:
        (records,) = untimed(judge_tasks(cluster, blocks(20)))
    assert pids(dask_client) == before
    crashed = [record for record in records if record.verdict is Verdict.CRASH]
    assert [record.case for record in crashed] == [guilty.digest]
    assert "SIGSEGV" in crashed[0].reason
    assert [(record.case, record.verdict) for record in records if record.case != guilty.digest] == [
        (record.case, record.verdict) for record in alone if record.case != guilty.digest
    ]
    assert not cluster.losses


def test_a_block_that_dask_gives_up_is_judged_all_the_same(
    dask_client: Client, address: str, alone: list[Record]
) -> None:
    """Where it allows no failure, the first worker that dies takes its blocks with it."""
    dask_client.run_on_scheduler(allow_failures, 0)
    try:
        with closing(Cluster(REFERENCE, address, CUDA)) as cluster:
            judged = judge_tasks(cluster, blocks(20))
            first = next(judged)
            for pid in pids(dask_client).values():
                os.kill(pid, signal.SIGKILL)
            assert untimed(iter([first, *judged])) == [alone]
    finally:
        dask_client.run_on_scheduler(allow_failures, 3)


def allow_failures(number: int, dask_scheduler: Scheduler | None = None) -> None:
    assert dask_scheduler is not None
    dask_scheduler.allowed_failures = number


def test_a_block_that_every_worker_dies_of_ends_the_run(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def killed(self: Future) -> bytes:
        asked.append(self.key)
        raise KilledWorker(self.key, Named("tcp://a:1"), 3)

    monkeypatch.setattr(Future, "result", killed)
    with (
        closing(Cluster(REFERENCE, address)) as cluster,
        pytest.raises(WorkerError, match=r"^3 worker processes were lost over lines 2 to 8 of a\.jsonl, .*a:1"),
    ):
        list(cluster.outcomes(blocks(7, 7)))
    assert len(set(asked)) == len(asked) == 3


class Named:
    def __init__(self, address: str) -> None:
        self.address = address


def test_a_worker_that_dies_at_the_start_is_done_without(
    dask_client: Client, address: str, tmp_path: Path, alone: list[Record]
) -> None:
    there = worker_named(dask_client, "other")
    dask_client.run(be_of_device, "none", workers=[there])
    with closing(Cluster(JudgeSetup((backend(tmp_path),)), address)) as cluster:
        assert [record.verdict for record in untimed(judge_tasks(cluster, blocks()))[0]] == [r.verdict for r in alone]
    assert there not in pids(dask_client)


def test_the_end_of_all_workers_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "LOOK_SECONDS", 0.1)
    with (
        spec_cluster(Worker, one={}) as small,
        closing(Cluster(REFERENCE, small.scheduler_address, patience=0.2)) as cluster,
    ):
        judged = cluster.outcomes(blocks(2))
        next(judged)
        small.scale(0)
        with pytest.raises(ClusterLost, match=r"^no worker is left at tcp://.*, so the run is incomplete$"):
            list(judged)


def test_the_end_of_the_scheduler_is_the_end() -> None:
    with spec_cluster(Worker, one={}) as small, closing(Cluster(REFERENCE, small.scheduler_address)) as cluster:
        judged = cluster.outcomes(blocks(2))
        next(judged)
        small.close()
        with pytest.raises(ClusterLost, match=r"^the scheduler at tcp://.* is gone, so the run is incomplete: "):
            list(judged)


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_resource_that_no_worker_has(address: str) -> None:
    for resources, named in (({"npu": 1.0}, "'npu=1'"), ({"cuda": 2.0}, "'cuda=2'")):
        with pytest.raises(ClusterError) as caught:
            Cluster(REFERENCE, address, resources)
        told = str(caught.value)
        assert f"no worker at {address} was started with --resources {named}; there are one (tcp://" in told
        assert told.endswith("with cuda=1")


def test_where_there_is_no_worker() -> None:
    told: list[str] = []
    with (
        spec_cluster(Worker) as empty,
        pytest.raises(ClusterLost, match=r"^no worker has come to tcp://.* within 0.3 s; start one with: dask worker"),
    ):
        Cluster(REFERENCE, empty.scheduler_address, patience=0.3, tell=told.append)
    (line,) = told
    assert re.fullmatch(r"There is no worker at tcp://.*; waiting up to 0.3 s for one", line)


@pytest.mark.parametrize(
    ("there", "error", "told"),
    [
        ("tcp://127.0.0.1:9", ClusterLost, r"^no scheduler answers at tcp://127.0.0.1:9 within 1 s$"),
        ("tcp://name.invalid:9", ClusterLost, r"^no scheduler answers at tcp://name.invalid:9 within 1 s$"),
        ("tls://127.0.0.1:9", ClusterError, "--scheduler tls://127.0.0.1:9: expected an address .* TLS configuration"),
        ("what://127.0.0.1:9", ClusterError, "expected an address .* unknown address scheme 'what'"),
        ("127.0.0.1", ClusterError, "expected an address .* missing port number"),
        ("", ClusterError, "expected an address .* missing port number"),
    ],
)
def test_an_address_where_there_is_no_scheduler(there: str, error: type[Exception], told: str) -> None:
    with dask.config.set(QUICK), pytest.raises(error, match=told):
        Cluster(REFERENCE, there)


def test_an_address_of_a_worker(dask_client: Client, address: str) -> None:
    (there, *_) = pids(dask_client)
    with pytest.raises(ClusterError, match=f"^what answers at {there} is no scheduler but a Worker$"):
        Cluster(REFERENCE, there)


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"^--scheduler needs dask.distributed: pip install 'dml-conf.*\[dask\]'"):
        Cluster(REFERENCE, "tcp://127.0.0.1:9")


def test_a_backend_that_a_worker_cannot_have(address: str) -> None:
    with pytest.raises(
        BackendError, match=r"^worker one \(tcp://.*\): unknown backend 'refernce': did you mean reference"
    ):
        Cluster(JudgeSetup(("refernce",)), address)


def worker_named(client: Client, name: str) -> str:
    workers = client.scheduler_info(n_workers=-1)["workers"]
    (there,) = (at for at, about in workers.items() if about["name"] == name)
    return str(there)


@contextmanager
def changed(client: Client, name: str, change: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """A worker in another state, and then in a new process."""
    there = worker_named(client, name)
    client.run(change, *arguments, workers=[there])
    try:
        yield
    finally:
        client.restart_workers([there], timeout=120)


def be_of_version(version: str) -> None:
    from dml_conformance.conformance.workers import cluster

    cluster.suite_version = lambda: version


def be_of_device(device: str) -> None:
    os.environ["MINE"] = device  # for what this worker starts


def test_a_worker_of_another_release(dask_client: Client, address: str) -> None:
    with (
        changed(dask_client, "other", be_of_version, "99.0"),
        pytest.raises(
            ClusterError,
            match=rf"^worker other \(tcp://.*\) has dml-conformance 99.0; expected {suite_version()}, which this is$",
        ),
    ):
        Cluster(REFERENCE, address)


@pytest.mark.slow
def test_workers_whose_backends_differ(dask_client: Client, address: str, tmp_path: Path) -> None:
    device = load_backend("reference").capabilities().device
    with (
        changed(dask_client, "other", be_of_device, "another device"),
        pytest.raises(
            ClusterError,
            match=r"^worker other \(tcp://.*\) is not like worker one \(tcp://.*\): reference: device: expected "
            rf"{re.escape(repr(device))}, found 'another device'$",
        ),
    ):
        Cluster(JudgeSetup((backend(tmp_path),)), address)


def test_a_worker_that_comes_later_is_held_to_the_same() -> None:
    claims = load_backend("reference").capabilities()
    for order, told in (
        (Order("late", REFERENCE, "99.0", (claims,)), f"expected dml-conformance 99.0, found {suite_version()}"),
        (
            Order("late", REFERENCE, suite_version(), (msgspec.structs.replace(claims, levels=(Level.L2_1,)),)),
            "reference: levels: expected nothing else, found 1_0, 2_0, 3_0,",
        ),
    ):
        with pytest.raises(ClusterError) as caught:
            LoadedRun(order)
        error = told_by(ClusterMember("tcp://a:1", "late", {}), caught.value)
        assert isinstance(error, ClusterError)
        assert str(error).startswith(f"worker late (tcp://a:1) has come, and is not like the others: {told}")


def test_what_goes_wrong_on_a_worker_is_told_with_its_name(dask_client: Client, address: str) -> None:
    """Whatever it is: what comes of a task is raised here as it was there."""
    with changed(dask_client, "other", be_broken), closing(Cluster(REFERENCE, address, CUDA)) as cluster:
        with pytest.raises(ClusterLost, match=r"^worker other \(tcp://.*\): ZeroDivisionError: no$"):
            list(cluster.outcomes(blocks()))
        assert not cluster.losses


def be_broken() -> None:
    from dml_conformance.conformance.workers import cluster

    def judge(self: LoadedRun, task: object) -> None:
        raise ZeroDivisionError("no")

    cluster.LoadedRun.judge = judge  # type: ignore[assignment, method-assign]


# --- who is like whom -------------------------------------------------------------------------------------------------


def test_a_difference_is_told_by_its_part() -> None:
    one = ReferenceBackend().capabilities()

    def told(**changes: Any) -> str:
        return first_difference([one], [msgspec.structs.replace(one, **changes)])

    assert told() == ""
    versions = dict(one.versions)
    assert told(versions={**versions, "driver": "2"}) == "reference: versions: expected no driver, found driver 2"
    assert told(executes=False) == "reference: executes: expected True, found False"
    assert (
        told(operators=(*one.operators[1:], "MINE")) == f"reference: operators: expected {one.operators[0]}, found MINE"
    )
    both = first_difference([one, one], [one, msgspec.structs.replace(one, device="mine")])
    assert both == f"reference: device: expected {one.device!r}, found 'mine'"


def test_a_certificate_tells_how_workers_differ_and_not_how_many_they_are() -> None:
    own = environment()
    other = {**own, "numpy": "1.0"}
    assert environment_of([own]) == environment_of([own] * 16) == {}
    assert environment_of([own, other, other]) == {"numpy of workers": f"1.0, {own['numpy']}"}
    assert environment_of([other]) == environment_of([other, other]) == {"numpy of workers": "1.0"}


def test_whether_a_worker_has_what_is_asked_for() -> None:
    member = ClusterMember("tcp://a:1", "a", {"cuda": 2.0, "memory": 100.0})
    for wanted in ({}, {"cuda": 1}, {"cuda": 2, "memory": 60}):
        assert member.has(wanted)
    for wanted in ({"cuda": 3}, {"npu": 1}, {"cuda": 1, "memory": 101}):
        assert not member.has(wanted)


def test_what_nobody_asks_for_any_more_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ended without a word holds no device for ever; what comes late is judged all the same."""
    monkeypatch.setattr(cluster_module, "IDLE_SECONDS", 0.05)
    before = set(children())
    run = LoadedRun(Order("gone", REFERENCE, suite_version()))
    (block,) = blocks(60)
    for _ in range(2):
        deadline = time.monotonic() + 30
        while set(children()) - before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not set(children()) - before
        monkeypatch.setattr(cluster_module, "IDLE_SECONDS", 0.5)
        assert len(decode_records(run.judge(block).backends[0].records)) == 60


# --- the command ------------------------------------------------------------------------------------------------------


def run(*arguments: str | Path) -> Result:
    return invoke("run", *arguments)


@pytest.fixture
def tile(tmp_path: Path) -> Path:
    path = tmp_path / "tile.jsonl.zst"
    write_corpus(path, corpus_lines(Header.of(60, 0, ["TILE"], [Level.L6_4])))
    return path


def test_the_certificate_is_that_of_one_machine(address: str, tmp_path: Path, tile: Path) -> None:
    found = []
    for n, more in enumerate(([], ["--scheduler", address], ["--scheduler", address, "--resource", "cuda"])):
        out = tmp_path / f"out{n}"
        result = run(tile, "--backend", "reference", "--out", out, *more)
        assert result.exit_code == 0, result.output
        made = certificate(out)
        found.append((made["digests"]["results"], made["environment"], made["backend"]))
    assert found[0] == found[1] == found[2]


def test_the_certificate_tells_what_the_workers_run_on(
    dask_client: Client, address: str, tmp_path: Path, tile: Path
) -> None:
    with changed(dask_client, "other", be_of_numpy, "1.0"):
        result = run(
            tile, "--backend", "reference", "--out", tmp_path / "out", "--scheduler", address, "--resource", "cuda"
        )
    assert result.exit_code == 0, result.output
    assert certificate(tmp_path / "out")["environment"]["numpy of workers"] == "1.0"


def be_of_numpy(version: str) -> None:
    from dml_conformance.conformance.workers import cluster, environment

    cluster.environment = lambda: {**environment.environment(), "numpy": version}


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--scheduler", "tcp://127.0.0.1:9"], 3, "no scheduler answers at tcp://127.0.0.1:9 within 1 s"),
        (["--scheduler", "127.0.0.1"], 2, "expected an address that Dask takes"),
        (
            ["--scheduler", "tcp://a:1", "--workers", "2"],
            2,
            "--scheduler excludes --workers, --devices and --in-process",
        ),
        (["--scheduler", "tcp://a:1", "--in-process"], 2, "--scheduler excludes --workers"),
        (["--resource", "cuda"], 2, "--resource is of the workers of a --scheduler; give both"),
        (["--scheduler", "tcp://a:1", "--resource", "=2"], 2, "expected a resource of workers such as cuda or cuda=2"),
        (["--scheduler", "tcp://a:1", "--resource", "cuda=no"], 2, "found 'cuda=no'"),
        (["--scheduler", "tcp://a:1", "--resource", "cuda=nan"], 2, "found 'cuda=nan'"),
    ],
)
def test_wrong_usage(tile: Path, tmp_path: Path, arguments: list[str], code: int, told: str) -> None:
    out = tmp_path / "out"
    with dask.config.set(QUICK):
        result = run(tile, "--backend", "reference", "--out", out, *arguments)
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("dml-conformance: ")]
    assert result.exit_code == code
    assert told in line
    assert not out.exists()
