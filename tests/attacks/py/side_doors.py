# SPDX-License-Identifier: MIT
# class: Host: io_uring and other side doors
# tries: by number, the system calls that have opened kernels and sandboxes before.
# expect: passed
import ctypes
import errno
import os

from attack import calls, escaped, honest as custom_kernel, tried

CALLS = {"io_uring_setup": (425, 8), "add_key": (248, 0, 0, 0, 0, -3), "request_key": (249,), "keyctl": (250, 0, -3, 1),
         "bpf": (321, 0), "perf_event_open": (298, 0, 0, -1, -1, 0), "userfaultfd": (323, 0), "unshare": (272, 0x10000000),
         "setns": (308, 3, 0), "mount": (165,), "umount2": (166,), "pivot_root": (155,), "chroot": (161,), "swapon": (167,),
         "init_module": (175,), "finit_module": (313,), "kexec_load": (246,), "reboot": (169,), "acct": (163,),
         "settimeofday": (164,), "clock_settime": (227,), "adjtimex": (159,), "sethostname": (170,), "iopl": (172, 3),
         "ioperm": (173, 0, 1, 1), "syslog": (103, 3, 0, 0), "ptrace": (101, 0), "process_vm_readv": (310,),
         "name_to_handle_at": (303,), "open_by_handle_at": (304,), "fanotify_init": (300, 0, 0), "quotactl": (179,),
         "move_mount": (429,), "fsopen": (430,), "open_tree": (428,), "personality": (135, 0x0040000), "vhangup": (153,),
         "nfsservctl": (180,), "lookup_dcookie": (212,), "modify_ldt": (154, 0, 0, 0), "mbind": (237,)}
FAULTS = {errno.EFAULT}  # it was let in and only disliked its arguments

tried()
libc = calls()
for name, (number, *arguments) in CALLS.items() if os.uname().machine == "x86_64" else ():
    ctypes.set_errno(0)
    result = libc.syscall(number, *(ctypes.c_long(argument) for argument in (*arguments, 0, 0, 0, 0, 0)[:5]))
    if result >= 0 and name not in ("personality", "modify_ldt"):
        escaped(f"{name} gave {result}")
    elif result < 0 and ctypes.get_errno() in FAULTS and name in ("io_uring_setup", "bpf", "userfaultfd", "perf_event_open"):
        escaped(f"{name} looked at its arguments")
CLONE, CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET = 56, 0x10000000, 0x20000, 0x40000000
for flags in (CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWNS, CLONE_NEWNET) if os.uname().machine == "x86_64" else ():
    pid = libc.syscall(CLONE, ctypes.c_long(flags | 17), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    if pid > 0:
        escaped(f"clone with {flags:x} was let in")
