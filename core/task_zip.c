/* SPDX-License-Identifier: MIT */
/*
 * The types of a zip's entries as its directory says them: libarchive takes a FIFO for a file, whatever ends in a slash
 * for a folder, and looks at no type of archives made on macOS. What is damaged is for libarchive to say.
 */
#include <config.h>

#include "task_zip.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define END_SIZE 22 /* of the record at the end, without its comment */
#define COMMENT_MAX 65535
#define LOCATOR_SIZE 20 /* in front of it, where sizes have 64 bits */
#define END64_SIZE 56
#define ENTRY_SIZE 46 /* of an entry, without what follows its fixed part */
#define SYSTEM_UNIX 3
#define SYSTEM_MACOS 19

static uint64_t
number(const unsigned char *at, int bytes)
{
	uint64_t value = 0;
	while (bytes--)
		value = value << 8 | at[bytes];
	return value;
}

static bool
is_record(const unsigned char *data, size_t size, uint64_t at, size_t needed, const char *magic)
{
	return at <= size && size - at >= needed && memcmp(data + at, magic, 4) == 0;
}

/* Where the record at the end is; size: nowhere. */
static size_t
find_end(const unsigned char *data, size_t size)
{
	for (size_t back = END_SIZE; back <= size && back <= END_SIZE + COMMENT_MAX; back++)
		if (is_record(data, size, size - back, END_SIZE, "PK\5\6"))
			return size - back;
	return size;
}

/* Where the directory begins; size: nowhere. What stands before the archive moves it, and is not counted in it. */
static size_t
find_directory(const unsigned char *data, size_t size)
{
	size_t end = find_end(data, size), behind = end;
	if (end == size)
		return size;
	uint64_t length = number(data + end + 12, 4), begin = number(data + end + 16, 4);
	if (end >= LOCATOR_SIZE && is_record(data, size, end - LOCATOR_SIZE, LOCATOR_SIZE, "PK\6\7")) {
		uint64_t end64 = number(data + end - LOCATOR_SIZE + 8, 8);
		if (!is_record(data, size, end64, END64_SIZE, "PK\6\6"))
			return size;
		length = number(data + end64 + 40, 8);
		begin = number(data + end64 + 48, 8);
		behind = (size_t)end64;
	}
	return length <= behind && begin <= behind - length ? behind - (size_t)length : size;
}

static mode_t
type_of(const unsigned char *entry)
{
	unsigned char system = entry[5];
	bool has_mode = system == SYSTEM_UNIX || system == SYSTEM_MACOS;
	return has_mode ? (mode_t)(number(entry + 38, 4) >> 16) & S_IFMT : 0;
}

bool
task_zip_special(const void *bytes, size_t size, size_t *at, struct task_zip_entry *ret_entry)
{
	const unsigned char *data = bytes;
	size_t next = *at ? *at : find_directory(data, size);
	while (is_record(data, size, next, ENTRY_SIZE, "PK\1\2")) {
		const unsigned char *entry = data + next;
		size_t name = (size_t)number(entry + 28, 2);
		size_t whole = ENTRY_SIZE + name + (size_t)(number(entry + 30, 2) + number(entry + 32, 2));
		if (whole > size - next)
			break;
		next += whole;
		mode_t type = type_of(entry);
		if (type == 0 || type == S_IFREG || type == S_IFDIR)
			continue;
		*at = next;
		*ret_entry = (struct task_zip_entry){(const char *)entry + ENTRY_SIZE, name, type};
		return true;
	}
	*at = size;
	return false;
}
