/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to inferred*.c: what a pointer leads to, beside what it is declared to point to. */
#ifndef HEAP_INFERRED_POINTEE_H
#define HEAP_INFERRED_POINTEE_H

#include <stdint.h>

struct inferring;

enum pointee {
	POINTEE_DENIES, /* it is too small, or something else */
	POINTEE_MAY_BE,
	POINTEE_AGREES, /* it is that, or looks much like it */
};

/* target: plain. What is no block may be anything. */
enum pointee inferred_pointee(struct inferring *inferring, uint64_t address, uint32_t target);

#endif
