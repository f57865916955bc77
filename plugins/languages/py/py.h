/* SPDX-License-Identifier: MIT */
/* What the parts of the language py share. */
#ifndef KETTLE_PY_H
#define KETTLE_PY_H

/* The texts of run.py, compile.py and prepare.py, as plans carry them; from the program itself. */
extern const char py_run_text[], py_compile_text[], py_prepare_text[];
/* The harness of boards made of a single reference file: tasks/harness/eval_single.py, eval.py and utils.py. */
extern const char py_eval_single_text[], py_eval_text[], py_utils_text[];

#endif
