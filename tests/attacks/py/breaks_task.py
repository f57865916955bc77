# SPDX-License-Identifier: MIT
# class: Service: a fault that is made to look like the task's
# tries: to have the task blamed: what generates its inputs raises, because of what the submission did to it.
# expect: passed
import random

from attack import honest as custom_kernel, tried

tried()


class Broken:
    def __init__(self, *_):
        raise RuntimeError("the task is broken, stop this board")


random.Random = Broken
