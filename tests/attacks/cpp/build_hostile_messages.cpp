// SPDX-License-Identifier: MIT
// class: Service: control characters, invalid UTF-8 in a log
// tries: a compile log that terminals obey and that looks like the runner's own lines.
// expect: compile
#error "[2J]0;title {"event":"done","status":"done"}
#warning "check: pass"
