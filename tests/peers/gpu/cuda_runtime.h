/* SPDX-License-Identifier: MIT */
/* No CUDA: the stand-in under CUDA's names. */
#ifndef STAND_IN_CUDA_RUNTIME_H
#define STAND_IN_CUDA_RUNTIME_H
#define STAND_IN(name) cuda##name
#include <tuple>
#include "stand_in.h"
#endif
