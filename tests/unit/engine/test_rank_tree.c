/* SPDX-License-Identifier: MIT */
/* The sorted set that counts: ranks against a plain walk, and its depth, which is what an operation costs. */
#include <config.h>

#include "engine/rank_tree.h"
#include "lib/unit_test.h"

#include <stdlib.h>

#define KEYS 500
#define MANY 50000
#define DEPTH 50 /* a search tree whose keys come in a random order has about half of it */

static size_t
depth(const struct rank_node *tree)
{
	if (!tree)
		return 0;
	size_t left = depth(tree->left), right = depth(tree->right);
	return 1 + (left > right ? left : right);
}

static bool
is_below(struct rank_key a, struct rank_key b)
{
	return a.first < b.first || (a.first == b.first && a.second < b.second);
}

/* Random keys come and go; of each, whether it is there or not, the rank is that of a walk over all. */
static void
test_ranks(void **state)
{
	(void)state;
	struct rank_node nodes[KEYS], *tree = NULL;
	bool has[KEYS] = {false};
	srand(11);
	for (int round = 0; round < 4 * KEYS; round++) {
		int which = rand() % KEYS;
		struct rank_key key = {which / 20 - 10, (uint64_t)(which % 20)};
		if (has[which])
			assert_ptr_equal(rank_tree_remove(&tree, key), &nodes[which]);
		else
			rank_tree_add(&tree, &nodes[which], key);
		has[which] = !has[which];
		size_t rank = 0, first = KEYS;
		for (int i = 0; i < KEYS; i++) {
			struct rank_key at = {i / 20 - 10, (uint64_t)(i % 20)};
			assert_true(i == 0 || is_below((struct rank_key){(i - 1) / 20 - 10, (uint64_t)((i - 1) % 20)}, at));
			assert_int_equal(rank_tree_rank(tree, at), rank);
			first = has[i] && first == KEYS ? (size_t)i : first;
			rank += has[i];
		}
		assert_int_equal(rank_tree_count(tree), rank);
		assert_ptr_equal(rank_tree_first(tree), first < KEYS ? &nodes[first] : NULL);
	}
}

/* In whichever order they come; and as in a queue, where each that comes is the last and the first goes. */
static void
test_depth(void **state)
{
	(void)state;
	struct rank_node *nodes = calloc(MANY, sizeof(*nodes)), *tree = NULL;
	for (int64_t i = 0; i < MANY; i++)
		rank_tree_add(&tree, &nodes[i], (struct rank_key){i, 7});
	assert_in_range(depth(tree), 16, DEPTH);
	for (int64_t i = 0; i < MANY; i++) {
		struct rank_node *first = rank_tree_remove(&tree, (struct rank_key){i, 7});
		rank_tree_add(&tree, first, (struct rank_key){MANY + i, 7});
	}
	assert_in_range(depth(tree), 16, DEPTH);
	tree = NULL;
	for (int64_t i = 0; i < MANY; i++)
		rank_tree_add(&tree, &nodes[i], (struct rank_key){3, (uint64_t)(MANY - i)});
	assert_in_range(depth(tree), 16, DEPTH);
	free(nodes);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_ranks),
	cmocka_unit_test(test_depth),
};

UNIT_TESTS(test_rank_tree, .words = "");
