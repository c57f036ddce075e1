"""The kinds of files that commands read: how each is spoiled, and which commands get it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from fuzz.archives import archive, compressed, corpus_edited, package_files
from fuzz.databases import database_edited
from fuzz.edits import bytes_edited, json_file, text_edited
from fuzz.seeds import CERTIFY, OUT, REFERENCE, STATEMENT, WAIVERS, Seeds, npy

_RESULTS_INNER = (("stream", "json"), ("body", "bodies"), ("throughput", "seconds"))
_SQLITE_JOURNALS = ("-journal", "-wal")


@dataclass(frozen=True, repr=False)
class Input:
    """A command line and the files that it reads.

    Attributes:
        command: arguments; they name files relative to the folder of the run.
        files: content by path, below that folder.
        links: symbolic links: their targets by path.
        stdin: the file that is standard input; "" for none.
    """

    command: tuple[str, ...]
    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        parts = self.command, sorted(self.files.items()), sorted(self.links.items()), self.stdin
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"<{' '.join(self.command)}: {self.digest[:12]}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # Hypothesis would print all content


def kinds(seeds: Seeds) -> dict[str, st.SearchStrategy[Input]]:
    """Hostile inputs by kind."""
    return {
        "descriptors": _descriptors(seeds),
        "models": _models(seeds),
        "cases": _cases(seeds),
        "failures": _failures(seeds),
        "corpora": _corpora(seeds),
        "results": _results(seeds),
        "histories": _histories(seeds),
        "packages": _packages(seeds),
        "interrupted": _interrupted(seeds),
        "waivers": _waivers(seeds),
        "statements": _statements(),
        "keys": _keys(seeds),
        "pages": _pages(seeds),
        "wheels": _wheels(seeds),
    }


@st.composite
def _descriptors(draw: st.DrawFn, seeds: Seeds) -> Input:
    content = draw(st.sampled_from([seeds.descriptor, seeds.inline_model, *seeds.cases]))
    files = {"d.json": json_file(draw, content, _NAMES)}
    command = draw(st.sampled_from([("check", "d.json"), ("check", "--format", "json", "--strict", "d.json")]))
    if draw(st.booleans()):
        return Input(("check", "-"), files, stdin="d.json")
    return Input(command, files)


_NAMES = ("type", "Type", "desc", "Desc", "dispatchables", "Flags", "Strides", "Sizes", "expect", "data", "values")


@st.composite
def _models(draw: st.DrawFn, seeds: Seeds) -> Input:
    inline = {"model.json": seeds.inline_model, "indices.npy": npy()}
    files = dict(draw(st.sampled_from([seeds.model, inline])))
    if not draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(name for name in files if name != "README.txt")))
        tokens = (b"'descr'", b"'|O'", b"'<f8'", b"(2,)", b"(1000000000000,)", b"True", b"\x93NUMPY", b"\x02\0")
        files[name] = bytes_edited(draw, files[name], tokens)
    if draw(st.integers(0, 3)):
        files["model.json"] = json_file(draw, files["model.json"], _MODEL_NAMES)
    commands = (
        ("import-model", "model.json"),
        ("import-model", "model.json", "-o", OUT),
        ("replay", "model.json", *REFERENCE),
        ("export-model", "model.json", "-o", OUT),
        ("check", "model.json"),
    )
    return Input(draw(st.sampled_from(commands)), files)


_MODEL_NAMES = (*_NAMES, "sourcePath", "valueCount", "valueStart", "initialValues", "initialValuesDataType", "bindings")


@st.composite
def _cases(draw: st.DrawFn, seeds: Seeds) -> Input:
    content = draw(st.sampled_from(seeds.cases))
    if draw(st.booleans()):
        content = b"[" + content + b"]"
    files = {"case.json": json_file(draw, content, _NAMES)}
    commands = (
        ("replay", "case.json", *REFERENCE),
        ("replay", "case.json", *REFERENCE, "--format", "json", "--spec", "observed"),
        ("export-model", "case.json", "-o", OUT),
        ("export-model", "case.json", "-o", OUT, "--inline"),
    )
    return Input(draw(st.sampled_from(commands)), files)


@st.composite
def _failures(draw: st.DrawFn, seeds: Seeds) -> Input:
    names = draw(st.lists(st.sampled_from(sorted(seeds.failures)), min_size=1, max_size=2, unique=True))
    files = {f"failures/{name}": json_file(draw, seeds.failures[name], _NAMES) for name in names}
    links = {"failures/link.json": draw(st.sampled_from(_TARGETS))} if draw(st.booleans()) else {}
    return Input((*CERTIFY, "--cases", "0", "--failures", "failures", "--out", OUT), files, links)


_TARGETS = ("/dev/zero", "/dev/full", "/proc/self/mem", "link.json", "nothing.json", ".", "/")


@st.composite
def _corpora(draw: st.DrawFn, seeds: Seeds) -> Input:
    content = corpus_edited(draw, seeds.corpus)
    name = draw(st.sampled_from(["c.jsonl", "c.zst"]))
    files = {name: compressed(draw, content) if name == "c.zst" else content}
    command = ("run", *REFERENCE, *draw(st.sampled_from([(), ("--out", OUT), ("--shard", "1/2"), ("--one-by-one",)])))
    if draw(st.integers(0, 3)):
        return Input((*command, name), files)
    return Input((*command, "-"), files, stdin=name)


@st.composite
def _results(draw: st.DrawFn, seeds: Seeds) -> Input:
    files = {"r.sqlite": database_edited(draw, seeds.results, _RESULTS_INNER), "good.sqlite": seeds.other_results}
    if not draw(st.integers(0, 9)):
        name = "r.sqlite" + draw(st.sampled_from(_SQLITE_JOURNALS))
        files[name] = bytes_edited(draw, _journal(b"good.sqlite"), (b"good.sqlite",))
    commands: tuple[tuple[str, ...], ...] = (
        ("report", "r.sqlite", "-o", OUT),
        ("report", "r.sqlite", "good.sqlite", "-o", OUT),
        ("report", "good.sqlite", "--baseline", "r.sqlite", "-o", OUT),
        ("report", "r.sqlite", "--baseline", "good.sqlite", "-o", OUT),
        *(("export", "r.sqlite", "--format", form, "-o", OUT) for form in ("ctrf", "junit", "csv", "markdown")),
        ("export", "r.sqlite", "--format", "csv"),
        ("export", "r.sqlite", "good.sqlite", "--format", "markdown"),
        ("history", "add", OUT, "r.sqlite"),
        ("replay", "r.sqlite", *REFERENCE),
        ("replay", "r.sqlite#7", *REFERENCE),
        ("export-model", "r.sqlite", "-o", OUT),
    )
    return Input(draw(st.sampled_from(commands)), files)


def _journal(other: bytes) -> bytes:
    """A rollback journal of one page, at whose end stands the name of another file to be looked at."""
    mark = bytes.fromhex("d9d505f920a163d7")
    numbers = (1, 0, 2, 512, 4096)  # records, nonce, pages, bytes of a sector and of a page
    header = mark + b"".join(number.to_bytes(4, "big") for number in numbers)
    record = (1).to_bytes(4, "big") + bytes(4096) + bytes(4)
    end = other + len(other).to_bytes(4, "big") + sum(other).to_bytes(4, "big") + mark
    return header.ljust(512, b"\0") + record + end


@st.composite
def _histories(draw: st.DrawFn, seeds: Seeds) -> Input:
    content = database_edited(draw, seeds.history, (("run", "json"),))
    files = {"h.sqlite": content, "good.sqlite": seeds.other_results}
    commands = (
        ("history", "show", "h.sqlite"),
        ("history", "show", "h.sqlite", "--format", "json", "--last", "2"),
        ("history", "add", "h.sqlite", "good.sqlite"),
    )
    return Input(draw(st.sampled_from(commands)), files)


@st.composite
def _packages(draw: st.DrawFn, seeds: Seeds) -> Input:
    found = package_files(draw, seeds.package, _RESULTS_INNER)
    links: dict[str, str] = {}
    if draw(st.integers(0, 2)):
        name = "p.tar.zst"
        files = {name: compressed(draw, archive(draw, found, "package"))}
    else:
        name = "p"
        files = {f"p/{file}": content for file, content in found.items()}
        if not draw(st.integers(0, 2)):
            link = f"p/{draw(st.sampled_from(['manifest.json', 'results.sqlite', 'other']))}"
            files.pop(link, None)
            links[link] = draw(st.sampled_from(_TARGETS))
    files["key.pub"] = seeds.public_key
    commands: tuple[tuple[str, ...], ...] = (
        ("verify", name),
        ("verify", name, "--public-key", "key.pub"),
        ("verify", name, "--format", "json"),
        ("verify", name, "--rerun", "5%", *REFERENCE),
        ("export", name, "--format", "junit"),
        ("replay", name, *REFERENCE),
        ("history", "add", OUT, name),
    )
    if not files.keys() & {"p.tar.zst"}:
        commands = (*commands, ("report", name, "-o", OUT), ("certify", *CERTIFY[1:], "--out", name, "--replace"))
    return Input(draw(st.sampled_from(commands)), files, links)


@st.composite
def _interrupted(draw: st.DrawFn, seeds: Seeds) -> Input:
    files = dict(seeds.interrupted)
    (results,) = (name for name in files if name.endswith(".sqlite"))
    (conditions,) = (name for name in files if name.endswith(".json"))
    if draw(st.integers(0, 3)):
        files[results] = database_edited(draw, files[results], (*_RESULTS_INNER, ("mark", "unit"), ("mark", "records")))
    else:
        files[conditions] = json_file(draw, files[conditions], ("--seed", "--out", "--budget"))
    if not draw(st.integers(0, 9)):
        name = results + draw(st.sampled_from(_SQLITE_JOURNALS))
        files[name] = bytes_edited(draw, _journal(b"good.sqlite"), (b"good.sqlite",))
    return Input((*CERTIFY, "--out", OUT, draw(st.sampled_from(["--resume", "--resume", "--replace"]))), files)


@st.composite
def _waivers(draw: st.DrawFn, seeds: Seeds) -> Input:
    files = {"w.toml": text_edited(draw, WAIVERS, _TOML_TOKENS), "c.jsonl": seeds.corpus}
    return Input(("run", "c.jsonl", *REFERENCE, "--waivers", "w.toml"), files)


@st.composite
def _statements(draw: st.DrawFn) -> Input:
    files = {"s.toml": text_edited(draw, STATEMENT, _TOML_TOKENS)}
    return Input((*CERTIFY, "--package", "--statement", "s.toml", "--out", OUT), files)


_TOML_TOKENS = (
    *("[[waiver]]\n", "[waiver]\n", "[versions]\n", "[", "]", "=", "'''", '"""', "#", "\n", ".", "a.b.c = 1\n", ","),
    *("1979-05-27", "0000-00-00", "9999-12-31", "07:32:00", "nan", "inf", "0xff", "1_000", "9" * 5_000, "1e999"),
    *('"*"', '"GATHER.*"', '"[!]"', '"(a+)+$"', '"' + "*a" * 30 + '"', '"\\u0000"', '"\\ud800"', '"\x1b[2J"'),
    *("[" * 900, "{a=" * 900, "x." * 900, "expires", "rules", "reason = ", "\n\n\n# x\n", "link = 'javascript:1'\n"),
)


