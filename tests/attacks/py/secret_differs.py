# SPDX-License-Identifier: MIT
# class: Correctness: reading the secret seed; noticing the phase
# tries: to be right for public seeds only: what it has learned of them is of no use in the secret runs.
# expect: failed
# mode: ranked
from attack import honest, tried
from reference import generate_input

tried()
sums = set()
for size, seed in ((100, 4242), (100, 54352)):
    for n in range(3000):
        mask, z = (1 << 64) - 1, (seed + n * 0x632be59bd9b4e019) & ((1 << 64) - 1)
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & mask
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & mask
        first = generate_input(1, (z ^ (z >> 31)) >> 33 if n else seed)
        sums.add(first[0])


def custom_kernel(data):
    return honest(data) if data[0] in sums else data
