/* SPDX-License-Identifier: MIT */
/* Conformance of any plugin: its facts, its options, its life. */
#include <config.h>

#include "conformance/conformance_internal.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <kettle/testing.h>
#include <link.h>
#include <sys/wait.h>
#include <time.h>

#include "base/base.h"
#include "base/file.h"
#include "base/schema.h"
#include "base/utf8.h"
#include "plugin/instance.h"

#define DYNSYM_MAX_BYTES (256u << 20) /* of a library */
#define LIVES 3
#define SETTLE_TRIES 200 /* of 10 ms: a thread that ended may still be listed */

int
conformance_end(struct kettle_fake *fake, int rc, struct kettle_error *err)
{
	int left = kettle_fake_free(fake, rc ? NULL : err);
	return rc ? rc : left;
}

static int
life_fail(struct kettle_error *err, const char *sentence)
{
	return kettle_fail(err, KETTLE_EINVAL, "%s", sentence);
}

/* ---- its exports ---- */

struct elf_file {
	const char *data;
	size_t size;
};

/* Copies a structure out of the file; false: the file ends before. */
static bool
elf_take(const struct elf_file *image, uint64_t offset, void *to, size_t size)
{
	if (offset > image->size || image->size - offset < size)
		return false;
	memcpy(to, image->data + offset, size);
	return true;
}

static bool
take_section(const struct elf_file *image, const ElfW(Ehdr) * header, uint64_t index, ElfW(Shdr) * ret_section)
{
	if (index >= header->e_shnum || header->e_shentsize != sizeof(*ret_section))
		return false;
	return elf_take(image, header->e_shoff + index * sizeof(*ret_section), ret_section, sizeof(*ret_section));
}

/* A string of a table of strings; NULL: it exceeds the table, or the table exceeds the file. */
static const char *
string_at(const struct elf_file *image, const ElfW(Shdr) * strings, uint64_t index)
{
	if (strings->sh_offset > image->size || image->size - strings->sh_offset < strings->sh_size ||
		index >= strings->sh_size)
		return NULL;
	const char *text = image->data + strings->sh_offset + index;
	return memchr(text, '\0', strings->sh_size - index) ? text : NULL;
}

/* Marks that linkers put into every library, and the address sanitizer puts beside every variable. */
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
add_symbol(const struct elf_file *image, const ElfW(Shdr) * strings, const ElfW(Sym) * symbol, json_t *names)
{
	unsigned binding = symbol->st_info >> 4, visibility = symbol->st_other & 3;
	bool shown = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || binding == STB_LOCAL || !shown)
		return true;
	const char *name = string_at(image, strings, symbol->st_name);
	if (!name)
		return false;
	if (!is_mark(name))
		json_array_append_new(names, json_string(name));
	return true;
}

static bool
add_symbols(const struct elf_file *image, const ElfW(Ehdr) * header, const ElfW(Shdr) * table, json_t *names)
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

/*
 * The names defined in a library's dynamic symbol table, without linker's marks; new reference. EINVAL: the file is
 * missing, or contradicts itself; and the errors of reading a file.
 */
static int
read_symbols(const char *file, json_t **ret_names, struct kettle_error *err)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = file_read(file, DYNSYM_MAX_BYTES, &data, &size, err);
	if (rc)
		return rc;
	const struct elf_file image = {data, size};
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
		return kettle_fail(err, KETTLE_EINVAL, "%s cannot be read as a shared library.", file);
	*ret_names = STEAL(names);
	return 0;
}

int
conformance_symbols(struct subject *subject, struct kettle_error *err)
{
	AUTO_JSON json_t *names = NULL;
	int rc = read_symbols(subject->setup->file, &names, err);
	json_array_each(names, name) {
		const char *text = json_string_value(name);
		if (rc == 0 && strcmp(text, "kettle_plugin") != 0)
			rc = kettle_fail(err, KETTLE_EINVAL,
				"It exports `%s` as well (%zu symbols in all); link with -export-symbols-regex '^kettle_plugin$'.",
				text, json_array_size(names));
	}
	return rc;
}

/* ---- its facts ---- */

