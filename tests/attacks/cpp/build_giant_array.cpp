// SPDX-License-Identifier: MIT
// class: Host: compile bombs, disk floods
// tries: an object file of 64 GiB.
// expect: compile
#include "attack.h"

char bomb[64ull << 30] = {1};

void custom_kernel(const input_t &, output_t &)
{
}
