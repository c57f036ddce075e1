"""The kinds of files that commands read: how each is spoiled, and which commands get it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from fuzz.archives import archive, compressed, corpus_edited, make_manifest_fit
from fuzz.databases import database_edited
from fuzz.edits import bytes_edited, json_file, text_edited
from fuzz.seeds import CERTIFY, OUT, REFERENCE, WAIVERS, Seeds, npy


@dataclass(frozen=True, repr=False)
class Input:
    """A command line and the files that it reads.

    Attributes:
        command: arguments; they name files relative to the folder of the run.
        files: content by path, below that folder.
        links: symbolic links: their targets by path.
    """

    command: tuple[str, ...]
    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def stdin(self) -> str:
        """The file that is standard input; "" for none."""
        return next(iter(self.files)) if "-" in self.command else ""

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        parts = self.command, sorted(self.files.items()), sorted(self.links.items())
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"<{' '.join(self.command)}: {self.digest[:12]}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # Hypothesis would print all content


@dataclass(frozen=True)
class Kind:
    """Valid files and the commands that read them.

    Attributes:
        files: several sets of which one is taken; the first is read by every command without fault.
        commands: of which one is run.
        spoiled: beginnings of the names of files that are spoiled, one or two of them.
        tokens: that matter in them.
        is_folder: whether a command reads all in the folder, in which there may be links then.
        is_packed: whether they are packed into an archive, as `p.tar.zst`.
    """

    files: Sequence[Mapping[str, bytes]]
    commands: Sequence[tuple[str, ...]]
    spoiled: tuple[str, ...] = ("",)
    tokens: Sequence[str] = ()
    is_folder: bool = False
    is_packed: bool = False


_TARGETS = ("/dev/zero", "/dev/full", "/proc/self/mem", "link.json", "nothing.json", ".", "/")
_NAMES = (
    *("type", "Type", "desc", "Desc", "dispatchables", "Flags", "Strides", "Sizes", "expect", "data", "values"),
    *("sourcePath", "valueCount", "valueStart", "initialValues", "initialValuesDataType", "bindings"),
    *("--seed", "--out", "--budget"),
)
_BUFFER_TOKENS = ("'descr'", "'|O'", "'<f8'", "(2,)", "(1000000000000,)", "True", "NUMPY", "PK\1\2", "PK\5\6")
_IDENTITY = b'{"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": {"DataType": "UINT32", "Sizes": [2]}}}'
_KEY_TOKENS = ("-----BEGIN PRIVATE KEY-----\n", "-----END PUBLIC KEY-----\n", "DEK-Info: x", "AAAA", "=", "MIIB")
_TOML_TOKENS = (
    *("[[waiver]]\n", "[waiver]\n", "[versions]\n", "[", "]", "=", "'''", '"""', "#", "\n", ".", "a.b.c = 1\n", ","),
    *("1979-05-27", "0000-00-00", "9999-12-31", "07:32:00", "nan", "inf", "0xff", "1_000", "9" * 5_000, "1e999"),
    *('"*"', '"GATHER.*"', '"[!]"', '"(a+)+$"', '"' + "*a" * 30 + '"', '"\\u0000"', '"\\ud800"', '"\x1b[2J"'),
    *("[" * 900, "{a=" * 900, "x." * 900, "expires", "rules", "reason = ", "\n\n\n# x\n", "link = 'javascript:1'\n"),
)
_PAGE_TOKENS = (
    *("|", "*", "_", "`", "```\n", "[", "](", "[a](", "![", "<", ">", "<!--", "-->", "<span ", "&", "&#0;", "\\", "~"),
    *("#", "# ", "> ", "- ", "1. ", "\t", "    ", "\n\n", "---\n", "===\n", "| - | - |\n", "{{", "}}", "(", ")", "^"),
    *("<script>", "</td>", "<a href='", "[a]: b\n", "[^1]", "*a **", "`" * 50, "sizes[", "**", "max(", "{1, 2}"),
    *("99999", "9" * 400, "0x" + "f" * 300, "1e400", "{" * 400, "(" * 400, "\u202e", "\x1b", "，", "\ufeff", "a" * 300),
    *("pow(9, ", "{ 4294967295, 4294967295 }", "UINT32", "FLOAT64", "DML_FEATURE_LEVEL_9_9", "DimensionCount"),
    *("/", "%", "-"),
)


def _in_folder(folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}


def _packages(seeds: Seeds, name: str) -> Sequence[tuple[str, ...]]:
    """Commands on a package of that name."""
    return (
        ("verify", name),
        ("verify", name, "--public-key", "key.pub"),
        ("verify", name, "--format", "json"),
        ("verify", name, "--rerun", "5%", *REFERENCE),
        ("export", name, "--format", "junit"),
        ("replay", name, *REFERENCE),
        ("history", "add", OUT, name),
    )


