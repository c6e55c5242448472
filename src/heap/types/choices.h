/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that hold one of several things, or nothing, and a number that says which: std::optional
 * and std::variant of libstdc++ and libc++.
 */
#ifndef HEAP_CHOICES_H
#define HEAP_CHOICES_H

#include "symbols/types.h"

struct choice {
	uint32_t content; /* plain: a union */
	uint64_t at;      /* where it is in the object */
	uint64_t which;   /* where the number does */
	uint8_t bytes;    /* of it */
	uint32_t value;   /* of the first alternative */
	const struct choice_form *form;
};

/* Returns whether objects of a type, plain, have such a choice. */
bool choices_find(const struct types *types, uint32_t plain, struct choice *ret);

/* Finds what the object holds if the number is choice->value: *ret, plain; and goes on to the next
 * alternative. False: there is none. */
bool choices_next(const struct types *types, struct choice *choice, uint32_t *ret);

#endif
