"""The DirectML library itself: its device, what it says of itself, and its decisions."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import POINTER, RESULT, UINT, check, guid_bytes, method, release
from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.headers import Feature
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import LOWEST, Level

CHECK_FEATURE_SUPPORT = headers.IDML_DEVICE.index("CheckFeatureSupport")
CREATE_OPERATOR = headers.IDML_DEVICE.index("CreateOperator")
RELEASE = headers.IDML_DEVICE.index("Release")


class DirectmlDevice:
    """An IDMLDevice, in this process.

    Args:
        library: path of the library.
        d3d12_device: address of the ID3D12Device to stand on.
        minimum_level: what is asked of DMLCreateDevice1. It is a minimum only: the decisions do not depend on it.

    Raises:
        DirectmlError: the library cannot be loaded.
        ComError: it would not make a device.
    """

    def __init__(self, library: Path, d3d12_device: int, minimum_level: Level = LOWEST) -> None:
        try:
            self._library = ctypes.CDLL(str(library))
            create: Any = self._library.DMLCreateDevice1
        except (OSError, AttributeError) as error:
            raise DirectmlError(f"cannot load the DirectML library: {error}") from error
        create.restype = RESULT
        create.argtypes = [POINTER, UINT, UINT, POINTER, POINTER]
        device = POINTER()
        iid = guid_bytes(headers.IDML_DEVICE.iid)
        flags = headers.CREATE_DEVICE_FLAG_NONE
        check("DMLCreateDevice1", create(d3d12_device, flags, minimum_level, iid, ctypes.addressof(device)))
        assert device.value is not None
        self._device = device.value
        types = RESULT, UINT, UINT, POINTER, UINT, POINTER
        self._check_feature_support = method(self._device, CHECK_FEATURE_SUPPORT, *types)
        self._create_operator = method(self._device, CREATE_OPERATOR, RESULT, POINTER, POINTER, POINTER)
        self._operator_iid = guid_bytes(headers.IDML_OPERATOR.iid)
        self._operator = POINTER()
        self._release_of: dict[int, Callable[[int], int]] = {}  # by address of the class's table

    @property
    def address(self) -> int:
        """The IDMLDevice, for as long as this object has not been closed."""
        return self._device

    def level(self) -> Level:
        """The highest feature level that the library says it supports.

        Raises:
            ComError: it would not say.
        """
        levels = (UINT * len(Level))(*Level)
        query = struct.pack("@IP", len(Level), ctypes.addressof(levels))
        return Level(self._feature(Feature.FEATURE_LEVELS, query))

    def data_types(self) -> frozenset[DataType]:
        """The data types that the library says it supports on this device.

        Raises:
            ComError: it would not say.
        """
        asked = ((data_type, struct.pack("@I", data_type)) for data_type in DataType)
        return frozenset(kind for kind, query in asked if self._feature(Feature.TENSOR_DATA_TYPE_SUPPORT, query))

    def create_operator(self, desc: int) -> int:
        """Have an operator created, and release it at once.

        Args:
            desc: address of the DML_OPERATOR_DESC.

        Returns:
            The HRESULT: 0 or above where the descriptor was accepted.
        """
        operator = self._operator
        code: int = self._create_operator(self._device, desc, self._operator_iid, ctypes.addressof(operator))
        if code >= 0:
            self._release(operator)
        return code

    def close(self) -> None:
        """Release the device; the object is of no use afterwards."""
        release(self._device)

    def _release(self, pointer: ctypes.c_void_p) -> None:
        assert pointer.value is not None
        table = ctypes.c_void_p.from_address(pointer.value).value
        assert table is not None
        function = self._release_of.get(table)
        if function is None:
            function = self._release_of[table] = method(pointer.value, RELEASE, UINT)
        function(pointer.value)

    def _feature(self, feature: Feature, query: bytes) -> int:
        answer = UINT()
        into = ctypes.sizeof(answer), ctypes.addressof(answer)
        code = self._check_feature_support(self._device, feature, len(query), query, *into)
        check(f"IDMLDevice::CheckFeatureSupport({feature.name})", code)
        return answer.value
