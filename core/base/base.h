/* SPDX-License-Identifier: MIT */
/*
 * What nearly every file uses: memory, and what is released at the end of its scope; members of JSON objects. With them
 * come the headers of jansson and of C's integers, strings, streams and memory, which these files do not include again.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
