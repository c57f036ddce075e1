"""The process that has the library and decides, as seen from this side."""

from __future__ import annotations

import weakref

import msgspec

from dml_conformance.backends.directml import stubs
from dml_conformance.backends.directml.errors import DirectmlError, LibraryCrash
from dml_conformance.backends.directml.feature_sets import FeatureSet
from dml_conformance.backends.directml.library import LibraryFile, cache_folder
from dml_conformance.backends.directml.protocol import Reply, decode_hello, decode_reply
from dml_conformance.backends.processes.child_process import ChildProcess, how_it_ended, import_path, main_of
from dml_conformance.backends.processes.framing import Receiver, WireError, write
from dml_conformance.backends.processes.last_words import Remarks

NAME = "the process for the DirectML library"
STOP_SECONDS = 10.0


def start(library: LibraryFile, feature_set: FeatureSet) -> DecisionProcess:
    """Start a worker with a library, on a null device.

    Raises:
        DirectmlError: see `stubs.build` and `DecisionProcess`.
    """
    folder = stubs.build(cache_folder())
    return DecisionProcess(
        main_of("dml_conformance.backends.directml.decision_server", str(library.path), str(folder), feature_set.name)
    )


class DecisionProcess:
    """One running worker.

    Args:
        code: Python that it runs.

    Attributes:
        hello: what it said of itself.

    Raises:
        DirectmlError: it could not be started, or says why it cannot work.
    """

    def __init__(self, code: str) -> None:
        self._remarks = Remarks()
        try:
            self._child = ChildProcess(
                import_path(),
                code,
                self._remarks.file,
                inherited=(),
                # One that forks may have no threads; NumPy, which it does not use, would start some as it is imported.
                environment={"OPENBLAS_NUM_THREADS": "1"},
            )
        except OSError as error:
            self._remarks.close()
            raise DirectmlError(f"{NAME} cannot be started: {error}") from error
        self._stop = weakref.finalize(self, _stop, self._child, self._remarks)
        self._receiver = Receiver(self._child.replies)
        try:
            self.hello = decode_hello(self._received()[1])
        except (WireError, msgspec.MsgspecError):
            words = f"{NAME} does not speak as expected{self._remark()}"
            self.close()
            raise DirectmlError(words) from None
        if self.hello.error:
            self.close()
            raise DirectmlError(self.hello.error)

    def close(self) -> None:
        """End the process."""
        self._stop()

    def ask(self, block: memoryview) -> Reply:
        """Send a block of `structs.Packer`, wait for the decision.

        Raises:
            LibraryCrash: the library took its process down on this block; the next one may be sent.
            DirectmlError: the worker itself is gone; this object is of no use any more.
        """
        self._remarks.cut()
        try:
            write(self._child.requests, block)
        except BrokenPipeError:
            raise self._gone() from None
        signal_number, content = self._received()
        if signal_number:
            how = how_it_ended(-signal_number)
            if how == "died of SIGALRM":
                how += ", taking too long"
            raise LibraryCrash(how + self._remark())
        return decode_reply(content)

    def _received(self) -> tuple[int, bytes]:
        """The next message.

        Raises:
            DirectmlError: the process is gone.
        """
        received = self._receiver.receive()
        if received is None:
            raise self._gone()
        return received

    def _gone(self) -> DirectmlError:
        """What to raise as the process is gone: how it ended, and its last words."""
        self._child.stop(STOP_SECONDS)
        self._child.kill()
        how = how_it_ended(self._child.process.wait()) + self._remark()
        self.close()
        return DirectmlError(f"{NAME} {how}")

    def _remark(self) -> str:
        """What was printed since last time, to follow how something ended."""
        words = self._remarks.output()
        self._remarks.begin()
        return f": {words}" if words else ""


def _stop(child: ChildProcess, remarks: Remarks) -> None:
    child.stop(STOP_SECONDS)  # it ends when its requests do
    child.end()
    remarks.close()
