# expect: failed in test
# Reports by itself, then kills the process that would report the failure.
import os
import signal


def custom_kernel(data):
    print("test-count: 5\ntest.0.status: pass\ncheck: pass", flush=True)
    os.kill(os.getppid(), signal.SIGKILL)
