"""Edits of what is packed: tar archives compressed as Zstandard, and corpora."""

from __future__ import annotations

import hashlib
import json
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache

import zstandard
from hypothesis import strategies as st

from fuzz.databases import database_edited
from fuzz.edits import bytes_edited, json_edited, json_file, parsed, places, written

_BLOCK = 512
_KINDS = b"0\0123456789xgLKSVDM\xff"
_NAMES = (
    "{top}/../{name}",
    "../{name}",
    "/{name}",
    "/tmp/{name}",
    "{top}/./{name}",
    "{top}//{name}",
    "{top}\\..\\{name}",
    "{top}/{name}/",
    "{top}/sub/{name}",
    "other/{name}",
    "{name}",
    "{top}",
    "{top}/",
    "",
    "{top}/\x1b[2J",
    "{top}/CON",
    "{top}/" + "x" * 150,
)
_FRAME = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x50\x2a\x4d\x18"


def compressed(draw: st.DrawFn, content: bytes) -> bytes:
    """Content as Zstandard, mostly whole; else damaged, in odd frames, or with a bomb beside it."""
    how = draw(st.sampled_from(["whole", "whole", "whole", "whole", "bytes", "frames", "bomb", "plain", "window"]))
    match how:
        case "bytes":
            return bytes_edited(draw, _packed(content), (_FRAME, _SKIPPABLE))
        case "frames":
            at = draw(places) % (len(content) + 1)
            odd = (_SKIPPABLE + b"\4\0\0\0rest", _SKIPPABLE + b"\xff" * 4, _packed(b""), b"\0" * 9)
            return _packed(content[:at]) + draw(st.sampled_from(odd)) + _packed(content[at:])
        case "bomb":
            at = draw(st.sampled_from([0, len(content)]))
            return _packed(content[:at]) + _bomb(draw(st.sampled_from([0, 10, 91]))) + _packed(content[at:])
        case "plain":
            return content
        case "window":
            # A frame that asks for 2 TiB of memory, or for as much as is allowed.
            window = draw(st.sampled_from([0xF8, 0xFF, 0x88, 0x90]))
            return _FRAME + b"\0" + bytes([window]) + _packed(content)[6:]
    return _packed(content)


def _packed(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1, write_checksum=True).compress(content)


@cache
def _bomb(byte: int) -> bytes:
    """512 MiB of one byte, in some ten thousandth parts of that."""
    return _packed(bytes([byte]) * (64 << 20)) * 8


# --- tar ----------------------------------------------------------------------------------------------------------


def package_files(draw: st.DrawFn, files: Mapping[str, bytes], inner: Sequence[tuple[str, str]]) -> dict[str, bytes]:
    """The files of a package, one or more of them edited.

    The manifest is made to fit half of the time, so that what comes after the digests is reached.

    Args:
        draw: of Hypothesis.
        files: of a valid one, by name.
        inner: tables and columns of its results that hold JSON.
    """
    found = dict(files)
    for name in draw(st.lists(st.sampled_from(sorted(files)), min_size=1, max_size=2, unique=True)):
        if draw(st.integers(0, 9)) == 0:
            del found[name]
        elif name.endswith(".sqlite"):
            found[name] = database_edited(draw, found[name], inner)
        elif name.endswith(".json"):
            found[name] = json_file(draw, found[name])
        else:
            found[name] = bytes_edited(draw, found[name])
    if draw(st.booleans()):
        _make_manifest_fit(found)
    return found


def _make_manifest_fit(files: dict[str, bytes]) -> None:
    try:
        manifest = json.loads(files["manifest.json"])
        for entry in manifest["files"]:
            content = files.get(entry["name"], b"")
            entry.update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
        files["manifest.json"] = json.dumps(manifest).encode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return  # it was edited itself


