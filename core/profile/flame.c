/* SPDX-License-Identifier: MIT */
/* A flame graph: the tree of functions as a picture. */
/*
 * A box is a function, with the functions that it called on top; its width is its part of all samples. Names come from
 * the participant's program: they are escaped, and the picture has neither scripts nor references, so that a browser
 * that opens it runs nothing and loads nothing.
 */
#include <config.h>

#include "profile/profile.h"

#include "base/base.h"

#define WIDTH 1200.0
#define SIDE 10.0     /* empty, left and right */
#define TOP 40.0      /* for the title */
#define ROW 17.0      /* of a box with its gap */
#define LEAST 0.3     /* units: a narrower box is left out, with all boxes on it */
#define LETTER 6.6    /* the width of a letter, about */
#define LETTERS_MIN 3 /* fewer letters would not be readable */

struct flame_svg {
	double scale, height;
	struct buf *out;
};

/* `most` characters of text as XML shows them. */
static void
add_escaped(struct buf *out, const char *text, size_t most)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
	for (size_t count = 0; *text; text++) {
		const char *entity = NULL;
		if (((unsigned char)*text & 0xc0) != 0x80 && count++ == most) {
			buf_adds(out, "…");
			return;
		}
		for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
			if (*text == entities[i].c)
				entity = entities[i].entity;
		buf_add(out, entity ? entity : text, entity ? strlen(entity) : 1);
	}
}

/* Levels of boxes that are wide enough to be seen. */
static size_t
levels(const struct stack_node *node, double scale)
{
	size_t most = 0;
	for (; node; node = node->next) {
		size_t count = (double)node->samples * scale < LEAST ? 0 : 1 + levels(node->children, scale);
		most = count > most ? count : most;
	}
	return most;
}

/* Warm colours, the same for the same name. */
static void
colour_of(const char *name, unsigned colour[3])
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	colour[0] = 205 + hash % 50;
	colour[1] = 90 + (hash >> 8) % 120;
	colour[2] = 40 + (hash >> 16) % 40;
}

static void
draw_box(
	const struct flame_svg *picture, const struct stack_node *node, double x, double width, size_t level, uint64_t all)
{
	double y = picture->height - SIDE - ROW * (double)(level + 1);
	unsigned colour[3];
	struct buf *out = picture->out;
	colour_of(node->name, colour);
	buf_adds(out, "<g><title>");
	add_escaped(out, node->name, STACKS_MAX_NAME);
	buf_printf(out, " (%llu samples, %.2f %%)</title>", (unsigned long long)node->samples,
		(double)node->samples * 100 / (double)all);
	buf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" rx=\"2\" fill=\"rgb(%u,%u,%u)\"/>", x,
		y, width, ROW - 1, colour[0], colour[1], colour[2]);
	size_t letters = (size_t)(width / LETTER);
	if (letters >= LETTERS_MIN) {
		buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\">", x + 3, y + 12);
		add_escaped(out, node->name, letters - 1);
		buf_adds(out, "</text>");
	}
	buf_adds(out, "</g>\n");
}

static void
draw(const struct flame_svg *picture, const struct stack_node *node, double x, size_t level, uint64_t all)
{
	for (; node; node = node->next) {
		double width = (double)node->samples * picture->scale;
		if (width >= LEAST && picture->out->len < FLAME_MAX_BYTES) {
			draw_box(picture, node, x, width, level, all);
			draw(picture, node->children, x, level + 1, all);
		}
		x += width;
	}
}

void
flame_svg(const struct stacks *stacks, const char *title, struct buf *out)
{
	const struct stack_node *root = &stacks->root;
	uint64_t all = root->samples ? root->samples : 1;
	struct flame_svg picture = {.scale = (WIDTH - 2 * SIDE) / (double)all, .out = out};
	AUTO_BUF struct buf clean = {0};
	picture.height = TOP + ROW * (double)levels(root->children, picture.scale) + 2 * SIDE;
	report_word(&clean, title, STACKS_MAX_NAME);
	buf_printf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n"
		"<style>text{font:11px monospace;pointer-events:none}rect:hover{stroke:#000}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fdf8f0\"/>\n<text x=\"%.0f\" y=\"24\" "
		"style=\"font-size:14px\">",
		WIDTH, picture.height, WIDTH, picture.height, SIDE);
	add_escaped(out, clean.data ? clean.data : "", STACKS_MAX_NAME);
	buf_printf(out, " (%llu samples)</text>\n", (unsigned long long)root->samples);
	draw(&picture, root->children, SIDE, 0, all);
	buf_adds(out, "</svg>\n");
}