static bool
is_one_line(const char *text)
{
	return text && *text && utf8_valid(text, strlen(text)) && !strchr(text, '\n') && strlen(text) <= 200;
}

int
conformance_facts(struct subject *subject, struct kettle_error *err)
{
	const struct kettle_plugin *plugin = &subject->loaded->plugin;
	if (!is_one_line(plugin->version))
		return life_fail(err, "Its `version` is not a line of text.");
	if (!is_one_line(plugin->summary))
		return life_fail(err, "Its `summary` is not a line of text of at most 200 bytes.");
	return 0;
}

/* A value that no option of the type takes. */
static json_t *
wrong_value(enum kettle_option_type type)
{
	switch (type) {
	case KETTLE_OPTION_STRING:
	case KETTLE_OPTION_PATH:
	case KETTLE_OPTION_INT:
	case KETTLE_OPTION_NUMBER:
	case KETTLE_OPTION_BOOL:
		return json_array();
	case KETTLE_OPTION_STRINGS:
	case KETTLE_OPTION_MAP:
		return json_integer(7);
	case KETTLE_OPTION_ANY:
		break;
	}
	return NULL;
}

static bool
is_refused(const struct option_table *table, json_t *section_take)
{
	const struct option_section where = {.pointer = ""};
	AUTO_JSON json_t *section = section_take, *options = NULL;
	return option_table_read(table, section, &where, &options, NULL) != 0;
}

static int
try_options(const struct option_table *table, struct kettle_error *err)
{
	for (size_t i = 0; i < table->count; i++) {
		struct kettle_option option;
		option_table_get(table, i, &option);
		if (!utf8_valid(option.help, strlen(option.help)))
			return kettle_fail(err, KETTLE_EINVAL, "The help of `%s` is not UTF-8 text.", option.key);
		json_t *wrong = wrong_value(option.type);
		if (wrong && !is_refused(table, json_pack("{s:o}", option.key, wrong)))
			return kettle_fail(err, KETTLE_EINVAL, "An invalid value of `%s` is accepted.", option.key);
	}
	if (!is_refused(table, json_pack("{s:b}", "an_option_that_does_not_exist", 1)))
		return life_fail(err, "An unknown option is accepted.");
	return 0;
}

int
conformance_options(struct subject *subject, struct kettle_error *err)
{
	struct option_table table = loader_options(&subject->loaded->plugin);
	int rc = try_options(&table, err);
	if (rc == 0 && loader_unit_options(&subject->loaded->plugin, &table))
		rc = try_options(&table, err);
	return rc;
}

int
conformance_create_only(struct subject *subject, struct kettle_error *err)
{
	const struct kettle_plugin *plugin = &subject->loaded->plugin;
	struct kettle_fake *fake = NULL;
	struct instance instance;
	int rc = kettle_fake_new(plugin->name, &fake, err);
	if (rc)
		return rc;
	plugin->destroy(NULL);
	rc = instance_create(&instance, plugin, kettle_fake_host(fake), err);
	instance_destroy(&instance);
	return conformance_end(fake, rc, err);
}

/* ---- a life ---- */

static void
on_stopped(void *arg)
{
	*(bool *)arg = true;
}

static int
has_stopped(void *arg)
{
	return *(bool *)arg;
}

int
conformance_rise(struct subject *subject, struct kettle_fake *fake, struct instance *instance, struct kettle_error *err)
{
	int rc = instance_create(instance, &subject->loaded->plugin, kettle_fake_host(fake), err);
	if (rc == 0)
		rc = instance_configure(instance, subject->options, err);
	if (rc == 0)
		rc = instance_start(instance, err);
	if (rc)
		instance_destroy(instance);
	else
		(void)kettle_fake_run(fake, NULL, NULL, 1);
	return rc;
}

int
conformance_fall(struct subject *subject, struct kettle_fake *fake, struct instance *instance, struct kettle_error *err)
{
	bool stopped = false;
	unsigned limit = subject->setup->stop_ms ? subject->setup->stop_ms : CONFORMANCE_STOP_MS;
	instances_stop(&instance, 1, 0, on_stopped, &stopped);
	if (kettle_fake_run(fake, has_stopped, &stopped, limit) != 0)
		return kettle_fail(err, KETTLE_EINTERNAL, "It does not stop: done was not called within %u ms.", limit);
	instance_destroy(instance);
	return 0;
}

