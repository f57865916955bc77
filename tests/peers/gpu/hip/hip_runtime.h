/* SPDX-License-Identifier: MIT */
/* No HIP: the stand-in under HIP's names. */
#ifndef STAND_IN_HIP_RUNTIME_H
#define STAND_IN_HIP_RUNTIME_H
#define STAND_IN(name) hip##name
#include <tuple>
#include "../stand_in.h"
#endif
