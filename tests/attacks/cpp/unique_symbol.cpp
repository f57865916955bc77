// SPDX-License-Identifier: MIT
// class: Correctness: interposition at link time
// tries: to define what the harness uses with the binding STB_GNU_UNIQUE, which objcopy does not make local, also under
//        the name of a version.
// expect: passed
#include "attack.h"

asm(".text\n"
	".globl snprintf\n.type snprintf, @gnu_unique_object\nsnprintf:\n"
	".globl aligned_alloc\n.type aligned_alloc, @gnu_unique_object\naligned_alloc:\n"
	".globl memcmp\n.type memcmp, @gnu_unique_object\nmemcmp:\n"
	".globl replaced\n.type replaced, @gnu_unique_object\nreplaced:\n"
	"	ud2\n"
	".symver replaced, hypot@@GLIBC_2.35\n");

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	honest(input, output);
}
