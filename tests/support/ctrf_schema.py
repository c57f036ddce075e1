"""The structure of CTRF 1.0.0 as far as this suite writes it, from the schema at https://ctrf.io, for tests."""

from __future__ import annotations

from typing import Any

_STATUS = {"enum": ["passed", "failed", "skipped", "pending", "other"]}
_TEXT, _NAME, _INTEGER, _OBJECT = (
    {"type": "string"},
    {"type": "string", "minLength": 1},
    {"type": "integer"},
    {"type": "object"},
)
_SCALAR = {"type": ["string", "number", "boolean"]}


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_COUNTS = ["tests", "passed", "failed", "skipped", "pending", "other"]

CTRF: dict[str, Any] = _closed(
    {
        "reportFormat": {"const": "CTRF"},
        "specVersion": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+$"},
        "reportId": {"type": "string", "format": "uuid", "minLength": 1},
        "timestamp": {"type": "string", "format": "date-time"},
        "generatedBy": _TEXT,
        "results": _closed(
            {
                "tool": _closed({"name": _NAME, "version": _TEXT, "extra": _OBJECT}, ["name"]),
                "summary": _closed(
                    dict.fromkeys((*_COUNTS, "flaky", "suites", "start", "stop", "duration"), _INTEGER)
                    | {"extra": _OBJECT},
                    [*_COUNTS, "start", "stop"],
                ),
                "tests": {
                    "type": "array",
                    "items": _closed(
                        {
                            "testId": _NAME,
                            "name": _NAME,
                            "status": _STATUS,
                            "rawStatus": _TEXT,
                            "duration": _INTEGER,
                            "suite": {"type": "array", "items": _TEXT, "minItems": 1},
                            "message": _TEXT,
                            "trace": _TEXT,
                            "type": _TEXT,
                            "labels": {"type": "object", "additionalProperties": _SCALAR},
                            "extra": _OBJECT,
                        },
                        ["name", "status", "duration"],
                    ),
                },
                "environment": _closed(
                    dict.fromkeys(("appName", "appVersion", "testEnvironment", "osPlatform", "osRelease"), _TEXT)
                    | {"extra": _OBJECT},
                    [],
                ),
            },
            ["tool", "summary", "tests"],
        ),
    },
    ["results", "reportFormat", "specVersion"],
)
