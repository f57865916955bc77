// SPDX-License-Identifier: MIT
// class: Host: static constructors, interposed symbols
// tries: to run before everything, by the earliest constructor and by the C library's own entry.
// expect: failed
#include "attack.h"

__attribute__((constructor(101))) static void first()
{
	tried();
}
extern "C" int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(), void (*)(), void (*)(), void *)
{
	syscall(SYS_write, 2, "TRIED\n", 6);
	syscall(SYS_exit_group, 0);
	return 0;
}

void custom_kernel(const input_t &, output_t &)
{
}
