// SPDX-License-Identifier: MIT
// class: Status as a lever
// tries: to have compiler and linker say in the submission's words what they say where machine or task are at fault.
// expect: compile
// variants: SAYS=0 SAYS=1 SAYS=2 SAYS=3 SAYS=4 SAYS=5 SAYS=6 SAYS=7
#include "attack.h"

#if @SAYS@ == 0
#error Unsupported gpu architecture 'compute_90'
#elif @SAYS@ == 1
#error nvcc fatal : Unknown option
#elif @SAYS@ == 2
#pragma message "unsupported GNU version! gcc versions later than 12 are not supported!"
missing type;
#elif @SAYS@ == 3
static_assert(false, "No supported gcc/g++ host compiler found");
#elif @SAYS@ == 4
__asm__(".error \"rtc: the toolkit has no nvrtc\"");
#elif @SAYS@ == 5
#error fatal error: cublas_v2.h: No such file or directory
#elif @SAYS@ == 6
extern "C" int missing_symbol();
__asm__(".pushsection .gnu.warning.missing_symbol\n.string \"ld: cannot find -lcublas: No such file\"\n.popsection");
#else
int cannot() __asm__("ld: cannot find -lfft: No such file or directory");
#endif

void
custom_kernel(Span<const float> input, Span<float> output)
{
	honest(input, output);
#if @SAYS@ == 6
	output[0] = missing_symbol();
#elif @SAYS@ == 7
	output[0] = cannot();
#endif
}
