// SPDX-License-Identifier: MIT
// class: Service: a fault that is made to look like the machine's
// tries: to have the machine blamed for a wrong output: by its status, by its words.
// expect: failed
// variants: STATUS=110 STATUS=111 STATUS=113 STATUS=2
#include "attack.h"

void
custom_kernel(Span<const float>, Span<float>)
{
	tried();
	fprintf(stderr, "no CUDA-capable device is detected\n");
	fflush(nullptr);
	_exit(@STATUS@);
}