def archive(draw: st.DrawFn, files: Mapping[str, bytes], top: str) -> bytes:
    """Files as a tar archive, mostly with an entry or its header edited."""
    entries = [_entry(f"{top}/{name}", content) for name, content in sorted(files.items())]
    for _ in range(draw(st.integers(0, 2))):
        n = draw(places) % len(entries)
        entry = entries[n]
        name = draw(st.sampled_from(sorted(files)))
        match draw(st.sampled_from(["name", "kind", "link", "size", "field", "double", "lose", "many", "extended"])):
            case "name":
                path = draw(st.sampled_from(_NAMES)).format(top=top, name=name)
                entries[n] = _with(entry, 0, path.encode("utf-8", "surrogatepass")[:100].ljust(100, b"\0"))
            case "kind":
                entries[n] = _with(entry, 156, bytes([draw(st.sampled_from(_KINDS))]))
            case "link":
                target = draw(st.sampled_from(["/etc/passwd", "../../x", name, "", "/dev/zero"]))
                kind = draw(st.sampled_from([tarfile.SYMTYPE, tarfile.LNKTYPE]))
                link = _entry(f"{top}/{name}", b"", kind=kind, linkname=target)
                entries.insert(draw(places) % (len(entries) + 1), link)
            case "size":
                size = draw(
                    st.sampled_from([b"7" * 11 + b"\0", b"7" * 12, b"\x80" + b"\xff" * 11, b"-1\0", b"0" * 12, b""])
                )
                entries[n] = _with(entry, 124, size.ljust(12, b" "))
            case "field":
                at = draw(places) % _BLOCK
                fits = draw(st.booleans())
                entries[n] = _with(entry, at, bytes([draw(st.integers(0, 255))]), fits=fits)
            case "double":
                entries.insert(draw(places) % (len(entries) + 1), entry)
            case "lose" if len(entries) > 1:
                del entries[n]
            case "many":
                count = draw(st.sampled_from([3, 63, 64, 20_000]))
                entries += [_entry(f"{top}/f{k}", b"") for k in range(count)]
            case "extended":
                records = draw(st.sampled_from([b"30 path=/tmp/x\n", b"9" * 5_000, b"18 size=99999999\n"]))
                entries.insert(n, _entry("pax", records, kind=tarfile.XHDTYPE))
    end = draw(st.sampled_from([b"\0" * 1024, b"\0" * 1024, b"", b"\0" * _BLOCK, b"\0" * 2048 + b"more"]))
    return b"".join(entries) + end


def _entry(path: str, content: bytes, *, kind: bytes = tarfile.REGTYPE, linkname: str = "") -> bytes:
    header = tarfile.TarInfo(path)
    header.size, header.mode, header.type, header.linkname = len(content), 0o644, kind, linkname
    return header.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % _BLOCK)


def _with(entry: bytes, at: int, value: bytes, *, fits: bool = True) -> bytes:
    """An entry with other bytes in its header, and the checksum of that unless it is not to fit."""
    header = bytearray(entry[:_BLOCK])
    header[at : at + len(value)] = value
    del header[_BLOCK:]
    if fits:
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + entry[_BLOCK:]


# --- corpora ------------------------------------------------------------------------------------------------------


def corpus_edited(draw: st.DrawFn, content: bytes) -> bytes:
    """The lines of a corpus, some of them edited; checks and digest are made to fit half of the time."""
    lines = content.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        n = draw(places) % len(lines)
        match draw(st.sampled_from(["json", "json", "json", "bytes", "lose", "double", "swap", "long", "nested"])):
            case "json":
                lines[n] = _json_line(draw, lines[n])
            case "bytes":
                lines[n] = bytes_edited(draw, lines[n])
            case "lose" if len(lines) > 1:
                del lines[n]
            case "double":
                lines.insert(n, lines[n])
            case "swap":
                m = draw(places) % len(lines)
                lines[n], lines[m] = lines[m], lines[n]
            case "long":
                lines[n] = (
                    lines[n][:-1] + b" " * draw(st.sampled_from([1 << 19, (1 << 20) - len(lines[n]), 1 << 22])) + b"\n"
                )
            case "nested":
                depth = draw(st.sampled_from([100, 5_000, 100_000]))
                lines[n] = b'{"check":"00000000","case":' + b"[" * depth + b"]" * depth + b"}\n"
    if draw(st.booleans()):
        lines = _with_checks(lines)
    return b"".join(lines)


def _json_line(draw: st.DrawFn, line: bytes) -> bytes:
    try:
        value = parsed(line)
    except (ValueError, RecursionError):  # an edit before has spoiled it
        return line
    return written(json_edited(draw, value)) + b"\n"


def _with_checks(lines: Sequence[bytes]) -> list[bytes]:
    """The lines with every check and the digest at the end as they have to be."""
    fitting = []
    for line in lines:
        start, mark, text = line.rstrip(b"\n").partition(b',"case":')
        if mark and start.startswith(b'{"check":"'):
            text = text[:-1]
            line = b'{"check":"%08x","case":%s}\n' % (zlib.crc32(text), text)
        fitting.append(line)
    if fitting and fitting[-1].startswith(b'{"end":'):
        digest = hashlib.sha256(b"".join(fitting[:-1])).hexdigest()
        fitting[-1] = b'{"end":{"cases":%d,"sha256":"%s"}}\n' % (max(len(fitting) - 2, 0), digest.encode())
    return fitting
