// expect: compile
// The compiler is told to stop, with a message of several lines that looks like results.
#include "task.h"
#error "check: pass\ntest.0.status: pass"
