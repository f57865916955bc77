#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""like_gvisor.py COMMAND …: executes it without what gVisor's kernel refuses to kettle-exec: namespaces, mounts, pidfds, Landlock,
subreapers, the newer kinds of seccomp's answers. Another seccomp filter does it, so it works for every user."""
import ctypes
import errno
import os
import platform
import struct
import sys

REFUSED_FLAGS = 0x7E021000  # CLONE_NEW* and CLONE_PIDFD
NUMBERS = {  # clone, unshare, mount, pivot_root, seccomp, prctl; the others have the same everywhere
    "x86_64": (56, 272, 165, 155, 317, 157), "aarch64": (220, 97, 40, 41, 277, 167)}
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER, FIRST = 0, 16  # places in struct seccomp_data


def rules():
    """(number, what its first argument must be, or have one bit of, or None, error)"""
    clone, unshare, mount, pivot_root, seccomp, prctl = NUMBERS[platform.machine()]
    return [(clone, (ANY_BIT, REFUSED_FLAGS), errno.EPERM), (unshare, None, errno.EPERM), (mount, None, errno.EPERM),
            (pivot_root, None, errno.EPERM), (seccomp, (EQUAL, 2), errno.EINVAL),  # SECCOMP_GET_ACTION_AVAIL
            (prctl, (EQUAL, 36), errno.EINVAL),  # PR_SET_CHILD_SUBREAPER
            *((number, None, errno.ENOSYS) for number in (424, 434, 435, 444, 445, 446))]  # pidfd_*, clone3, landlock_*


def program():
    code = []
    for number, first, error in rules():
        refuse = [(RETURN, 0, 0, ERRNO | error)]
        if first:
            refuse = [(LOAD, 0, 0, FIRST), (first[0], 0, 1, first[1]), *refuse]
        code += [(LOAD, 0, 0, NUMBER), (EQUAL, 0, len(refuse), number), *refuse]
    code.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *one) for one in code)


def main():
    code = program()
    buffer = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("HP", len(code) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((38, 1, 0, 0, 0), (22, 2, head, 0, 0)):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "seccomp")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
