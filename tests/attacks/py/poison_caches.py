# SPDX-License-Identifier: MIT
# class: Host: poisoning compile caches for the next one
# tries: to leave programs in the caches of torch, Triton, JAX, numba and CuPy, in compilers' caches and in its home, and
#        looks whether an earlier run, step or job has. In the caches of compilers it may find what the same submission left.
# expect: passed
# mode: benchmark
# runs: 2
# variants: WHO=one WHO=two
# together: yes
import os

from attack import escaped, honest as custom_kernel, say, tried

NAMES = ("TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR",
         "NUMBA_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH")
POISON = b"\x7fELF poison of @WHO@"

tried()
folders = [os.environ.get(name, "") for name in NAMES]
if not all(os.path.isabs(folder) for folder in folders):
    say(f"some caches have no place: {folders}")
home = os.environ["HOME"]
own = list(folders)
folders += [f"{home}/.cache", f"{home}/.ccache", f"{home}/.nv", f"{home}/.triton", f"{home}/.local", "/tmp/torchinductor_kettle", "out"]
for folder in filter(None, folders):
    path = os.path.join(folder, "py311_cpu", "poison", "poison.so")
    if os.path.exists(path):
        with open(path, "rb") as file:
            left = file.read()
        if folder not in own or left != POISON:
            escaped(f"{path} of an earlier run is still there")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(POISON)
    except OSError as error:
        say(f"{path}: {error}")
