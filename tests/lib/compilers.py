# SPDX-License-Identifier: MIT
"""The compilers of device code that this machine has, and how tests call them themselves. KETTLE_TEST_CUDA names a Python
environment with NVIDIA's packages: what of a CUDA toolkit this machine lacks."""
import glob
import os
import shutil
import subprocess

PLACES = {"cu": ("nvcc", "/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"), "hip": ("hipcc", "/opt/rocm/bin/hipcc")}
# hipcc would compile for NVIDIA's GPUs where it finds an nvcc.
ENVIRONMENT = {**os.environ, "HIP_PLATFORM": "amd"}


CUDA = os.environ.get("KETTLE_TEST_CUDA", "")
PACKAGES = glob.glob(f"{glob.escape(CUDA)}/lib/python3*/site-packages") if CUDA else []
HEADERS = [folder for packages in PACKAGES for below in ("nvidia/cu[0-9]*/include", "nvidia/cu[0-9]*/include/cccl",
           "cutlass_library/source/include") for folder in glob.glob(f"{glob.escape(packages)}/{below}")]
# Those packages have no lib64, which their nvcc would look into.
LIBRARIES = [folder for packages in PACKAGES for folder in glob.glob(f"{glob.escape(packages)}/nvidia/cu[0-9]*/lib")]


def find(lang):
    """The path of a language's compiler; None: the machine has none."""
    packaged = [path for packages in PACKAGES for path in glob.glob(f"{glob.escape(packages)}/nvidia/cu[0-9]*/bin/nvcc")]
    found = (shutil.which(PLACES[lang][0]), *PLACES[lang][1:], *(packaged if lang == "cu" else ()))
    return next((place for place in found if place and os.access(place, os.X_OK)), None)


def options(lang):
    """The language's configuration, with which it finds its compiler and all that tests need of a toolkit."""
    return {"toolkit": CUDA} if lang == "cu" and CUDA else {PLACES[lang][0]: find(lang)}


def has_header(lang, name, folders=()):
    """Whether the compiler finds a header, in the toolkit or in those folders."""
    looks = f"#if !__has_include(<{name}>)\n#error lacks\n#endif\n"
    return subprocess.run([find(lang), "-E", "-x", lang, "-std=c++17", *(f"-I{folder}" for folder in folders),
                           *(f"-isystem={folder}" for folder in HEADERS if lang == "cu"), "-"], input=looks,
                          text=True, capture_output=True, env=ENVIRONMENT).returncode == 0
