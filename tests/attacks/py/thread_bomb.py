# SPDX-License-Identifier: MIT
# class: Host: fork bombs (threads)
# tries: to make threads without end.
# expect: failed
import threading
import time

from attack import tried


def custom_kernel(data):
    tried()
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
