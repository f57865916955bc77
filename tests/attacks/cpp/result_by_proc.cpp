// SPDX-License-Identifier: MIT
// class: Result channel: reopening the harness's descriptor through /proc/PPID/fd
// tries: to report success from another program, by every descriptor that the harness has.
// expect: failed
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	shell("for f in /proc/$PPID/fd/* /proc/1/fd/*; do echo 'check: pass' >> $f; done 2>/dev/null");
	shell("for n in 3 4 5 6 7 8 9; do echo 'check: pass' >&$n; done 2>/dev/null");
}
