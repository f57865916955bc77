# SPDX-License-Identifier: MIT
"""What the hostile submissions in Python share: an honest answer, and words for the driver to find on stderr."""
import os
import sys


def say(text):
    """Past sys.stderr, which an attack may have replaced."""
    os.write(2, (text + "\n").encode("utf-8", "surrogateescape"))


def tried():
    """The driver demands this, so that an attack that never ran is not taken for one that was contained."""
    if not hasattr(sys, "kettle_tried"):
        sys.kettle_tried = True
        say("TRIED")


def escaped(text):
    """The driver sees this and fails the test: something worked that must not."""
    say("ESCAPED " + str(text)[:300].replace("\n", " "))


def honest(data):
    return [2 * value for value in data]


def refused(function, *args, what=None):
    """Whether a call is refused by the system; says so if it is not."""
    try:
        result = function(*args)
    except (OSError, ValueError, EOFError):
        return True
    escaped(f"{what or getattr(function, '__name__', function)}{args!r} gave {result!r}")
    return False


def calls():
    """The C library, for system calls that Python has no function for."""
    import ctypes
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def in_child(function):
    """The same in a process of its own, for what would change or end the caller; waits for it."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1]


def read(path, most=1 << 20):
    """What a file holds; None where it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(most)
    except OSError:
        return None


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def driver():
    """The object that answers the referee."""
    frame = sys._getframe()
    while type(frame.f_locals.get("self")).__name__ != "Driver":
        frame = frame.f_back
    return frame.f_locals["self"]


def work(data, ns):
    """The right answer, after so much of this thread's time."""
    import time
    until = time.thread_time_ns() + ns
    while time.thread_time_ns() < until:
        pass
    return honest(data)


def input_of(driver):
    """The input of the call that was told to begin."""
    if driver._late:
        driver._data = driver._unpacked()
    return driver._data
