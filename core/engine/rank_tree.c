/* SPDX-License-Identifier: MIT */
/* A treap: a search tree by key, and a heap by weights that are derived from the keys. */
#include <config.h>

#include "engine/rank_tree.h"

#include <stdbool.h>

static bool
below(struct rank_key a, struct rank_key b)
{
	return a.first < b.first || (a.first == b.first && a.second < b.second);
}

/* splitmix64: neighbouring keys get weights that look random. */
static uint64_t
mix(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

static uint64_t
weight(const struct rank_node *node)
{
	return mix(mix((uint64_t)node->key.first) ^ node->key.second);
}

size_t
rank_tree_count(const struct rank_node *tree)
{
	return tree ? tree->count : 0;
}

static void
count(struct rank_node *node)
{
	node->count = 1 + rank_tree_count(node->left) + rank_tree_count(node->right);
}

/* Splits a tree into the elements below the key and the others. */
static void
split(struct rank_node *tree, struct rank_key key, struct rank_node **ret_below, struct rank_node **ret_rest)
{
	if (!tree) {
		*ret_below = *ret_rest = NULL;
		return;
	}
	if (below(tree->key, key)) {
		*ret_below = tree;
		split(tree->right, key, &tree->right, ret_rest);
	} else {
		*ret_rest = tree;
		split(tree->left, key, ret_below, &tree->left);
	}
	count(tree);
}

/* Joins two trees. All elements of a are below all elements of b. */
static struct rank_node *
join(struct rank_node *a, struct rank_node *b)
{
	if (!a || !b)
		return a ? a : b;
	struct rank_node *top = weight(a) > weight(b) ? a : b;
	if (top == a)
		a->right = join(a->right, b);
	else
		b->left = join(a, b->left);
	count(top);
	return top;
}

static struct rank_node **
side(struct rank_node *node, struct rank_key key)
{
	return below(key, node->key) ? &node->left : &node->right;
}

void
rank_tree_add(struct rank_node **tree, struct rank_node *node, struct rank_key key)
{
	*node = (struct rank_node){.key = key};
	for (; *tree && weight(*tree) >= weight(node); tree = side(*tree, key))
		(*tree)->count++;
	split(*tree, key, &node->left, &node->right);
	count(node);
	*tree = node;
}

struct rank_node *
rank_tree_remove(struct rank_node **tree, struct rank_key key)
{
	for (; (*tree)->key.first != key.first || (*tree)->key.second != key.second; tree = side(*tree, key))
		(*tree)->count--;
	struct rank_node *node = *tree;
	*tree = join(node->left, node->right);
	return node;
}

struct rank_node *
rank_tree_first(struct rank_node *tree)
{
	while (tree && tree->left)
		tree = tree->left;
	return tree;
}

struct rank_node *
rank_tree_next(struct rank_node *tree, struct rank_key key)
{
	struct rank_node *next = NULL;
	while (tree) {
		bool above = below(key, tree->key);
		next = above ? tree : next;
		tree = above ? tree->left : tree->right;
	}
	return next;
}

size_t
rank_tree_rank(const struct rank_node *tree, struct rank_key key)
{
	size_t rank = 0;
	while (tree) {
		bool after = below(tree->key, key);
		rank += after ? 1 + rank_tree_count(tree->left) : 0;
		tree = after ? tree->right : tree->left;
	}
	return rank;
}