KINDS: dict[str, Callable[[Seeds], Kind]] = {
    "descriptors": lambda seeds: Kind(
        [{"d.json": content} for content in (seeds.descriptor, seeds.inline_model, *seeds.cases)],
        [("check", "d.json"), ("check", "--format", "json", "--strict", "d.json"), ("check", "-")],
    ),
    "models": lambda seeds: Kind(
        [{"model.json": seeds.inline_model, "indices.npy": npy()}, seeds.model],
        [
            ("import-model", "model.json"),
            ("import-model", "model.json", "-o", OUT),
            ("replay", "model.json", *REFERENCE),
            ("export-model", "model.json", "-o", OUT),
            ("check", "model.json"),
        ],
        tokens=_BUFFER_TOKENS,
    ),
    "networks": lambda seeds: Kind(
        [{"m.onnx": content} for content in seeds.networks],
        [
            ("corpus", "from-model", "m.onnx", "--dim", "n=2", "-o", OUT),
            ("corpus", "from-model", "m.onnx", "--dim", "n=2", "--level", "2_1", "-o", OUT),
        ],
        tokens=("Loop", "If", "Conv", "\x08\x01", "\x70\x01", "\xff\xff\xff\xff\x0f", "weights.bin", "../m.onnx"),
    ),
    "cases": lambda seeds: Kind(
        [{"case.json": form % content} for content in seeds.cases for form in (b"%s", b"[%s]")],
        [
            ("replay", "case.json", *REFERENCE),
            ("replay", "case.json", *REFERENCE, "--format", "json", "--spec", "observed"),
            ("export-model", "case.json", "-o", OUT),
            ("export-model", "case.json", "-o", OUT, "--inline"),
        ],
    ),
    "arrays": lambda seeds: Kind(
        [{"d.json": _IDENTITY, "x.npy": npy()}],
        [
            ("tolerance", "d.json"),
            ("tolerance", "d.json", "--format", "json", "--data", "InputTensor=x.npy"),
        ],
        tokens=_BUFFER_TOKENS,
    ),
    "failures": lambda seeds: Kind(
        [_in_folder("failures", seeds.failures)],
        [(*CERTIFY, "--cases", "0", "--failures", "failures", "--out", OUT)],
        is_folder=True,
    ),
    "corpora": lambda seeds: Kind(
        [{"c.jsonl": seeds.corpus}],
        [
            ("run", *REFERENCE, *more, name)
            for more in ((), ("--out", OUT), ("--shard", "1/2"), ("--one-by-one",))
            for name in ("c.jsonl", "-")
        ],
    ),
    "results": lambda seeds: Kind(
        [{"r.sqlite": seeds.results, "good.sqlite": seeds.other_results}],
        [
            ("report", "r.sqlite", "-o", OUT),
            ("report", "r.sqlite", "good.sqlite", "-o", OUT),
            ("report", "good.sqlite", "--baseline", "r.sqlite", "-o", OUT),
            *(("export", "r.sqlite", "--format", form, "-o", OUT) for form in ("ctrf", "junit", "csv", "markdown")),
            ("export", "r.sqlite", "--format", "csv"),
            ("export", "r.sqlite", "good.sqlite", "--format", "markdown"),
            ("history", "add", OUT, "r.sqlite"),
            ("replay", "r.sqlite", *REFERENCE),
            ("replay", "r.sqlite#7", *REFERENCE),
            ("export-model", "r.sqlite", "-o", OUT),
        ],
        spoiled=("r.sqlite",),
    ),
    "histories": lambda seeds: Kind(
        [{"h.sqlite": seeds.history, "good.sqlite": seeds.other_results}],
        [
            ("history", "show", "h.sqlite"),
            ("history", "show", "h.sqlite", "--format", "json", "--last", "2"),
            ("history", "add", "h.sqlite", "good.sqlite"),
        ],
        spoiled=("h.sqlite",),
    ),
    "packages": lambda seeds: Kind(
        [{**_in_folder("p", seeds.package), "key.pub": seeds.public_key}],
        [
            *_packages(seeds, "p"),
            ("report", "p", "-o", OUT),
            (*CERTIFY, "--out", "p", "--replace"),
        ],
        spoiled=("p/",),
        is_folder=True,
    ),
    "archives": lambda seeds: Kind(
        [{**_in_folder("p", seeds.package), "key.pub": seeds.public_key}],
        _packages(seeds, "p.tar.zst"),
        spoiled=("p/",),
        is_packed=True,
    ),
    "interrupted": lambda seeds: Kind(
        [seeds.interrupted],
        [(*CERTIFY, "--out", OUT, "--resume"), (*CERTIFY, "--out", OUT, "--replace")],
    ),
    "waivers": lambda seeds: Kind(
        [{"w.toml": WAIVERS.encode(), "c.jsonl": seeds.corpus}],
        [("run", "c.jsonl", *REFERENCE, "--waivers", "w.toml")],
        spoiled=("w.toml",),
        tokens=_TOML_TOKENS,
    ),
    "keys": lambda seeds: Kind(
        [
            {"k.pem": key, **_in_folder("p", seeds.package)}
            for key in (seeds.private_key, seeds.public_key, *seeds.other_keys)
        ],
        [("keys", "show", "k.pem"), ("verify", "p", "--public-key", "k.pem")],
        spoiled=("k.pem",),
        tokens=_KEY_TOKENS,
    ),
    "pages": lambda seeds: Kind(
        [{"page.md": content, "other.md": seeds.pages["tile.en-US.md"]} for content in seeds.pages.values()],
        [
            ("spec", "check-page", "page.md"),
            ("spec", "check-page", "page.md", "--format", "sarif"),
            ("spec", "check-page", "page.md", "other.md", "--format", "json"),
            ("spec", "check-page", "page.md", "other.md"),
            ("spec", "import", "page.md", "-o", OUT),
        ],
        spoiled=("page.md",),
        tokens=_PAGE_TOKENS,
    ),
    "wheels": lambda seeds: Kind(
        [{"w.whl": b"PK\3\4"}, {"w.whl": seeds.corpus}],
        [("directml", "install", "--wheel", "w.whl")],
        tokens=_BUFFER_TOKENS,
    ),
}


