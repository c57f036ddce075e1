"""Where a fact stands: a page of the DirectML documentation and, where it helps, the section; and the data files."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TypeVar

import msgspec

_T = TypeVar("_T")

_SDK = "https://learn.microsoft.com/windows/win32/api/directml/"
_GUIDE = "https://learn.microsoft.com/windows/ai/directml/"
_DIRECT3D = "https://learn.microsoft.com/windows/win32/"


@dataclass(frozen=True)
class Source:
    """A page of DirectML, or one of Direct3D's rules on numbers, named by its file name without suffix, and the field
    or section on it."""

    page: str
    section: str = ""

    @property
    def url(self) -> str:
        """The published address of the page."""
        if self.page in _FOLDERS:
            return f"{_DIRECT3D}{_FOLDERS[self.page]}/{self.page}"
        is_reference = self.page[:2] in ("ns", "ne", "nf", "nn")
        return (_SDK if is_reference else _GUIDE) + self.page

    def __str__(self) -> str:
        return f"{self.page}, {self.section}" if self.section else self.page


BUFFER_BINDING = "ns-directml-dml_buffer_binding"
BUFFER_TENSOR_DESC = "ns-directml-dml_buffer_tensor_desc"
TENSOR_DESC = "ns-directml-dml_tensor_desc"
TENSOR_DATA_TYPE = "ne-directml-dml_tensor_data_type"
TENSOR_FLAGS = "ne-directml-dml_tensor_flags"
HELPERS = "dml-helper-functions"
STRIDES_GUIDE = "dml-strides"
BARRIERS_GUIDE = "dml-barriers"
FLOATING_POINT_RULES = "floating-point-rules"  # of Direct3D 11, which DirectML's shaders run on
DATA_CONVERSION_RULES = "d3d10-graphics-programming-guide-resources-data-conversion"
_FOLDERS = {FLOATING_POINT_RULES: "direct3d11", DATA_CONVERSION_RULES: "direct3d10"}
CREATE_OPERATOR = "nf-directml-idmldevice-createoperator"


def read_data(name: str, kind: type[_T]) -> _T:
    """What the file `data/NAME.json` holds, as a value of a type."""
    text = resources.files("dml_conformance.spec").joinpath(f"data/{name}.json").read_bytes()
    return msgspec.json.decode(text, type=kind)
