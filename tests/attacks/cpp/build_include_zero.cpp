// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: to include a file that never ends.
// expect: compile
#include "/dev/zero"
