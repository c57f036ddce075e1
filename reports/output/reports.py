"""What a run leaves in its folder: results, certificate, JUnit file, page, and files for CI servers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dml_conformance.reports.model.costs import Costs
from dml_conformance.reports.model.records import NOT_AUTHENTICATED, RESUMED, Campaign, Ending
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.output.folder import (
    CERTIFICATE,
    COSTS,
    CTRF,
    JUNIT,
    MARKDOWN,
    REPORT,
    RESULTS,
    ForeignChangeError,
    OutputFolder,
)
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.store.authentication import Authenticity, own_key
from dml_conformance.reports.store.results import Store, StoreError, StoreWriter
from dml_conformance.reports.store.resuming import (
    PartialRun,
    check_same,
    check_same_campaign,
    damaged,
)
from dml_conformance.reports.views.certificate import Certificate
from dml_conformance.reports.views.ctrf import ctrf_json
from dml_conformance.reports.views.failures import FAILURES, failing_cases
from dml_conformance.reports.views.junit import junit_xml
from dml_conformance.reports.views.markdown import markdown


class ReportFolder(FanOut):
    """A consumer that leaves results, certificate, JUnit file and page in an output folder.

    Where the folder is resumed, the stream is given from its start once more: first what is `begun`, and then the rest.

    Args:
        output: where to.
        complete: adds more to the folder when the reports are in it, before it is put in its place; without it the
            files for CI are added.
        conditions: of the run beside its campaign, JSON; only with the same ones it can be resumed.

    Attributes:
        summary: of the stream so far; its `conformance` gives the exit code.
        begun: what of the run was finished before.

    Raises:
        ResumeError: what is to be resumed is damaged, or was run on other conditions.
    """

    def __init__(
        self,
        output: OutputFolder,
        complete: Callable[[Path], None] | None = None,
        conditions: Mapping[str, Any] | None = None,
    ) -> None:
        self.summary = Summary()
        self._output = output
        self._complete = complete
        self._conditions = dict(conditions or {})
        self._costs: Costs | None = None
        results = output.folder / RESULTS
        self.begun = PartialRun(results, output.path)
        if output.is_resumed:
            self.begun = PartialRun.of(results, output.path)
            given = msgspec.json.decode(msgspec.json.encode(self._conditions))
            check_same(output.path, output.conditions, given)
        self._store = StoreWriter(results)
        super().__init__(self._store, self.summary)

    def start(self, campaign: Campaign) -> None:
        """Begin, or go on with what is begun.

        Raises:
            ResumeError: that is of another campaign, or damaged.
            OutputError, StoreError: it cannot be written.
        """
        before = self.begun.campaign
        if before is None:
            self._output.begin(self._conditions)
            super().start(campaign)
            self._output.keeps = True
            return
        check_same_campaign(self._output.path, before, campaign)
        stated = None
        if not self.begun.is_authentic:
            before = stated = replace(before, environment=before.environment | {RESUMED: NOT_AUTHENTICATED})
        try:
            self._store.reopen(self.begun.last, stated)
        except StoreError as error:
            if isinstance(error.__cause__, sqlite3.OperationalError):  # the disk is full, say: the file may be sound
                raise
            raise damaged(self._output.path, error) from error
        super().start(before)

    def costs(self, costs: Costs) -> None:
        """Take where the time went; it is written beside the files for CI."""
        self._costs = costs

    def finish(self, ending: Ending) -> None:
        """Write what is left and put the folder in its place.

        Raises:
            OutputError, StoreError: it cannot be written.
        """
        super().finish(ending)
        self._check_results()
        write_reports(self.summary, self._output)
        if self._complete is None:
            write_for_ci(self.summary, self._output)
            if self._costs is not None:
                self._output.write(COSTS, self._costs.as_csv())
        else:
            self._complete(self._output.folder)
        self._output.commit()

    def _check_results(self) -> None:
        """Raise ForeignChangeError where the results are not what this run wrote."""
        self._output.take(RESULTS)
        with Store(self._output.folder / RESULTS) as store:
            if store.authenticity(own_key()) is not Authenticity.SOUND:
                raise ForeignChangeError(f"{self._output.folder / RESULTS}: {Authenticity.CHANGED.value}")

    def close(self) -> None:
        """Let go of the files of a stream that does not finish."""
        self._store.close()


def write_reports(summary: Summary, output: OutputFolder) -> None:
    """Write certificate, JUnit file and page of a campaign into a folder that has its results.

    Raises:
        WriteError: a file cannot be written.
    """
    contents = {
        CERTIFICATE: Certificate.of(summary).to_json(),
        JUNIT: junit_xml(summary),
        REPORT: report_html(CampaignReport([summary], [output.folder / RESULTS])).encode(),
    }
    _write(contents, output)


def write_for_ci(summary: Summary, output: OutputFolder) -> None:
    """Write CTRF, Markdown and failing cases of a campaign; errors as for `write_reports`."""
    failing = {f"{FAILURES}/{name}": content for name, content in failing_cases(summary).items()}
    _write({CTRF: ctrf_json(summary), MARKDOWN: markdown(summary).encode(), **failing}, output)


def _write(contents: Mapping[str, bytes], output: OutputFolder) -> None:
    for name, content in contents.items():
        output.write(name, content)
