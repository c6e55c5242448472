/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library of ifunc.c: a function whose definition is chosen when it is first called. */
#include "ifunc_library.h"

#include <stdint.h>

void *(*allocate_while_choosing)(void);

static uint64_t chosen(uint64_t n)
{
	return n * 3 + 1;
}

__attribute__((used)) static uint64_t (*choose(void))(uint64_t)
{
	if (allocate_while_choosing)
		allocate_while_choosing();
	return chosen;
}

uint64_t triple(uint64_t n) __attribute__((ifunc("choose")));
