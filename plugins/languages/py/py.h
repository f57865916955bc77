/* SPDX-License-Identifier: MIT */
/* What the parts of the language py share. */
#ifndef KETTLE_PY_H
#define KETTLE_PY_H

/* The texts of run.py and prepare.py, as every plan carries them; from the program itself. */
extern const char py_run_text[], py_prepare_text[];

#endif
