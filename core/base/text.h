/* SPDX-License-Identifier: MIT */
/* All headers for bytes and text: a growing buffer, UTF-8, nearest names, hashes, base64, times. */
#pragma once

#include "base/buf.h"
#include "base/contents.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/times.h"
#include "base/utf8.h"
