# SPDX-License-Identifier: MIT
"""Runs hostile submissions in CUDA (cu/) as attacks_py.py does those in Python: the shipped harness and its supervisor in
the real sandbox. There is no GPU: what stands in for nvcc gives the files to g++, with the runtime of tests/peers/gpu."""
import os
import shutil
import sys

import attacks
import attacks_py

STAND_IN = os.path.join(os.path.dirname(attacks.HERE), "peers", "gpu")
NVCC = """\
#!/bin/sh
for word do
	shift
	case $word in
	-gencode=* | --expt-* | -forward-unknown-to-host-compiler | -Xptxas=* | -Xlinker=*) ;;
	-Xcompiler=*) set -- "$@" "${word#-Xcompiler=}" ;;
	*.cu) set -- "$@" -x c++ "$word" -x none ;;
	*) set -- "$@" "$word" ;;
	esac
done
exec g++ -I"@INCLUDE@" "$@"
"""


class Bench(attacks_py.Bench):
    """Boards in CUDA."""
    LANGUAGE, MORE = "cu", {"sm": "90"}
    BOARDS = ("task_cu",)
    LIMITS = attacks_py.FIRST_LIMITS  # what is compiled is larger; runs have the task's own limits
    HONEST = {"cu": '#include "attack.h"\nvoid custom_kernel(Span<const float> in, Span<float> out)\n'
                    '{\n\thonest(in, out);\n}\n'}

    def languages(self):
        """All of the toolkit lies in one folder, which the sandbox shows where the compiler is started; what is always a part
        of one is there, though g++ has no need of it."""
        toolkit = os.path.join(self.canary.scratch, "toolkit")
        nvcc = os.path.join(toolkit, "bin", "nvcc")
        if not os.path.exists(nvcc):
            shutil.copytree(STAND_IN, os.path.join(toolkit, "include"))
            for program, text in ((nvcc, NVCC.replace("@INCLUDE@", os.path.join(toolkit, "include"))),
                                  (os.path.join(toolkit, "nvvm", "bin", "cicc"), "#!/bin/sh\nexit 1\n")):
                os.makedirs(os.path.dirname(program))
                with open(program, "w") as file:
                    file.write(text)
                os.chmod(program, 0o755)
            os.makedirs(os.path.join(toolkit, "include", "crt"), exist_ok=True)
            with open(os.path.join(toolkit, "include", "crt", "host_config.h"), "w"):
                pass
            os.mkdir(os.path.join(toolkit, "lib64"))
            # The stand-in is all headers; where no device code is linked the runtime is named without nvcc.
            with open(os.path.join(toolkit, "lib64", "libcudart_static.a"), "w") as file:
                file.write("!<arch>\n")
        for folder, folders, files in os.walk(toolkit):  # read-only sources have no rights to copy
            for name in folders:
                os.chmod(os.path.join(folder, name), 0o755)
        return {"cu": {"nvcc": nvcc}}


if __name__ == "__main__":
    sys.exit(attacks_py.main(sys.argv[1:], Bench))
