# SPDX-License-Identifier: MIT
"""Whether a secret number is readable in what anyone may read: as it is, and below base64, zlib, gzip and zip."""
import base64
import io
import re
import zipfile
import zlib

ENCODED = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
MOST, DEEPEST = 1 << 20, 4  # bytes of one thing that is unpacked; layers


def inflated(data):
    """What the bytes are if they are compressed, by any of the three headers that zlib knows."""
    for bits in (15, 31, -15):
        try:
            yield zlib.decompressobj(bits).decompress(data, MOST)
        except zlib.error:
            pass


def below(data, depth=0):
    """The bytes, and all that can be unpacked from them."""
    yield data
    if depth == DEEPEST:
        return
    inner = list(inflated(data))
    for text in ENCODED.findall(data) if depth < DEEPEST - 1 else []:
        text = text.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        inner.append(base64.b64decode(text[:len(text) - (len(text) % 4 == 1)] + b"=" * (-len(text) % 4)))
    if data[:4] == b"PK\3\4":
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for entry in archive.infolist():
                    with archive.open(entry) as file:
                        inner.append(file.read(MOST))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            pass
    for one in inner:
        if one and one != data:
            yield from below(one, depth + 1)


class Seeds:
    def __init__(self):
        self.seeds, self.seen = [], {}

    def add(self, given):
        self.seeds += [str(seed) for seed in given]
        self.seen.clear()

    def find(self, data):
        """Which of them are readable there."""
        data = data.encode() if isinstance(data, str) else data
        if not self.seeds:
            return []
        if data not in self.seen:
            patterns = [(seed, re.compile(rb"(?<!\d)" + re.escape(seed.encode()) + rb"(?!\d)")) for seed in self.seeds]
            found = set()
            for text in below(data):
                found.update(seed for seed, pattern in patterns if pattern.search(text))
            self.seen[data] = sorted(found)
        return self.seen[data]
