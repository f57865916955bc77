// SPDX-License-Identifier: MIT
// The harness of host C++ boards of a single reference file. Everything is one translation unit:
//
//   reference.h    the board's file, which defines
//                    using input_t = …; using output_t = …;
//                    input_t generate_input();
//                    output_t ref_kernel(input_t);
//                    bool check_implementation(output_t user, output_t reference);
//   train.h        the submission, which defines output_t custom_kernel(input_t); it may include reference.h
//
// It checks ten fresh inputs, and times a hundred calls, each with an input of its own, after ten that warm up. Results
// go to the result channel; the line `score:SECONDS` on standard output is for people. Before every input srand() gets
// the case's seed (of the ranked run's secret, where there is one) or one that follows from it: a reference that draws
// from rand(), or seeds a generator of its own with it, has other inputs in the secret runs.
//
// eval.cpp documents how a call is measured and what one process can do against a hostile submission. One thing more
// stays open here: the submission is compiled together with the harness, so it can name the harness's own variables.
// Make a folder with a task.yml where that matters.
#define TEST_CALLS 10
#define WARMUP_CALLS 10
#define TIMED_CALLS 100
#define PRINT_SCORE

#include "utils.h"
#include "reference.h"

#include <cstdlib>
#include <utility>

static input_t
generate_input(const Case &c)
{
	srand(static_cast<unsigned>(c.seed() ^ c.seed() >> 32));
	return generate_input();
}

static output_t
make_output(const input_t &)
{
	return output_t();
}

static std::string
judge(const input_t &input, const output_t &output)
{
	return check_implementation(output, ref_kernel(input)) ? "" : "the output differs from the reference's";
}

static void run_submission(const input_t &input, output_t &output);

// The harness itself, with the names that it knows.
#define TASK_REFERENCE "utils.h"
#define check_implementation judge
#define custom_kernel run_submission
#include "eval.cpp"
#undef check_implementation
#undef custom_kernel

// Behind everything that its macros could change.
#include "train.h"

// Every call has an input of its own, which is moved: a parameter by value costs no copy.
static void
run_submission(const input_t &input, output_t &output)
{
	output = custom_kernel(std::move(const_cast<input_t &>(input)));
}