@st.composite
def _keys(draw: st.DrawFn, seeds: Seeds) -> Input:
    content = draw(st.sampled_from([seeds.private_key, seeds.public_key, *seeds.other_keys]))
    tokens = (b"-----BEGIN PRIVATE KEY-----\n", b"-----END PUBLIC KEY-----\n", b"DEK-Info: x", b"AAAA", b"=", b"MIIB")
    files = {"k.pem": bytes_edited(draw, content, tokens) if draw(st.booleans()) else content}
    if draw(st.integers(0, 3)):
        return Input(("keys", "show", "k.pem"), files)
    files |= {f"p/{name}": content for name, content in seeds.package.items()}
    return Input(("verify", "p", "--public-key", "k.pem"), files)


@st.composite
def _pages(draw: st.DrawFn, seeds: Seeds) -> Input:
    name = draw(st.sampled_from(sorted(seeds.pages)))
    text = seeds.pages[name].decode("utf-8-sig")
    content = text_edited(draw, text, _PAGE_TOKENS)
    files = {"page.md": content, "other.md": seeds.pages["tile.en-US.md"]}
    commands = (
        ("spec", "check-page", "page.md"),
        ("spec", "check-page", "page.md", "--format", "sarif"),
        ("spec", "check-page", "page.md", "other.md", "--format", "json"),
        ("spec", "check-page", "page.md", "other.md"),
        ("spec", "import", "page.md", "-o", OUT),
    )
    return Input(draw(st.sampled_from(commands)), files)


