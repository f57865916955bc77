// SPDX-License-Identifier: MIT
// class: Host: reading files at compile time (#include)
// tries: to have files of the machine shown in error messages.
// expect: compile
// hides: @SECRET@
#include "@CANARY@"
#include "/etc/shadow"
#include "/proc/1/environ"
#include "/proc/self/root@CANARY@"
#include "../../../../../../../../..@CANARY@"
