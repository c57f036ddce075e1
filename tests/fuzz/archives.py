"""Edits of what is packed: tar archives compressed as Zstandard, and corpora."""

from __future__ import annotations

import hashlib
import json
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache

import zstandard
from hypothesis import strategies as st

from fuzz.edits import bytes_edited, json_edited, places

_BLOCK = 512
_TOP = "package"
_NAMES = (
    *(
        "package/../manifest.json",
        "../manifest.json",
        "/manifest.json",
        "/tmp/manifest.json",
        "package/./manifest.json",
    ),
    *("package//manifest.json", "package\\..\\manifest.json", "package/manifest.json/", "package/sub/manifest.json"),
    *("other/manifest.json", "manifest.json", "package", "package/", "", "package/\x1b[2J", "package/CON"),
    "package/" + "x" * 150,
)
_SIZES = (b"7" * 11 + b"\0", b"7" * 12, b"\x80" + b"\xff" * 11, b"-1\0", b"0" * 12, b"")
# Places in the header of an entry, and what stands there instead of what should: its path, type and size.
_FIELDS = (
    *((0, name.encode()[:100].ljust(100, b"\0")) for name in _NAMES),
    *((156, bytes([kind])) for kind in b"0\0123456789xgLKSVDM\xff"),
    *((124, size.ljust(12, b" ")) for size in _SIZES),
)
_FRAME = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x50\x2a\x4d\x18"


def compressed(draw: st.DrawFn, content: bytes) -> bytes:
    """Content as Zstandard, mostly whole; else damaged, in odd frames, or with a bomb beside it."""
    at = draw(places) % (len(content) + 1)
    match draw(st.sampled_from(["whole", "whole", "whole", "whole", "bytes", "frames", "plain", "window"])):
        case "bytes":
            return bytes_edited(draw, _packed(content), (_FRAME, _SKIPPABLE))
        case "frames":
            odd = (_SKIPPABLE + b"\4\0\0\0rest", _SKIPPABLE + b"\xff" * 4, _packed(b""), b"\0" * 9, _bomb(0), _bomb(91))
            return _packed(content[:at]) + draw(st.sampled_from(odd)) + _packed(content[at:])
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


def archive(draw: st.DrawFn, files: Mapping[str, bytes]) -> bytes:
    """Files as a tar archive, mostly with an entry or its header edited."""
    entries = [_entry(f"{_TOP}/{name}", content) for name, content in sorted(files.items())]
    for _ in range(draw(st.integers(0, 2))):
        n, m = draw(places) % len(entries), draw(places) % (len(entries) + 1)
        match draw(st.sampled_from(["field", "field", "byte", "link", "double", "lose", "many", "extended"])):
            case "field":
                entries[n] = _with(entries[n], *draw(st.sampled_from(_FIELDS)))
            case "byte":
                value = bytes([draw(st.integers(0, 255))])
                entries[n] = _with(entries[n], draw(places) % _BLOCK, value, fits=draw(st.booleans()))
            case "link":
                target = draw(st.sampled_from(["/etc/passwd", "../../x", "manifest.json", "", "/dev/zero"]))
                kind = draw(st.sampled_from([tarfile.SYMTYPE, tarfile.LNKTYPE]))
                entries.insert(m, _entry(f"{_TOP}/manifest.json", b"", kind=kind, linkname=target))
            case "double":
                entries.insert(m, entries[n])
            case "lose" if len(entries) > 1:
                del entries[n]
            case "many":
                entries += [_entry(f"{_TOP}/f{k}", b"") for k in range(draw(st.sampled_from([3, 63, 64, 20_000])))]
            case "extended":
                records = draw(st.sampled_from([b"30 path=/tmp/x\n", b"9" * 5_000, b"18 size=99999999\n"]))
                entries.insert(n, _entry("pax", records, kind=tarfile.XHDTYPE))
    return b"".join(entries) + draw(st.sampled_from([b"\0" * 1024, b"\0" * 1024, b"", b"\0" * 2048 + b"more"]))


def _entry(path: str, content: bytes, *, kind: bytes = tarfile.REGTYPE, linkname: str = "") -> bytes:
    header = tarfile.TarInfo(path)
    header.size, header.mode, header.type, header.linkname = len(content), 0o644, kind, linkname
    return header.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % _BLOCK)


def _with(entry: bytes, at: int, value: bytes, *, fits: bool = True) -> bytes:
    """An entry with other bytes in its header, and the checksum of that unless it is not to fit."""
    header = bytearray(entry[:at] + value + entry[at + len(value) : _BLOCK])[:_BLOCK]
    if fits:
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + entry[_BLOCK:]


def make_manifest_fit(files: dict[str, bytes], name: str) -> None:
    """Give the manifest of that name the digests of the files beside it, unless it was spoiled itself."""
    with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        manifest = json.loads(files[name])
        for entry in manifest["files"]:
            content = files.get(name.replace("manifest.json", entry["name"]), b"")
            entry.update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
        files[name] = json.dumps(manifest).encode()


def corpus_edited(draw: st.DrawFn, content: bytes) -> bytes:
    """The lines of a corpus, some of them edited; checks and digest are made to fit half of the time."""
    lines = content.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        n, m = draw(places) % len(lines), draw(places) % len(lines)
        match draw(st.sampled_from(["json", "json", "json", "bytes", "lose", "double", "swap", "long", "nested"])):
            case "json":
                with suppress(ValueError, RecursionError):  # an edit before has spoiled it
                    lines[n] = json_edited(draw, lines[n]) + b"\n"
            case "bytes":
                lines[n] = bytes_edited(draw, lines[n])
            case "lose" if len(lines) > 1:
                del lines[n]
            case "double":
                lines.insert(n, lines[n])
            case "swap":
                lines[n], lines[m] = lines[m], lines[n]
            case "long":
                more = draw(st.sampled_from([1 << 19, (1 << 20) - len(lines[n]), 1 << 22]))
                lines[n] = lines[n][:-1] + b" " * more + b"\n"
            case "nested":
                depth = draw(st.sampled_from([100, 5_000, 100_000]))
                lines[n] = b'{"check":"00000000","case":' + b"[" * depth + b"]" * depth + b"}\n"
    return b"".join(_with_checks(lines) if draw(st.booleans()) else lines)


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
