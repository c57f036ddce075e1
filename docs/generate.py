"""Makes what the documentation takes from the code: whole pages, and the blocks between `generated` comments in others.

python docs/generate.py            writes them
python docs/generate.py --check    names what is not current, and ends with 1 if anything is
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from click.testing import CliRunner

from dml_conformance.backends.onnxruntime.forms import WITHOUT_FORM, mapped_operators
from dml_conformance.backends.onnxruntime.table import NODES, nodes_of
from dml_conformance.conformance.accuracy.page import as_markdown as as_markdown_of_bounds
from dml_conformance.conformance.accuracy.page import read_campaigns, read_measured
from dml_conformance.conformance.campaign.budget import BUDGETS, MIB
from dml_conformance.conformance.cli import main as command_line
from dml_conformance.conformance.exchange.onnx.coverage import NEWEST, OLDEST, Covered, Way, counts, coverage, webnn
from dml_conformance.conformance.exchange.onnx.mapping import MICROSOFT
from dml_conformance.conformance.gate import plugin
from dml_conformance.documents.check import checks
from dml_conformance.documents.errata import INTRODUCTION, as_markdown, errata_document
from dml_conformance.reports.model.grouping import grouped
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import Field, attribute_of
from dml_conformance.spec.divergences import Divergence, ValueDivergence, divergences, value_divergences
from dml_conformance.spec.field_kinds import OPERATOR, OPERATORS, TENSOR, TENSORS
from dml_conformance.spec.levels import Level
from dml_conformance.spec.observations import observations
from dml_conformance.spec.operator import OperatorSpec, Role, Support
from dml_conformance.spec.operators._fused import FUSED_ACTIVATIONS, FUSIBLE
from dml_conformance.spec.registry import families, operators, rules
from dml_conformance.spec.structures import union_type

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
NOTICE = "<!-- Made by docs/generate.py; change the specification, not this page. -->"
PAGES_WITH_BLOCKS = (
    "README.md",
    "docs/reference/command-line.md",
    "docs/reference/pytest-gate.md",
    "ARCHITECTURE.md",
    "docs/explanation/audit.md",
    "docs/explanation/onnxruntime.md",
)
BLOCK = re.compile(r"(<!-- generated: ([\w. -]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def generated() -> dict[Path, str]:
    """Every file that is made, whole or in part, with the content that it should have."""
    pages = {
        REFERENCE / "operators.md": _operators_page(),
        REFERENCE / "rules.md": _rules_page(),
        REFERENCE / "errata.md": _errata_page(),
        REFERENCE / "page-checks.md": _page_checks_page(),
        REFERENCE / "onnx.md": _onnx_page(),
        ROOT / "docs" / "accuracy.md": _accuracy_page(),
        ROOT / "spec" / "structures.pyi": _structures_stub(),
    }
    for name in PAGES_WITH_BLOCKS:
        page = ROOT / name
        pages[page] = with_blocks(page.read_text(encoding="utf-8"))
    return pages


def with_blocks(text: str) -> str:
    """A page with its generated blocks made anew; raises KeyError for a block that nothing makes."""
    blocks = _blocks()
    return BLOCK.sub(lambda match: f"{match[1]}\n{blocks[match[2]]}\n\n{match[3]}", text)


def _blocks() -> dict[str, str]:
    commands = {f"command {name}": _command(name, command) for name, command in leaf_commands()}
    return {
        "operators": _family_table(),
        "pytest options": _pytest_options(),
        "budgets": _budgets(),
        "divergences": _divergences(),
        "value divergences": _value_divergences(),
        "observations": _observations(),
        "onnx forms": _onnx_forms(),
        **commands,
    }


def _page(title: str, introduction: str, body: str) -> str:
    return f"# {title}\n\n{NOTICE}\n\n{introduction}\n\n{body}\n"


def _table(headers: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


# --- operators ----------------------------------------------------------------------------------------------------


def _family_table() -> str:
    """The families and their operators, each with the levels at which something changes for it."""
    rows = (
        (family.replace("_", " "), ", ".join(f"`{spec.name}` ({spec.introduced_in})" for spec in specs))
        for family, specs in grouped(operators().values(), lambda spec: families()[spec.name]).items()
    )
    return _table(("family", "operators, with the level that each came with"), rows)


def _counts(support: Support) -> str:
    if not support.dimension_counts:
        return "any"
    least, most = min(support.dimension_counts), max(support.dimension_counts)
    return f"{least}D" if least == most else f"{least}D to {most}D"


def _operators_page() -> str:
    introduction = (
        "The operators that the suite judges, with the tables of their tensors. At a level the newest table at or "
        "below it holds; below the first one the operator does not exist. `dml-conformance operators --format json` "
        "prints the same for programs, `dml-conformance spec diff 2_1 4_1` what a level changes. [Write a "
        "backend](../how-to/write-a-backend.md#the-three-methods) says what Python has for each kind of field. "
        "[Activations that can be fused](#activations-that-can-be-fused) stand at the end."
    )
    sections = (*(_operator_section(spec) for spec in operators().values()), _fused_section())
    return _page("Operators", introduction, "\n\n".join(sections))


def _operator_section(spec: OperatorSpec) -> str:
    fields = _table(("field", "kind"), ((f"`{name}`", kind) for name, kind in _fields(spec)))
    tables = _table(("from level", "tensors", "dimensions", "data types"), _table_rows(spec))
    what = f"`{spec.dml_name}` ({spec.type_value}), from level {spec.introduced_in} on: {spec.summary}."
    links = f"[Its page]({spec.source.url}); [its rules](rules.md#{spec.name.lower()})."
    return "\n\n".join((f"## {spec.name}", f"{what} {links}", f"    {spec.pseudocode}", fields, tables))


def _fused_section() -> str:
    """Which activations can be fused, and by which operators."""
    specs = operators()
    activations = _table(
        ("activation", "from level"),
        ((f"[`{name}`](#{name.lower()})", specs[name].introduced_in.label) for name in specs if name in FUSIBLE),
    )
    fusing = _table(
        ("operator", "what it takes"),
        (
            (f"[`{spec.name}`](#{spec.name.lower()})", rule.statement)
            for spec in operators().values()
            for rule in spec.rules
            if rule.id == f"{spec.name}.fused-activation"
        ),
    )
    source = f"[The page]({FUSED_ACTIVATIONS.url}) lists these activations."
    return "\n\n".join(("## Activations that can be fused", source, activations, fusing))


def _fields(spec: OperatorSpec) -> Iterator[tuple[str, str]]:
    counts: list[str] = []
    for field in spec.fields:
        if field.count_field and field.count_field not in counts:
            counts.append(field.count_field)
            yield field.count_field, "UINT"
        role = "" if field.role is Role.ATTRIBUTE else f", {field.role}"
        yield field.name, field.kind.name + role + (", optional" if field.optional else "")


def _table_rows(spec: OperatorSpec) -> Iterator[tuple[str, ...]]:
    of_variants: dict[tuple[Level, tuple[tuple[str, Support], ...]], list[str]] = {}
    for variant, tables in spec.variants.items():
        for level, table in tables.items():
            supports = tuple((field.name, table[field.name]) for field in spec.tensor_fields)
            of_variants.setdefault((level, supports), []).append(variant)
    for (level, supports), variants in sorted(of_variants.items(), key=lambda item: item[0][0]):
        alike: dict[Support, list[str]] = {}
        for name, support in supports:
            alike.setdefault(support, []).append(f"`{name}`")
        of = ", ".join(filter(None, variants))
        for support, names in alike.items():
            tensors = ", ".join(names) + (f" for {of}" if of else "")
            yield level.label, tensors, _counts(support), _types(support.data_types) or "not said"


def _types(data_types: frozenset[DataType]) -> str:
    return " ".join(data_type.name for data_type in sorted(data_types))


# --- types of descriptors -----------------------------------------------------------------------------------------

STUB = '''"""Made by docs/generate.py from the facts of all operators; `structures.py` beside it says what it is for.

