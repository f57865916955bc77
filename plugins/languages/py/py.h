/* SPDX-License-Identifier: MIT */
/* What the parts of the language py share. */
#ifndef KETTLE_PY_H
#define KETTLE_PY_H

/* run.py, compile.py and prepare.py, which plans carry. */
extern const char py_run_text[], py_compile_text[], py_prepare_text[];
/* The harness of boards made of a single reference file, from tasks/harness. */
extern const char py_eval_single_text[], py_eval_text[], py_utils_text[];

#endif
