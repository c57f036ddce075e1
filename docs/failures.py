"""Makes the blocks of docs/how-to/read-a-failure.md: faults planted in docs/examples/eight_operators.py, and what is
seen of them.

python docs/failures.py            all of them, in some ten minutes
python docs/failures.py NAME ...   those of these sections
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "how-to" / "read-a-failure.md"
EXAMPLE = DOCS / "examples" / "eight_operators.py"
BACKEND = f"{EXAMPLE.name}:EightOperators"
CERTIFY = f"dml-conformance certify --backend {BACKEND} --operator {{}} --budget quick --out certification"
GATE = f"pytest --pyargs dml_conformance.conformance.gate --dml-backend {BACKEND} --dml-operator TOP_K -k TOP_K.values"
IN_THE_GATE = "The same in the gate"
SHOWN_IN_THE_GATE = "Ties"
MOST_GROUPS = 2  # of failures that are shown


class Fault(NamedTuple):
    """A line or two of the example made wrong.

    Attributes:
        name: heads its section.
        operator: that is certified.
        right: as the example has it.
        wrong: in its place.
        options: of certify beside those of all.
    """

    name: str
    operator: str
    right: str
    wrong: str
    options: str = ""


FAULTS = (
    Fault(
        "A wrong sign",
        "ACTIVATION_LEAKY_RELU",
        "np.where(x >= 0, x, np.float32(desc.alpha) * x)",
        "np.where(x >= 0, x, np.float32(-desc.alpha) * x)",
    ),
    Fault(
        "Ties",
        "TOP_K",
        "order = last - np.argsort(np.flip(x, desc.axis), desc.axis, stable=True)",
        "order = np.argsort(x, desc.axis, stable=True)",
    ),
    Fault(
        "NaN",
        "ACTIVATION_LEAKY_RELU",
        "np.where(x >= 0, x, np.float32(desc.alpha) * x)",
        "np.fmax(x, 0) + np.float32(desc.alpha) * np.fmin(x, 0)",
    ),
    Fault(
        "Integers that overflow",
        "REDUCE",
        "found = numbers.sum(axes, dtype=numbers.dtype, keepdims=True)",
        "found = numbers.sum(axes, dtype=np.float64, keepdims=True)",
    ),
    Fault(
        "Sums in FLOAT16",
        "REDUCE",
        'numbers = x.astype(np.float32) if x.dtype.kind == "f" else x\n    axes',
        "numbers = x\n    axes",
    ),
    Fault(
        "The second matrix of a batch",
        "GEMM",
        "np.matmul(a, b)",
        "np.matmul(a, b[:1])",
    ),
    Fault(
        "An output that is not written",
        "TOP_K",
        "    places[...] = first\n",
        "    places[..., :1] = first[..., :1]\n",
    ),
    Fault(
        "Writing beside the output",
        "CAST",
        "    result[...] = x.astype(result.dtype)\n",
        '    lanes = outputs["output_tensor"]\n'
        "    lanes.buffer[lanes.offset :][: -(-lanes.size // 16) * 16] = 0\n"
        "    result[...] = x.astype(result.dtype)\n",
    ),
    Fault(
        "Writing to the input",
        "ELEMENT_WISE_CLIP",
        "    result[...] = np.minimum(np.maximum(numbers, least), most)\n",
        "    np.maximum(numbers, least, out=numbers)\n    result[...] = np.minimum(numbers, most)\n",
    ),
    Fault(
        "Strides",
        "ELEMENT_WISE_CLIP",
        "return np.ndarray(tensor.sizes, kind, binding.view, strides=strides)",
        "return np.ndarray(tensor.sizes, kind, binding.view)",
    ),
    Fault(
        "The offset of a binding",
        "GATHER",
        "return np.ndarray(tensor.sizes, kind, binding.view, strides=strides)",
        "return np.ndarray(tensor.sizes, kind, binding.buffer, strides=strides)",
    ),
    Fault(
        "In place",
        "ACTIVATION_LEAKY_RELU",
        '    x = elements(inputs["input_tensor"], desc.input_tensor).astype(np.float32)\n',
        '    elements(outputs["output_tensor"], desc.output_tensor)[...] = 0\n'
        '    x = elements(inputs["input_tensor"], desc.input_tensor).astype(np.float32)\n',
    ),
    Fault(
        "What an earlier call left behind",
        "ELEMENT_WISE_CLIP",
        "least, most = np.float32(desc.min), np.float32(desc.max)",
        "least, most = vars(clip).setdefault(x.shape, (np.float32(desc.min), np.float32(desc.max)))",
    ),
    Fault(
        "An exception",
        "GATHER",
        "np.clip(named, 0, size - 1)",
        "named",
    ),
    Fault(
        "An abort",
        "REDUCE",
        "    axes = tuple(set(desc.axes))\n",
        '    axes = tuple(set(desc.axes))\n    if len(axes) > 3:\n        __import__("os").abort()\n',
    ),
    Fault(
        "A loop without end",
        "GATHER",
        "    named = np.where(named < 0, named + size, named)\n",
        "    while (named < 0).any():\n        named = np.where(named < 0, named + size, named)\n",
        "--time-limit 2",
    ),
    Fault(
        "An axis that is none",
        "REDUCE",
        '        need(axis < len(sizes), f"no axis {axis}")\n',
        "        axis %= len(sizes)\n",
    ),
    Fault(
        "A valid descriptor that is rejected",
        "GATHER",
        "need(desc.index_dimensions <= len(indices)",
        "need(desc.index_dimensions < len(indices)",
    ),
    Fault(
        "What only a later level has",
        "JOIN",
        '"JOIN": {"input_tensors": (SMALL, (4, 5)), "output_tensor": (SMALL, (4, 5))}',
        '"JOIN": {"input_tensors": (SMALL, ANY_COUNT), "output_tensor": (SMALL, ANY_COUNT)}',
    ),
    Fault(
        "Claimed, and not done",
        "GEMM",
        'Scope(("GEMM",), attributes={"FusedActivation": ()})',
        'Scope(("GEMM",), attributes={"FusedActivation": ("ACTIVATION_RELU", "ACTIVATION_HARD_SIGMOID")})',
    ),
)


@contextmanager
def planted(fault: Fault) -> Iterator[Path]:
    """A folder with the example that has the fault."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, EXAMPLE.name).write_text(source_with(fault), encoding="utf-8")
        yield Path(folder)


