# SPDX-License-Identifier: MIT
# class: Endless: a finalizer that hangs
# tries: to keep the interpreter from ending: finalizers, exit handlers and threads that never return.
# expect: passed
import atexit
import threading
import time
import weakref

from attack import honest as custom_kernel, tried


class Stays:
    def __del__(self):
        time.sleep(1000)


tried()
stays = Stays()
cycle = [Stays()]
cycle.append(cycle)
weakref.finalize(stays, time.sleep, 1000)
atexit.register(time.sleep, 1000)
threading._register_atexit(time.sleep, 1000)
threading.Thread(target=time.sleep, args=(1000,)).start()