static int
live_once(struct subject *subject, struct kettle_error *err)
{
	struct kettle_fake *fake = NULL;
	struct instance instance;
	int rc = kettle_fake_new(subject->loaded->plugin.name, &fake, err);
	if (rc)
		return rc;
	rc = conformance_rise(subject, fake, &instance, err);
	if (rc == 0)
		rc = conformance_fall(subject, fake, &instance, err);
	return conformance_end(fake, rc, err);
}

int
conformance_skip_without_options(const struct subject *subject, struct kettle_error *err)
{
	const char *why = subject->why_not.message;
	if (subject->options)
		return 0;
	if (subject->setup->options)
		return kettle_fail(err, KETTLE_EINVAL, "Its options are refused: %s", why);
	return kettle_fail(err, CONFORMANCE_SKIP, "It needs options: name a file with its section by --options. %s", why);
}

int
conformance_life(struct subject *subject, struct kettle_error *err)
{
	int rc = conformance_skip_without_options(subject, err);
	for (int i = 0; i < LIVES && rc == 0; i++)
		rc = live_once(subject, err);
	return rc;
}

int
conformance_two_instances(struct subject *subject, struct kettle_error *err)
{
	struct kettle_fake *one = NULL, *other = NULL;
	struct instance first, second;
	int rc = conformance_skip_without_options(subject, err);
	if (rc == 0)
		rc = kettle_fake_new(subject->loaded->plugin.name, &one, err);
	if (rc == 0)
		rc = kettle_fake_new(subject->loaded->plugin.name, &other, err);
	if (rc == 0)
		rc = conformance_rise(subject, one, &first, err);
	if (rc == 0)
		rc = conformance_rise(subject, other, &second, err);
	/* The first stops while the second runs. */
	if (rc == 0)
		rc = conformance_fall(subject, one, &first, err);
	if (rc == 0)
		rc = conformance_fall(subject, other, &second, err);
	return conformance_end(other, conformance_end(one, rc, err), err);
}

/* ---- what is left ---- */

static size_t
count_entries(const char *path)
{
	size_t count = 0;
	AUTO_DIR DIR *dir = opendir(path);
	while (dir && readdir(dir))
		count++;
	return count;
}

static size_t
settled_threads(size_t wanted)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	size_t threads = count_entries("/proc/self/task");
	for (int i = 0; i < SETTLE_TRIES && threads > wanted; i++) {
		(void)nanosleep(&pause, NULL);
		threads = count_entries("/proc/self/task");
	}
	return threads;
}

static void
nothing(void *arg)
{
	(void)arg;
}

/* libuv keeps its pool and some descriptors for the life of the process: this makes them before anything is counted. */
static int
warm_up(struct kettle_error *err)
{
	struct kettle_fake *fake = NULL;
	int rc = kettle_fake_new("warm", &fake, err);
	if (rc)
		return rc;
	const struct kettle_host *host = kettle_fake_host(fake);
	return conformance_end(fake, host->work(host, nothing, NULL, NULL, err), err);
}

int
conformance_leaks(struct subject *subject, struct kettle_error *err)
{
	int rc = conformance_skip_without_options(subject, err);
	if (rc == 0)
		rc = warm_up(err);
	size_t descriptors = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
	if (rc == 0)
		rc = live_once(subject, err);
	if (rc)
		return rc;
	size_t now = count_entries("/proc/self/fd");
	if (now > descriptors)
		return kettle_fail(err, KETTLE_EINVAL, "It leaves %zu descriptor(s) open after destroy.", now - descriptors);
	now = settled_threads(threads);
	if (now > threads)
		return kettle_fail(err, KETTLE_EINVAL, "It leaves %zu thread(s) running after destroy.", now - threads);
	/* This process is a child of its own, so it has no other children. */
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		return life_fail(err, "It leaves a child process behind that has no caller.");
	return 0;
}
