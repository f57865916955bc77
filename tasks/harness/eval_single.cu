// SPDX-License-Identifier: MIT
// The harness of CUDA and HIP boards of a single reference file. Everything is one translation unit:
//
//   reference.cuh   the board's file, which defines
//                     using input_t = …; using output_t = …;     (values on the host: a copy must be independent)
//                     input_t generate_input();
//                     output_t ref_kernel(input_t);
//                     bool check_implementation(output_t user, output_t reference);
//   train.cuh       the submission, which defines output_t custom_kernel(input_t); it may include reference.cuh
//
// It checks ten fresh inputs, and times a hundred calls, each with an input of its own, after ten that warm up. What a call
// takes to copy its input to the device and its output back counts. Results go to the result channel; the line
// `score:SECONDS` on standard output is for people. Before every input srand() gets the case's seed (of the ranked run's
// secret, where there is one) or one that follows from it: a reference that draws from rand(), or seeds a generator of its
// own with it, has other inputs in the secret runs.
//
// eval.cu documents how a call is measured and what one process can do against a hostile submission. Two things more stay
// open here: the submission is compiled together with the harness, so it can name the harness's own variables; and the
// copy of the input for the check is made before the call. Make a folder with a task.yml where that matters.
#define TEST_CALLS 10
#define WARMUP_CALLS 10
#define TIMED_CALLS 100
#define PRINT_SCORE
#define KEEP_INPUT
#define GPU_HARNESS

#include "gpu.h"
#include "utils.h"
#include "reference.cuh"

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
#define SUBMISSION run_submission
#define check_implementation judge
#include "eval.cu"
#undef check_implementation

// Behind everything that its macros could change.
#include "train.cuh"

// Every call has an input of its own, which is moved: a parameter by value costs no copy.
static void
run_submission(const input_t &input, output_t &output)
{
	output = custom_kernel(std::move(const_cast<input_t &>(input)));
}