A tensor that is not optional is typed as one that is there. Who is asked whether a descriptor is valid, as
`Backend.validate` is, may find None where one is missing.
"""

# ruff: noqa: N801
# fmt: off

from typing import ClassVar, Literal, TypeAlias

from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.field_kinds import ScaleBias, Size2d
from dml_conformance.spec.tensor import TensorDesc

def union_type(family: str, operator: str) -> str: ...
'''
# Of these the stub names those that have them.
MEMBERS = ("Axis", "Beta", "InputDimensionCount", "ScaleTensor", "Scales", "ZeroPointTensor")


def _structures_stub() -> str:
    """The stub of `spec.structures`: a class for each structure, and the unions that are named there."""
    unions: dict[str, list[str]] = {}
    for name, spec in operators().items():
        shared = (member for member in MEMBERS if attribute_of(member) in spec.desc.__struct_fields__)
        for union in (union_type(families()[name], name), *(f"With{member}" for member in shared)):
            unions.setdefault(union, []).append(spec.desc.__name__)
    classes = "\n".join(_stub_class(spec) for spec in operators().values())
    aliases = (f"{union}: TypeAlias = (\n    " + "\n    | ".join(unions[union]) + "\n)\n" for union in sorted(unions))
    return f"{STUB}\n{classes}\n{''.join(aliases)}"


def _stub_class(spec: OperatorSpec) -> str:
    attributes = [f"{field.attribute}: {_annotation(field)}" for field in spec.fields]
    body = "\n    ".join((f'operator: ClassVar[Literal["{spec.name}"]]', *attributes))
    return f"class {spec.desc.__name__}(OperatorDesc, frozen=True):\n    {body}\n"


def _annotation(field: Field) -> str:
    """The type of an attribute; of a tensor or an operator, which the kinds let be None, as the facts say."""
    of_structures = {TENSOR: "TensorDesc", TENSORS: "tuple[TensorDesc, ...]", OPERATOR: "OperatorDesc"}
    if field.kind in of_structures:
        return of_structures[field.kind] + (" | None" if field.optional else "")
    if field.kind is OPERATORS:
        return "tuple[OperatorDesc, ...]"
    return re.sub(r"\w+\.", "", inspect.formatannotation(field.kind.python))


# --- rules and errata ---------------------------------------------------------------------------------------------


def _rules_page() -> str:
    introduction = (
        "Every rule of the specification. A rule whose statement ends in `[UNSPECIFIED, ...]` is one that the pages "
        "leave open: a descriptor that breaks it and nothing else is not judged; the [erratum](errata.md) says why. "
        "Categories are what a backend [claims](../how-to/write-a-backend.md#claim-only-what-you-check); how rules "
        "make a decision is told in [decisions](../explanation/decisions.md).\n\n"
        "`dml-conformance rules --format md` prints these tables, `--format json` also what each rule needs, settles "
        "and proposes as a remedy."
    )
    result = CliRunner().invoke(command_line, ["rules", "--format", "md"], catch_exceptions=False)
    return _page("Rules", introduction, result.stdout.strip())


def _errata_page() -> str:
    introduction = (
        f"{INTRODUCTION}\n\n`dml-conformance spec errata` writes this page, also as HTML or JSON and with the "
        "[divergences](../explanation/audit.md#divergences) of the real library. `dml-conformance spec check` fails "
        "when a contradiction appears that is not listed here."
    )
    return _page("Errata", introduction, as_markdown(errata_document(), divergences_at="../explanation/audit.md"))


def _page_checks_page() -> str:
    introduction = (
        "What `dml-conformance spec check-page` holds pages to. The name of a check is the first part of the names of "
        "its findings. The severity is the usual one; a finding may have a milder one. [How pages are read and "
        "judged](../explanation/pages.md) has the reasons."
    )
    rows = ((f"`{check.name}`", str(check.severity), check.statement) for check in checks().values())
    return _page("Checks of pages", introduction, _table(("check", "severity", "what should hold"), rows))


def _onnx_page() -> str:
    covered = coverage()
    found = counts(covered)
    mapped, memory, known, inlined, function, unmapped = (found["", way] for way in Way)
    total = sum(found["", way] for way in Way)
    introduction = (
        f"What `dml-conformance corpus from-model` makes of the {total} operators that ONNX has from opset "
        f"{OLDEST} to {NEWEST}: of {mapped} operators of DirectML, of {memory} nothing, as their value is the "
        f"memory of its input; {known} are known before, {inlined} inlined, {function} taken apart as ONNX defines "
        f"them, and {unmapped} not mapped. Each node that becomes no valid descriptor at the level is told with "
        "its reason. The mapping follows ONNX Runtime's DirectML execution provider: tensors of fewer than 4 "
        "dimensions get leading ones, what is broadcast has strides of 0, what is transposed the strides of its "
        "input. Nothing is fused. Of several operators the newest is taken that the level has; an operator that "
        "ONNX defines by a function becomes what that is made of where it cannot be taken whole.\n\n"
        f"The numbers behind a name are the versions since opset {OLDEST}."
    )
    own_rows = (_covered_row(each) for each in covered if not each.domain)
    of_onnx = _table(("operator", "versions", "becomes"), own_rows)
    rows_of_microsoft = (_covered_row(each) for each in covered if each.domain == MICROSOFT)
    of_microsoft = _table(("operator", "becomes"), ((name, words) for name, _, words in rows_of_microsoft))
    others = ", ".join(
        f"{count} of `{domain}`" for (domain, _), count in found.items() if domain not in ("", MICROSOFT)
    )
    names = ((f"`{name}`", _names(to) or str(Way.MEMORY)) for name, to in webnn().items())
    of_others = (
        f"Not mapped are the operators of other domains: {others}. What they do, with trees, text and training, is "
        "none of what DirectML does."
    )
    about_microsoft = (
        "ONNX has no schema of these; their types and shapes are worked out here. The domain has more, which no "
        "descriptor is known for: a node of one is told."
    )
    about_webnn = "What the backend of Chromium makes of them with DirectML; models of WebNN are not read here."
    parts = (
        *("## Operators of ONNX", of_onnx, of_others),
        *("## Operators of com.microsoft", about_microsoft, of_microsoft),
        *("## Operators of WebNN", about_webnn, _table(("operator", "becomes"), names)),
    )
    return _page("ONNX and WebNN", introduction, "\n\n".join(parts))


def _covered_row(each: Covered) -> tuple[str, str, str]:
    words = _names(each.to) or str(each.way)
    return f"`{each.op_type}`", ", ".join(map(str, each.versions)), words + (f": {each.reason}" if each.reason else "")


def _names(operators: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in operators)


def _accuracy_page() -> str:
    introduction = (
        "How wide the bounds are, and how much of them implementations need. In the column of each stands its largest "
        "error in units in the last place, and the largest part of what the bound allows that an error was; that is "
        "not where the error is largest, if the bound is wide there. The last column is how many times as wide as "
        "needed the bound is for the one that needs most and is right; **above 4** it is too wide. SOFTMAX and its "
        "relatives were tried with rows of 64 numbers. Errors where subnormal FLOAT32 numbers may be taken for zero "
        "are left out.\n\nThe figures of DirectML are those of its worst results over some ranges, as `spec/data` has "
        "them; elsewhere it may need more. The others are in `docs/measured`, as `dml-conformance accuracy --format "
        "json` prints them ([how to](how-to/measure-accuracy.md)); `numpy` is `docs/examples/numpy_backend.py`. "
        "Operators whose results are exact are left out; those that are no functions of numbers or rows stand "
        "[at the end](#in-campaigns)."
    )
    folder = ROOT / "docs" / "measured"
    return _page("Accuracy", introduction, as_markdown_of_bounds(read_measured(folder), read_campaigns(folder)))


# --- the real library ---------------------------------------------------------------------------------------------


def _divergences() -> str:
    summary = _table(
        ("divergence", "specification", "library", "seen at", "at fault"),
        (
            (f"[{d.id}](#{d.id.lower()})", str(d.specification), d.answer, ", ".join(d.libraries), d.fault)
            for d in divergences().values()
        ),
    )
    return "\n\n".join((summary, *(_divergence(divergence) for divergence in divergences().values())))


def _divergence(divergence: Divergence) -> str:
    rules_concerned = ", ".join(f"`{name}`" for name in divergence.rules)
    descriptor = msgspec.json.encode(divergence.descriptor).decode()
    facts = f"- Rules: {rules_concerned}\n- Found by: {divergence.evidence}\n- Smallest: `{descriptor}`"
    return "\n\n".join((f"### {divergence.id}", divergence.finding, divergence.reason, facts))


def _value_divergences() -> str:
    return "\n\n".join(map(_value_divergence, value_divergences().values()))


def _value_divergence(divergence: ValueDivergence) -> str:
    rules_concerned = ", ".join(f"`{name}`" for name in divergence.rules)
    case = msgspec.json.encode(divergence.case).decode()
    facts = (
        f"- Rules: {rules_concerned}\n- At fault: {divergence.fault}\n- Smallest: `{case}`, of which the library makes "
        f"{', '.join(f'{float(number):.15g}' for number in divergence.computed)}"
    )
    return "\n\n".join((f"### {divergence.id}", f"{divergence.finding} {divergence.reason}", facts))


def _observations() -> str:
    return _table(
        ("rule", "erratum", "the library", "found by"),
        (
            (f"`{name}`", _erratum_link(str(rules()[name].erratum)), observation.finding, observation.evidence)
            for name, observation in observations().items()
        ),
    )


def _erratum_link(name: str) -> str:
    return f"[{name}](../reference/errata.md#{name.lower()})"


# --- ONNX ----------------------------------------------------------------------------------------------------------


def _onnx_forms() -> str:
    """How many operators are mapped, which to which node, and which to none and why."""
    mapped, of_node = mapped_operators(), dict[tuple[str, int], list[str]]()
    for row in NODES:
        operators_of_node = of_node.setdefault((f"{row.domain}.{row.op_type}".lstrip("."), row.since), [])
        if row.operator not in operators_of_node:
            operators_of_node.append(row.operator)
    rows = ((f"`{node}`", str(since), ", ".join(names)) for (node, since), names in of_node.items())
    composed = [name for name in mapped if not nodes_of(name)]
    reasons = "\n".join(f"- {name}: {why}" for name, why in WITHOUT_FORM.items())
    counts = (
        f"Of {len(operators())} operators {len(mapped)} are mapped: {len(mapped) - len(composed)} to a node that does "
        f"the same, with others beside it where a descriptor asks for more, and {len(composed)} to nodes, mostly "
        "several, whose inputs and attributes are no fields of the operator."
    )
    return "\n\n".join(
        (
            counts,
            _table(("node", "from opset", "operators"), rows),
            f"To nodes without such a row: {', '.join(composed)}.",
            f"Not mapped:\n\n{reasons}",
        )
    )


# --- options ------------------------------------------------------------------------------------------------------


def leaf_commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by what is typed after the program's name."""
    yield from _leaves(command_line, click.Context(command_line), "")


