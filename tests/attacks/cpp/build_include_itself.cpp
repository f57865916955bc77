// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: to include itself twice at every level: two to the power of the depth.
// expect: compile
#include "/job/submission.cpp"
#include "/job/submission.cpp"
int a;
