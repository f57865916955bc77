/* SPDX-License-Identifier: MIT */
/* A sorted set that knows how many of its elements come before a key. Pure. */
#ifndef KETTLE_ENGINE_RANK_TREE_H
#define KETTLE_ENGINE_RANK_TREE_H

#include <stddef.h>
#include <stdint.h>

/* By the first, then by the second; each key is in a tree once. */
struct rank_key {
	int64_t first;
	uint64_t second;
};

/* Embedded in whatever is in a tree. The tree is a treap: its depth is O(log elements) whatever the order of the keys. */
struct rank_node {
	struct rank_key key;
	struct rank_node *left, *right;
	size_t count; /* of the elements below and itself */
};

/* A tree is a pointer to its root, NULL where it is empty. All of these cost O(log elements). */
void rank_tree_add(struct rank_node **tree, struct rank_node *node, struct rank_key key);
/* Takes out and returns the element with this key, which the tree has. */
struct rank_node *rank_tree_remove(struct rank_node **tree, struct rank_key key);
/* The lowest; NULL: the tree is empty. */
struct rank_node *rank_tree_first(struct rank_node *tree);
/* How many elements are below the key. */
size_t rank_tree_rank(const struct rank_node *tree, struct rank_key key);
size_t rank_tree_count(const struct rank_node *tree);

#endif
