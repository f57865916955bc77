# SPDX-License-Identifier: MIT
"""The parts of a form (multipart/form-data), taken strictly: a form that is not as RFC 7578 says is refused."""
import email.parser
import re


class Broken(Exception):
    """A form that is none: says why."""


def parts(raw, boundary):
    """[(name, file name or None, type, bytes)] of a body."""
    if not boundary or not re.fullmatch(r"[0-9A-Za-z'()+_,./:=? -]{1,70}", boundary):
        raise Broken(f"the boundary {boundary!r}")
    mark = b"--" + boundary.encode()
    if not raw.startswith(mark):
        raise Broken("it does not begin with its boundary")
    pieces = (b"\r\n" + raw).split(b"\r\n" + mark)
    if pieces[-1].strip(b"\r\n") != b"--":
        raise Broken("it does not end with its boundary")
    return [part(piece) for piece in pieces[1:-1]]


def part(piece):
    head, separator, data = piece.partition(b"\r\n\r\n")
    if not piece.startswith(b"\r\n") or not separator:
        raise Broken("a part without headers")
    headers = email.parser.BytesHeaderParser().parsebytes(head[2:])
    name = headers.get_param("name", header="content-disposition")
    if headers.get_content_disposition() != "form-data" or not name:
        raise Broken("a part without a name")
    file = headers.get_filename()
    size = headers.get("Content-Length")
    if size is not None and size != str(len(data)):
        raise Broken(f"the part {name} says it has {size} bytes, and has {len(data)}")
    return name, file, headers.get_content_type() if "content-type" in headers else "application/octet-stream", data
