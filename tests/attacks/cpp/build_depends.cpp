// SPDX-License-Identifier: MIT
// class: Host: overwriting files at build time
// tries: to have the tools write where they should not: other outputs by name, the next inputs, the assembler's files.
// expect: compile
#include "attack.h"

__asm__(".file \"/job/out/program\"\n.line 1\n.include \"/dev/stdin\"\n.include \"@CANARY@\"\n");
