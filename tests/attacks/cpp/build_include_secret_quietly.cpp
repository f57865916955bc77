// SPDX-License-Identifier: MIT
// class: Host: reading files at compile time (#include, __has_include)
// tries: to learn what is on the machine from what the preprocessor finds.
// expect: passed
#include "attack.h"

#if __has_include("@CANARY@") || __has_include("/etc/shadow") || __has_include("/root/.bashrc") ||                     \
	__has_include("/var/lib/dpkg/status") || __has_include("/run/systemd/private")
#define FOUND true
#else
#define FOUND false
#endif

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	if (FOUND)
		escaped("the compiler sees files of the machine");
	honest(input, output);
}
