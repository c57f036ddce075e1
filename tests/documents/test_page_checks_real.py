"""The findings on the published pages of ../shared/spec-pages, each of which was looked at: all are true.

The pages are not this project's to ship, so the test needs them beside the checkout.
"""

from __future__ import annotations

import pytest
from places import SHARED

from dml_conformance.documents.check.alone import check_page
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.read import read_page

PAGES = SHARED / "spec-pages"

# Findings by page with the erratum that each is, "" where it is none.
EXPECTED: dict[str, dict[str, str]] = {
    "gather.zh-TW.txt": {
        "property-mismatch:GATHER:OutputTensor/DataType": "GATHER-4",
        "registry-range:GATHER:IndexDimensions": "GATHER-1",
        "example-range:GATHER:1/IndexDimensions": "GATHER-1",
        "example-range:GATHER:3/IndexDimensions": "GATHER-1",
        "example-formula:GATHER:3/OutputTensor": "GATHER-2",
        "example-rule:GATHER:3/output-rank": "GATHER-2",
        "example-title:GATHER:4": "GATHER-3",
        "example-title:GATHER:5": "GATHER-3",
        "example-level:GATHER:1": "GATHER-6",
        "example-level:GATHER:2": "GATHER-6",
        "example-level:GATHER:3": "GATHER-6",
        "example-level:GATHER:4": "GATHER-6",
        "example-level:GATHER:5": "GATHER-6",
        "table-header:GATHER:4_1": "",
        "table-header:GATHER:3_0": "",
        "table-header:GATHER:2_1": "",
        "table-header:GATHER:1_0": "",
    },
    "gather_elements.it-IT.md": {
        "example-level:GATHER_ELEMENTS:1": "GATHER_ELEMENTS-3",
        "example-constraint:GATHER_ELEMENTS:1/OutputTensor.DataType": "GATHER_ELEMENTS-1",
        "older-edition:GATHER_ELEMENTS:4_1": "",
    },
    "gather_elements.zh-TW.md": {
        "example-level:GATHER_ELEMENTS:1": "GATHER_ELEMENTS-3",
        "example-constraint:GATHER_ELEMENTS:1/OutputTensor.DataType": "GATHER_ELEMENTS-1",
        "older-edition:GATHER_ELEMENTS:4_1": "",
    },
    "gather_nd.ru-RU.md": {
        "property-mismatch:GATHER_ND:OutputTensor/DataType": "GATHER_ND-3",
        "example-formula:GATHER_ND:0/OutputTensor": "GATHER_ND-1",
        "example-formula:GATHER_ND:2/OutputTensor": "GATHER_ND-1",
        "figure-impossible:GATHER_ND:IndicesDimensionCount/tuple-size": "GATHER_ND-6",
        "example-level:GATHER_ND:1": "GATHER_ND-5",
        "older-edition:GATHER_ND:4_1": "",
    },
    "tile.ja-JP.txt": {
        "example-label:TILE:1/OutputTensor": "TILE-1",
        "registry-agreement-unlisted:TILE:DimensionCount": "TILE-3",
    },
}

pytestmark = pytest.mark.skipif(not PAGES.is_dir(), reason="the published pages are not beside the checkout")


@pytest.mark.parametrize("name", EXPECTED)
def test_findings_on_the_published_pages(name: str) -> None:
    found = check_page(read_page(PAGES / name))
    assert {finding.id: finding.erratum for finding in found} == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_every_error_on_a_published_page_is_a_known_erratum(name: str) -> None:
    for finding in check_page(read_page(PAGES / name)):
        assert finding.erratum or finding.severity is not Severity.ERROR, finding
        assert finding.fragment
        assert finding.place.line > 1
