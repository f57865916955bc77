# SPDX-License-Identifier: MIT
"""The zips of artifacts: as actions/upload-artifact makes them, and broken ones."""
import glob
import io
import os
import pathlib
import warnings
import zipfile
import zlib

RESULT = "result.kettle"
BOMB, BLOCK = 400 << 20, bytes(1 << 20)  # more than any result may have


def collect(folder, patterns):
    """{name: bytes} of the files that match, below the deepest folder that they have in common."""
    found = []
    for pattern in patterns.split("\n"):
        for path in glob.glob(str(folder / pattern.strip())) if pattern.strip() else []:
            path = pathlib.Path(path)
            found += [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file() and not one.name.startswith(".")]
    found = sorted(set(found))
    if not found:
        return {}
    single = [line for line in patterns.split("\n") if line.strip()]
    first = folder / single[0].strip()
    base = first if len(single) == 1 and first.is_dir() else pathlib.Path(os.path.commonpath([path.parent for path in found]))
    return {str(path.relative_to(base)): path.read_bytes() for path in found}


def unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class Stream(io.BytesIO):
    """What is only written once: sizes and checksums come behind the data, as in the zips of actions/upload-artifact."""

    def seek(self, *_):
        raise io.UnsupportedOperation


def zipped(entries):
    out = Stream()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that comes twice
        for name, data in entries:
            archive.writestr(name, data)
    return out.getvalue()


def bomb(liar):
    """A zip of BOMB zeros; a liar says that it has as many as it has compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open(RESULT, "w") as file:
            for _ in range(BOMB // len(BLOCK) // (8 if liar else 1)):
                file.write(BLOCK)
        size = archive.getinfo(RESULT).file_size
    data = out.getvalue()
    return data.replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little")) if liar else data


def pack(files, kind):
    """The zip of an artifact; kind: what is wrong with it."""
    result = files.get(RESULT, b"")
    if kind == "edited":
        middle = len(result) // 2
        return zipped({**files, RESULT: result[:middle] + bytes([result[middle] ^ 1]) + result[middle + 1:]}.items())
    if kind == "cut_result":
        return zipped({**files, RESULT: result[:len(result) * 2 // 3]}.items())
    if kind == "other_name":
        return zipped([("result.json", result)])
    if kind == "path":
        return zipped([("../" + RESULT, result)])
    if kind == "two":
        return zipped([(RESULT, b"first"), (RESULT, result)])
    if kind in ("bomb", "liar"):
        return bomb(kind == "liar")
    data = zipped(files.items())
    odd = {"cut": data[:len(data) // 2], "garbage": zlib.compress(data)[::-1], "empty": zipped([]),
           "html": b"<!DOCTYPE html><html><title>Unicorn!</title></html>"}
    return odd.get(kind, data)
