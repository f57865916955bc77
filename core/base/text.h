/* SPDX-License-Identifier: MIT */
/* Bytes and text, all of it: a growing buffer, UTF-8, nearest names, hashes, base64, times. */
#ifndef KETTLE_TEXT_H
#define KETTLE_TEXT_H

#include "buf.h"
#include "contents.h"
#include "hash.h"
#include "nearest.h"
#include "times.h"
#include "utf8.h"

#endif
