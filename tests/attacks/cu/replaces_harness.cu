// SPDX-License-Identifier: MIT
// class: Correctness: interposition at link time
// tries: to be what the harness formats, copies and asks the runtime for. The harness must use its own.
// expect: passed
// mode: ranked
// variants: WHICH=1 WHICH=2 WHICH=3
#include "attack.h"

#if @WHICH@ == 1
extern "C" int snprintf(char *text, size_t size, const char *, ...) noexcept
{
	if (size > 1)
		text[0] = '1', text[1] = 0;
	return 1;
}
#elif @WHICH@ == 2
extern "C" void *memcpy(void *, const void *, size_t) noexcept
{
	_exit(0);
}
#else
extern "C" int clock_gettime(int, struct timespec *) noexcept
{
	_exit(0);
}
#endif

void
custom_kernel(Span<const float> input, Span<float> output)
{
	tried();
	honest(input, output);
}
