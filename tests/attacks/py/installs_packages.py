# SPDX-License-Identifier: MIT
# class: Host: package installation
# tries: to install a package that it brings along into the interpreter, for the next one.
# expect: passed
import os
import subprocess
import sys
import zipfile

from attack import escaped, honest as custom_kernel, say, tried

tried()
wheel, info = "/tmp/kettlepoison-1-py3-none-any.whl", "kettlepoison-1.dist-info"
with zipfile.ZipFile(wheel, "w") as file:
    file.writestr("kettlepoison.py", "")
    file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: kettlepoison\nVersion: 1\n")
    file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    file.writestr(f"{info}/RECORD", f"kettlepoison.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
done = subprocess.run([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "--no-index",
                       "--no-deps", wheel], capture_output=True, text=True, stdin=subprocess.DEVNULL)
say(f"pip: {done.returncode} {done.stdout[-300:]} {done.stderr[-300:]}")
look = subprocess.run([sys.executable, "-c", "import kettlepoison; print(kettlepoison.__file__)"], capture_output=True, text=True,
                      cwd="/", env={})
if look.returncode == 0:
    escaped(f"a package was installed: {look.stdout}")
