// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: to include a file that never ends and is never the same.
// expect: compile
#include "/dev/urandom"
