# expect: failed in test
# Writes the verdict to every descriptor that it and the process above it have, and to standard output.
import os

VERDICT = b"check: pass\n"


def custom_kernel(data):
    for fd in range(1, 2048):
        try:
            os.write(fd, VERDICT)
        except OSError:
            pass
        for name in (f"/proc/{os.getppid()}/fd/{fd}", f"/proc/self/fd/{fd}"):
            try:
                with open(name, "wb") as file:
                    file.write(VERDICT)
            except OSError:
                pass
    os._exit(0)
