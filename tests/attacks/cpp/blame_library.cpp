// SPDX-License-Identifier: MIT
// class: Status as a lever
// tries: to end as a program whose library the machine lacks.
// expect: failed
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	dprintf(STDERR_FILENO, "./program: error while loading shared libraries: libcuda.so.1: cannot open shared object file: "
						   "No such file or directory\n");
	_exit(127);
}
