// SPDX-License-Identifier: MIT
// class: Secret seed: before main
// tries: to run before all of the harness, by functions that choose another one while the program is relocated.
// expect: compile
// variants: WHICH=1 WHICH=2
#include "attack.h"

static void chosen()
{
}

extern "C" {
__attribute__((used)) static void (*choose())()
{
	syscall(SYS_write, 2, "ESCAPED\n", 8);
	return chosen;
}
}

#if @WHICH@ == 1
static void indirect() __attribute__((ifunc("choose")));
#else
asm(".local .Lindirect\n.type .Lindirect, @gnu_indirect_function\n.set .Lindirect, choose\n.data\n.quad .Lindirect\n.text\n");
static void indirect()
{
}
#endif

void custom_kernel(const input_t &input, output_t &output)
{
	indirect();
	honest(input, output);
}