def source_with(fault: Fault) -> str:
    source = EXAMPLE.read_text(encoding="utf-8")
    assert source.count(fault.right) == 1, fault.name
    return source.replace(fault.right, fault.wrong)


def difference(fault: Fault) -> str:
    """The lines that the fault changes, as a diff."""
    right = EXAMPLE.read_text(encoding="utf-8").splitlines()
    compared = difflib.unified_diff(right, source_with(fault).splitlines(), n=0, lineterm="")
    changed = [line for line in compared if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    indented = dedent("\n".join(line[1:] for line in changed)).splitlines()
    return "".join(f"{line[0]} {text}\n" for line, text in zip(changed, indented, strict=True))


def printed(command: str, folder: Path) -> str:
    """What a command prints, on a terminal without colours."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1", "CI": "1"}
    program, *arguments = command.split()
    path = Path(sys.executable).parent / program
    return subprocess.run(  # noqa: S603 - commands of this page
        [path, *arguments], cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    ).stdout


def seen(name: str) -> str:
    """The failures that certify prints of a fault, or what the gate does."""
    if name == IN_THE_GATE:
        with planted(fault_named(SHOWN_IN_THE_GATE)) as folder:
            text = printed(GATE, folder)
        return text.partition("= FAILURES =")[2].partition("\n")[2].rpartition("=\n")[0].rpartition("\n")[0] + "\n"
    fault = fault_named(name)
    with planted(fault) as folder:
        text = printed(f"{CERTIFY.format(fault.operator)} {fault.options}", folder)
    groups = re.findall(r"^(?:decision|output|crash|timeout) .*\n(?:  .*\n)+", text, re.MULTILINE)
    assert groups, text
    rest = len(groups) - MOST_GROUPS
    return "".join(groups[:MOST_GROUPS]) + (f"... and {rest} more\n" if rest > 0 else "")


def fault_named(name: str) -> Fault:
    return next(fault for fault in FAULTS if fault.name == name)


NAMES = (*(fault.name for fault in FAULTS), IN_THE_GATE)


def block(name: str, language: str) -> re.Pattern[str]:
    """What stands in a section of the page in its first block of a language; the groups are what is around it."""
    head = rf"^## (?:\d+\. )?{re.escape(name)}\n"
    lines = rf"(?:(?!## |```{language}$).*\n)*"
    return re.compile(rf"({head}{lines}```{language}\n)((?:(?!```$).*\n)*)(```$)", re.MULTILINE)


def with_block(page: str, name: str, language: str, content: str) -> str:
    made, count = block(name, language).subn(lambda found: f"{found[1]}{content}{found[3]}", page)
    assert count == 1, f"{name} has no block of {language}"
    return made


def with_differences(page: str) -> str:
    """The page with every diff made anew."""
    for fault in FAULTS:
        page = with_block(page, fault.name, "diff", difference(fault))
    return page


def main(names: list[str]) -> None:
    page = with_differences(PAGE.read_text(encoding="utf-8"))
    for name in names or NAMES:
        page = with_block(page, name, "text", seen(name))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