_PAGE_TOKENS = (
    *("|", "*", "_", "`", "```\n", "[", "](", "[a](", "![", "<", ">", "<!--", "-->", "<span ", "&", "&#0;", "\\", "~"),
    *("#", "# ", "> ", "- ", "1. ", "\t", "    ", "\n\n", "---\n", "===\n", "| - | - |\n", "{{", "}}", "(", ")", "^"),
    *("<script>", "</td>", "<a href='", "[a]: b\n", "[^1]", "*a **", "`" * 50, "sizes[", "**", "max(", "{1, 2}"),
    *("99999", "9" * 400, "0x" + "f" * 300, "1e400", "{" * 400, "(" * 400, "\u202e", "\x1b", "，", "\ufeff", "a" * 300),
    *("pow(9, ", "{ 4294967295, 4294967295 }", "UINT32", "FLOAT64", "DML_FEATURE_LEVEL_9_9", "DimensionCount"),
    *("/", "%", "-"),
)


@st.composite
def _wheels(draw: st.DrawFn, seeds: Seeds) -> Input:
    content = bytes_edited(draw, draw(st.sampled_from([b"PK\3\4", seeds.corpus])), (b"PK\1\2", b"PK\5\6"))
    return Input(("directml", "install", "--wheel", "w.whl"), {"w.whl": content})


