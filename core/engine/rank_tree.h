/* SPDX-License-Identifier: MIT */
/* A sorted set that knows how many of its elements come before a key. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Ordered by `first`, then by `second`. A tree has each key at most once. */
struct rank_key {
	int64_t first;
	uint64_t second;
};

/* Embedded in an element of a tree. A tree is a treap: its depth is O(log elements) for any order of the keys. */
struct rank_node {
	struct rank_key key;
	struct rank_node *left, *right;
	size_t count; /* of this element and those below it in the tree */
};

/* A tree is a pointer to its root, or NULL if it is empty. Every function costs O(log elements). */
void rank_tree_add(struct rank_node **tree, struct rank_node *node, struct rank_key key);
/* Takes out and returns the element with this key, which must be in the tree. */
struct rank_node *rank_tree_remove(struct rank_node **tree, struct rank_key key);
/* The lowest element; NULL: the tree is empty. */
struct rank_node *rank_tree_first(struct rank_node *tree);
/* The element with the next key above this one; NULL: there is none. */
struct rank_node *rank_tree_next(struct rank_node *tree, struct rank_key key);
/* The number of elements with a lower key. */
size_t rank_tree_rank(const struct rank_node *tree, struct rank_key key);
size_t rank_tree_count(const struct rank_node *tree);
