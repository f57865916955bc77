// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: to make the compiler wait for input on a terminal, and to include its own outputs.
// expect: compile
#include "/dev/stdin"
#include "/dev/tty"
#include "/proc/self/fd/0"
#include "/proc/self/fd/1"
#include "/proc/self/fd/2"
#include "/job/out"
no such thing;
