# SPDX-License-Identifier: MIT
"""The compilers of device code that this machine has, and how tests call them themselves."""
import os
import shutil
import subprocess

PLACES = {"cu": ("nvcc", "/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"), "hip": ("hipcc", "/opt/rocm/bin/hipcc")}
# hipcc would compile for NVIDIA's GPUs where it finds an nvcc.
ENVIRONMENT = {**os.environ, "HIP_PLATFORM": "amd"}


def find(lang):
    """The path of a language's compiler; None: the machine has none."""
    found = (shutil.which(PLACES[lang][0]), *PLACES[lang][1:])
    return next((place for place in found if place and os.access(place, os.X_OK)), None)


def has_header(lang, name, folders=()):
    """Whether the compiler finds a header, in the toolkit or in those folders."""
    looks = f"#if !__has_include(<{name}>)\n#error lacks\n#endif\n"
    return subprocess.run([find(lang), "-E", "-x", lang, "-std=c++17", *(f"-I{folder}" for folder in folders), "-"], input=looks,
                          text=True, capture_output=True, env=ENVIRONMENT).returncode == 0
