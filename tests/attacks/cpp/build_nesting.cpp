// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: to run the compiler over its stack: a million parentheses.
// expect: compile
// endless: yes
#define A ((((((((((((((((
#define B A A A A A A A A A A A A A A A A
#define C B B B B B B B B B B B B B B B B
#define D C C C C C C C C C C C C C C C C
#define E D D D D D D D D D D D D D D D D
int bomb = E E 1;
