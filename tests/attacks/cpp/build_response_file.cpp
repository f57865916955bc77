// SPDX-License-Identifier: MIT
// class: Host: reading files at compile time (response files); flags smuggled in
// tries: to give options to compiler, assembler and linker from inside the source.
// expect: passed compile
// hides: @SECRET@
#include "attack.h"

#pragma GCC optimize("@/job/submission.cpp")
#pragma GCC optimize("no-such-option -wrapper /bin/false -B/tmp -fplugin=/tmp/x.so")
#pragma GCC target("arch=native,@@CANARY@")
#pragma GCC dependency "/usr/include/stdio.h"
#pragma comment(linker, "-T@CANARY@")
#pragma comment(lib, "@CANARY@")

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	honest(input, output);
}
