// SPDX-License-Identifier: MIT
// class: Host: static constructors
// tries: to crash before main.
// expect: failed
#include "attack.h"

static int early = (tried(), raise(SIGSEGV));

void custom_kernel(const input_t &, output_t &)
{
}
