/* SPDX-License-Identifier: MIT */
/*
 * What the C++ library of newer systems takes from a C library newer than that which the portable folder needs, for the
 * plugin that has this library in itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

struct search {
	uintptr_t address;
	struct dl_find_object *found;
};

static int
look(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct search *search = arg;
	int contains = 0;
	void *eh_frame = NULL;
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + part->p_vaddr;
		if (part->p_type == PT_LOAD && search->address >= start && search->address - start < part->p_memsz)
			contains = 1;
		if (part->p_type == PT_GNU_EH_FRAME)
			eh_frame = (void *)start;
	}
	if (contains)
		search->found->dlfo_eh_frame = eh_frame;
	return contains && eh_frame;
}

int
_dl_find_object(void *address, struct dl_find_object *ret_found)
{
	struct search search = {(uintptr_t)address, ret_found};
	return dl_iterate_phdr(look, &search) ? 0 : -1;
}

uint32_t
arc4random(void)
{
	uint32_t number;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		abort();
	return number;
}
