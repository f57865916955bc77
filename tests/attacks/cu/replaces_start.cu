// SPDX-License-Identifier: MIT
// class: Correctness: interposition at link time
// tries: to run code before the harness: as the function that starts it, as main, in .init and .preinit_array.
// expect: passed
// mode: ranked
#include "attack.h"

extern char **environ;

static void
take()
{
	for (char **entry = environ; *entry; entry++)
		if (strstr(*entry, "KETTLE_TOKEN") || strstr(*entry, "KETTLE_SECRET"))
			escaped("the environment has %s", *entry);
}

extern "C" void
kettle_harness_start(int, char **, char **)
{
	take();
	_exit(0);
}

extern "C" void
first(int, char **, char **)
{
	take();
}

__attribute__((section(".preinit_array"), used)) static void (*const start)(int, char **, char **) = first;
__asm__(".pushsection .init\n"
#if defined(__x86_64__)
		"call first\n"
#endif
		".popsection");

__attribute__((constructor(101))) static void
early()
{
	tried();
	take();
}

void
custom_kernel(Span<const float> input, Span<float> output)
{
	honest(input, output);
}
