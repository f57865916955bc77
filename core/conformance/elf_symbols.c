/* SPDX-License-Identifier: MIT */
/* The names that a shared library exports, read from its file. */
#include <config.h>

#include "conformance/elf_symbols.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

struct image {
	const char *data;
	size_t size;
};

/* Copies a structure out of the file; false: the file ends before. */
static bool
elf_take(const struct image *image, uint64_t offset, void *to, size_t size)
{
	if (offset > image->size || image->size - offset < size)
		return false;
	memcpy(to, image->data + offset, size);
	return true;
}

static bool
take_section(const struct image *image, const ElfW(Ehdr) * header, uint64_t index, ElfW(Shdr) * ret_section)
{
	if (index >= header->e_shnum || header->e_shentsize != sizeof(*ret_section))
		return false;
	return elf_take(image, header->e_shoff + index * sizeof(*ret_section), ret_section, sizeof(*ret_section));
}

/* A string of a table of strings; NULL: it leaves the table, or the table leaves the file. */
static const char *
string_at(const struct image *image, const ElfW(Shdr) * strings, uint64_t index)
{
	if (strings->sh_offset > image->size || image->size - strings->sh_offset < strings->sh_size ||
		index >= strings->sh_size)
		return NULL;
	const char *text = image->data + strings->sh_offset + index;
	return memchr(text, '\0', strings->sh_size - index) ? text : NULL;
}

/* Marks that linkers put into every library, and the address sanitizer beside every variable. */
static bool
is_mark(const char *name)
{
	static const char *const marks[] = {"_init", "_fini", "__bss_start", "_edata", "_end", ""};
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (strcmp(name, marks[i]) == 0)
			return true;
	}
	return strncmp(name, "__odr_asan.", strlen("__odr_asan.")) == 0;
}

static bool
add_symbol(const struct image *image, const ElfW(Shdr) * strings, const ElfW(Sym) * symbol, json_t *names)
{
	unsigned binding = symbol->st_info >> 4, visibility = symbol->st_other & 3;
	bool shown = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || binding == STB_LOCAL || !shown)
		return true;
	const char *name = string_at(image, strings, symbol->st_name);
	if (!name)
		return false;
	return is_mark(name) || json_array_append_new(names, json_string(name)) == 0;
}

static bool
add_symbols(const struct image *image, const ElfW(Ehdr) * header, const ElfW(Shdr) * table, json_t *names)
{
	ElfW(Shdr) strings;
	if (table->sh_entsize != sizeof(ElfW(Sym)) || !take_section(image, header, table->sh_link, &strings))
		return false;
	for (uint64_t at = 0; at + sizeof(ElfW(Sym)) <= table->sh_size; at += sizeof(ElfW(Sym))) {
		ElfW(Sym) symbol;
		if (!elf_take(image, table->sh_offset + at, &symbol, sizeof(symbol)) ||
			!add_symbol(image, &strings, &symbol, names))
			return false;
	}
	return true;
}

int
elf_symbols_read(const char *file, json_t **ret_names, struct kettle_error *err)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = file_read(file, DYNSYM_MAX_BYTES, &data, &size, err);
	if (rc)
		return rc;
	const struct image image = {data, size};
	ElfW(Ehdr) header;
	AUTO_JSON json_t *names = json_array();
	bool good = elf_take(&image, 0, &header, sizeof(header)) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
	for (uint64_t i = 0; good && i < header.e_shnum; i++) {
		ElfW(Shdr) section;
		good = take_section(&image, &header, i, &section);
		if (good && section.sh_type == SHT_DYNSYM)
			good = add_symbols(&image, &header, &section, names);
	}
	if (!good)
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a shared library that can be read.", file);
	*ret_names = STEAL(names);
	return 0;
}
