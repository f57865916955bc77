// SPDX-License-Identifier: MIT
// class: Correctness: interposition at link time
// tries: to be what the harness formats, parses, allocates and copies with: functions of the C library, and strong
//        definitions of templates of which the harness has weak ones. The harness must use its own.
// expect: passed
// mode: ranked
// variants: WHICH=1 WHICH=2 WHICH=3 WHICH=4
#include "attack.h"

#include <cstdarg>
#include <stdexcept>
#include <string>

#if @WHICH@ == 1
extern "C" int snprintf(char *text, size_t size, const char *, ...) noexcept
{
	if (size > 1)
		text[0] = '1', text[1] = 0;
	return 1;
}
extern "C" double strtod(const char *, char **end) noexcept
{
	if (end)
		*end = nullptr;
	return 1;
}
#elif @WHICH@ == 2
extern "C" void *aligned_alloc(size_t, size_t) noexcept
{
	_exit(0);
}
extern "C" void *memcpy(void *, const void *, size_t) noexcept
{
	_exit(0);
}
#elif @WHICH@ == 3
template <> template <> void std::vector<double>::_M_realloc_insert(iterator, const double &)
{
	_exit(0);
}
template <> std::vector<float>::vector(const std::vector<float> &)
{
	_exit(0);
}
#else
// A start of its own, before the harness's.
static void first(int, char **, char **)
{
	_exit(0);
}
__attribute__((section(".preinit_array"), used)) static void (*const start)(int, char **, char **) = first;
int main()
{
	return 0;
}
#endif

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	honest(input, output);
}