def _leaves(group: click.Group, context: click.Context, prefix: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _leaves(command, click.Context(command, context, name), f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def _command(name: str, command: click.Command) -> str:
    arguments = " ".join(_argument(p) for p in command.params if isinstance(p, click.Argument))
    options = [p for p in command.params if isinstance(p, click.Option)]
    usage = f"    dml-conformance {name}{' [OPTIONS]' if options else ''} {arguments}".rstrip()
    if not options:
        return usage
    return usage + "\n\n" + _table(("option", "meaning"), (_option(option) for option in options))


def _argument(argument: click.Argument) -> str:
    name = argument.metavar or _choices(argument) or str(argument.name).upper()
    return name if argument.required else f"[{name}]"


def _option(option: click.Option) -> tuple[str, str]:
    kinds = {"integer range": "N", "path": "FOLDER"}
    kind = option.type.name
    value = "" if option.is_flag else option.metavar or _choices(option) or kinds.get(kind, kind.upper())
    facts = ["needed"] if option.required else []
    if option.show_default:
        facts.append(f"default `{option.default}`")
    meaning = str(option.help) + (f" ({', '.join(facts)})" if facts else "")
    return f"`{' '.join([', '.join(option.opts), value]).rstrip()}`", meaning


def _choices(parameter: click.Parameter) -> str:
    return "|".join(parameter.type.choices) if isinstance(parameter.type, click.Choice) else ""


def _budgets() -> str:
    timed = ("largest output timed on the host", "on an accelerator", "timed runs")
    headers = ("budget", "search", "sweep", "scale", *timed)
    return _table(
        headers,
        (
            (
                f"`{budget.name}`",
                f"{budget.search:,}",
                f"{budget.sweep:,}",
                f"{budget.reach} bits",
                f"{budget.large_bytes // MIB} MiB",
                f"{budget.large_device_bytes // MIB} MiB",
                str(budget.repeats),
            )
            for budget in BUDGETS.values()
        ),
    )


class _Options:
    """Stands in for pytest's parser and keeps what is added."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    def getgroup(self, *_: str) -> _Options:
        return self

    def addoption(self, name: str, *, help: str, metavar: str = "", default: Any = None, **_: Any) -> None:
        self.rows.append((f"`{' '.join(filter(None, (name, metavar)))}`", help % {"default": default}))


def _pytest_options() -> str:
    options = _Options()
    plugin.pytest_addoption(options)  # type: ignore[arg-type]
    return _table(("option", "meaning"), iter(options.rows))


def main(arguments: Sequence[str]) -> int:
    stale = 0
    for path, content in generated().items():
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        stale += 1
        print(f"{path.relative_to(ROOT)} is not current" if "--check" in arguments else path.relative_to(ROOT))
        if "--check" not in arguments:
            path.write_text(content, encoding="utf-8")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
