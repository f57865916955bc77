/* SPDX-License-Identifier: MIT */
/* Folds the samples that `perf script` prints into a tree of functions. */
#include <config.h>

#include "profile/profile.h"

#include "base/base.h"

#define PERF_ITSELF "perf" /* the name in samples between perf's start and the program's */

/* The name in the source; new string, NULL: the name is not mangled. */
static char *
demangled(const struct stacks *stacks, const char *name)
{
	int status = 0;
	if (!stacks->demangle || strncmp(name, "_Z", 2) != 0 || strlen(name) > STACKS_MAX_MANGLED)
		return NULL;
	return stacks->demangle(name, NULL, NULL, &status);
}

/* Clean and bounded; a semicolon would part a folded line. New string. */
static char *
clean_name(const struct stacks *stacks, const char *text)
{
	AUTO_BUF struct buf name = {0};
	AUTO_FREE char *better = demangled(stacks, text);
	report_word(&name, better ? better : text, STACKS_MAX_NAME);
	for (size_t i = 0; i < name.len; i++)
		if (name.data[i] == ';')
			name.data[i] = ',';
	return buf_take(&name);
}

/* The child of that name; makes it if there is none. When the tree is full: the parent itself. */
static struct stack_node *
descend(struct stacks *stacks, struct stack_node *parent, const char *name)
{
	struct stack_node **link = &parent->children;
	for (; *link; link = &(*link)->next)
		if (strcmp((*link)->name, name) == 0) {
			/* Moves to the front: a function is likely to come again. */
			struct stack_node *found = *link;
			*link = found->next;
			found->next = parent->children;
			parent->children = found;
			return found;
		}
	if (stacks->nodes >= STACKS_MAX_NODES)
		return parent;
	struct stack_node *node = xnew(struct stack_node, .name = xstrdup(name), .next = parent->children);
	parent->children = node;
	stacks->nodes++;
	return node;
}

static void
take_sample(struct stacks *stacks)
{
	struct stack_node *at = &stacks->root;
	bool counts = stacks->inside && !stacks->ignored && stacks->depth > 0 && at->samples < STACKS_MAX_SAMPLES;
	if (counts)
		at->samples++;
	for (size_t i = stacks->depth; i-- > 0;) {
		struct stack_node *next = counts ? descend(stacks, at, stacks->frames[i]) : at;
		if (next != at)
			next->samples++;
		at = next;
		free(STEAL(stacks->frames[i]));
	}
	if (counts)
		at->own++;
	stacks->depth = 0;
	stacks->inside = stacks->ignored = false;
}

/* "\t 55d0 custom_kernel+0x1f": the part after the address, without the offset. The frames come innermost first. */
static void
take_frame(struct stacks *stacks, char *line)
{
	char *name = line + strspn(line, " \t");
	name += strcspn(name, " \t");
	name += strspn(name, " \t");
	char *offset = strstr(name, "+0x");
	if (offset && offset > name)
		*offset = '\0';
	if (stacks->depth == STACKS_MAX_DEPTH) {
		/* The callers matter more than the innermost one. */
		free(stacks->frames[0]);
		memmove(stacks->frames, stacks->frames + 1, (STACKS_MAX_DEPTH - 1) * sizeof(stacks->frames[0]));
		stacks->depth--;
	}
	stacks->frames[stacks->depth++] = clean_name(stacks, *name ? name : "[unknown]");
}

int
stacks_line(void *arg, char *line, size_t len)
{
	struct stacks *stacks = arg;
	/* An empty line ends a sample, and a line without indentation begins one, whatever the names of functions are. */
	if (len == 0 || (line[0] != ' ' && line[0] != '\t')) {
		take_sample(stacks);
		stacks->inside = len > 0;
		stacks->ignored = strncmp(line, PERF_ITSELF, strlen(PERF_ITSELF)) == 0 &&
						  line[strlen(PERF_ITSELF) + strspn(line + strlen(PERF_ITSELF), " \t")] == '\0';
	} else if (stacks->inside) {
		take_frame(stacks, line);
	}
	return 0;
}

void
stacks_end(struct stacks *stacks)
{
	take_sample(stacks);
}

/* ---- as text ---- */

struct stack_folder {
	const struct stack_node *path[STACKS_MAX_DEPTH];
	size_t depth, max_bytes;
	struct buf *out;
};

static void
fold(struct stack_folder *folder, const struct stack_node *node)
{
	if (folder->depth == STACKS_MAX_DEPTH)
		return;
	folder->path[folder->depth++] = node;
	if (node->own > 0 && folder->out->len < folder->max_bytes) {
		for (size_t i = 0; i < folder->depth; i++)
			buf_printf(folder->out, "%s%s", i ? ";" : "", folder->path[i]->name);
		buf_printf(folder->out, " %llu\n", (unsigned long long)node->own);
	}
	for (const struct stack_node *child = node->children; child; child = child->next)
		fold(folder, child);
	folder->depth--;
}

void
stacks_folded(const struct stacks *stacks, size_t max_bytes, struct buf *out)
{
	struct stack_folder folder = {.max_bytes = max_bytes, .out = out};
	for (const struct stack_node *node = stacks->root.children; node; node = node->next)
		fold(&folder, node);
}

/* Every node with samples of its own. */
static size_t
list_nodes(const struct stack_node *node, const struct stack_node **list, size_t count)
{
	for (; node; node = node->next) {
		if (node->own > 0)
			list[count++] = node;
		count = list_nodes(node->children, list, count);
	}
	return count;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp((*(const struct stack_node *const *)a)->name, (*(const struct stack_node *const *)b)->name);
}

struct total {
	const char *name;
	uint64_t own;
};

static int
compare_totals(const void *a, const void *b)
{
	uint64_t left = ((const struct total *)a)->own, right = ((const struct total *)b)->own;
	return left < right ? 1 : left > right ? -1 : 0;
}

void
stacks_hottest(const struct stacks *stacks, size_t most, struct buf *out)
{
	AUTO_FREE const struct stack_node **list = xcalloc(stacks->nodes, sizeof(*list));
	AUTO_FREE struct total *totals = xcalloc(stacks->nodes, sizeof(*totals));
	size_t count = 0;
	size_t nodes = list_nodes(stacks->root.children, list, 0);
	qsort(list, nodes, sizeof(*list), compare_names);
	for (size_t i = 0; i < nodes; i++) {
		if (count == 0 || strcmp(totals[count - 1].name, list[i]->name) != 0)
			totals[count++] = (struct total){.name = list[i]->name};
		totals[count - 1].own += list[i]->own;
	}
	qsort(totals, count, sizeof(*totals), compare_totals);
	for (size_t i = 0; i < count && i < most && report_has_room(out); i++)
		buf_printf(out, "  %5.1f %%  %s\n", (double)totals[i].own * 100 / (double)stacks->root.samples, totals[i].name);
}

static void
free_nodes(struct stack_node *node)
{
	while (node) {
		struct stack_node *next = node->next;
		free_nodes(node->children);
		free_all(node->name, node);
		node = next;
	}
}

void
stacks_free(struct stacks *stacks)
{
	for (size_t i = 0; i < stacks->depth; i++)
		free(stacks->frames[i]);
	free_nodes(stacks->root.children);
	*stacks = (struct stacks){0};
}