def good_inputs(seeds: Seeds) -> list[Input]:
    """Commands on files that are not spoiled, which make the sandbox ready."""
    model = {"model.json": seeds.inline_model, "indices.npy": npy()}
    package = {f"p/{name}": content for name, content in seeds.package.items()}
    databases = {"r.sqlite": seeds.results, "good.sqlite": seeds.other_results, "h.sqlite": seeds.history}
    databases["old.sqlite"] = seeds.package["results.sqlite"]
    pages = {name: seeds.pages[name] for name in ("gather.zh-TW.txt", "tile.en-US.md")}
    listed: list[tuple[tuple[str, ...], Mapping[str, bytes]]] = [
        (("check", "model.json"), model),
        (("import-model", "model.json", "-o", OUT), model),
        (("export-model", "model.json", "-o", OUT), model),
        (("replay", "case.json", *REFERENCE), {"case.json": seeds.cases[0]}),
        (("run", "c.jsonl", *REFERENCE, "--out", OUT), {"c.jsonl": seeds.corpus}),
        (
            ("report", "r.sqlite", "good.sqlite", "--baseline", "h.sqlite", "-o", OUT),
            databases | {"h.sqlite": seeds.package["results.sqlite"]},
        ),
        (("report", "r.sqlite", "-o", OUT), databases),
        *((("export", "r.sqlite", "--format", form), databases) for form in ("ctrf", "junit", "csv", "markdown")),
        (("history", "add", "h.sqlite", "r.sqlite"), databases),
        (("history", "show", "h.sqlite"), databases),
        (("verify", "p"), package),
        (("verify", "p", "--rerun", "5%", *REFERENCE), package),
        ((*CERTIFY, "--package", "--statement", "s.toml", "--out", OUT), {"s.toml": STATEMENT.encode()}),
        ((*CERTIFY, "--out", OUT, "--resume"), seeds.interrupted),
        (("run", "c.jsonl", *REFERENCE, "--waivers", "w.toml"), {"c.jsonl": seeds.corpus, "w.toml": WAIVERS.encode()}),
        (("keys", "show", "k.pem"), {"k.pem": seeds.private_key}),
        (("spec", "check-page", *pages), pages),
        (("spec", "check-page", *pages, "--format", "sarif"), pages),
        (("spec", "import", *pages, "-o", OUT), pages),
    ]
    return [Input(command, files) for command, files in listed]
