import zlib


def custom_kernel(data: bytes) -> int:
    return zlib.crc32(data)
