/* SPDX-License-Identifier: MIT */
/* Singly linked lists whose elements have a `next`; the head is a pointer to the first, NULL when empty. */
#pragma once

/* Adds an element at the end. */
#define LIST_APPEND(head, element) \
	do { \
		__typeof__(head) *at_ = &(head); \
		while (*at_) \
			at_ = &(*at_)->next; \
		(element)->next = NULL; \
		*at_ = (element); \
	} while (0)
/* Takes an element out; it need not be in the list. */
#define LIST_REMOVE(head, element) \
	do { \
		__typeof__(head) *at_ = &(head); \
		while (*at_ && *at_ != (element)) \
			at_ = &(*at_)->next; \
		if (*at_) \
			*at_ = (element)->next; \
	} while (0)