def _spoiled(draw: st.DrawFn, kind: Kind, name: str, content: bytes) -> bytes:
    """A file, spoiled as one whose name ends so can be."""
    match name.rpartition(".")[2]:
        case "json":
            return json_file(draw, content, _NAMES)
        case "sqlite":
            return database_edited(draw, content)
        case "jsonl":
            content = corpus_edited(draw, content)
            return compressed(draw, content) if draw(st.booleans()) else content
        case "pem" if draw(st.booleans()):
            return content  # one of another kind than is asked for
        case "toml" | "md":
            return text_edited(draw, content.decode("utf-8-sig"), kind.tokens)
    return bytes_edited(draw, content, [token.encode() for token in kind.tokens])


@st.composite
def hostile(draw: st.DrawFn, kind: Kind) -> Input:
    """An input of a kind with one or two of its files spoiled."""
    files = dict(draw(st.sampled_from(kind.files)))
    command = draw(st.sampled_from(kind.commands))
    links: dict[str, str] = {}
    names = [name for name in files if name.startswith(kind.spoiled)]
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)):
        if name.startswith("p/") and not draw(st.integers(0, 9)):
            del files[name]
            continue
        files[name] = _spoiled(draw, kind, name, files[name])
        if name.endswith(".sqlite") and not name.startswith("p/") and not draw(st.integers(0, 9)):
            files[name + draw(st.sampled_from(["-journal", "-wal"]))] = bytes_edited(
                draw, _journal(), (b"good.sqlite",)
            )
    if kind.is_folder and not draw(st.integers(0, 2)):
        name = draw(st.sampled_from([*names, names[0].replace(".json", "-link.json")]))
        files.pop(name, None)
        links[name] = draw(st.sampled_from(_TARGETS))
    if "p/manifest.json" in files and draw(st.booleans()):
        make_manifest_fit(files, "p/manifest.json")
    if kind.is_packed:
        inner = {name.removeprefix("p/"): files.pop(name) for name in list(files) if name.startswith("p/")}
        files["p.tar.zst"] = compressed(draw, archive(draw, inner))
    return Input(command, files, links)


def _journal() -> bytes:
    """A rollback journal of one page, at whose end stands the name of another file to be looked at."""
    other, mark = b"good.sqlite", bytes.fromhex("d9d505f920a163d7")
    numbers = (1, 0, 2, 512, 4096)  # records, nonce, pages, bytes of a sector and of a page
    header = mark + b"".join(number.to_bytes(4, "big") for number in numbers)
    record = (1).to_bytes(4, "big") + bytes(4096) + bytes(4)
    end = other + len(other).to_bytes(4, "big") + sum(other).to_bytes(4, "big") + mark
    return header.ljust(512, b"\0") + record + end


def good_inputs(seeds: Seeds) -> list[Input]:
    """Commands on files that are not spoiled, which make the sandbox ready.

    What is packed is read as a folder too, one campaign is like another, and standard input is where the sandbox is
    asked.
    """
    kinds = [make(seeds) for name, make in KINDS.items() if name not in ("archives", "failures", "wheels")]
    skipped = {"-", "--replace"}
    return [Input(command, kind.files[0]) for kind in kinds for command in kind.commands if not skipped & {*command}]
