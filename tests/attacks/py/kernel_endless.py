# SPDX-License-Identifier: MIT
# class: Endless: a run that does not want to end
# tries: never to return, in many processes and threads none of which can be ended by a request.
# expect: timed_out
import os
import signal
import threading
import time

from attack import tried


def custom_kernel(data):
    tried()
    for _ in range(3):
        os.fork()
    os.setsid() if os.getpgrp() != os.getpid() else None
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    for _ in range(3):
        threading.Thread(target=time.sleep, args=(1000,)).start()
    while True:
        time.sleep(1000)
