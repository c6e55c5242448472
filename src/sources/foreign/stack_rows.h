/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of another model on their way into one: what build_stacks() takes, filled row by row. */
#ifndef SOURCES_STACK_ROWS_H
#define SOURCES_STACK_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/build.h"

struct stack_rows {
	uint32_t *parent;
	uint16_t *module;
	uint64_t *address;
	uint32_t *code;
};

static inline void stack_rows_deinit(struct stack_rows *rows)
{
	free(rows->parent);
	free(rows->module);
	free(rows->address);
	free(rows->code);
}

/* Allocates `count` rows, all zero; false if out of memory. Must be deinitialised also then. */
static inline bool stack_rows_init(struct stack_rows *rows, size_t count)
{
	*rows = (struct stack_rows){
		.parent = calloc(count + 1, sizeof(*rows->parent)),
		.module = calloc(count + 1, sizeof(*rows->module)),
		.address = calloc(count + 1, sizeof(*rows->address)),
		.code = calloc(count + 1, sizeof(*rows->code)),
	};
	return rows->parent && rows->module && rows->address && rows->code;
}

static inline struct stack_columns stack_rows_columns(const struct stack_rows *rows)
{
	return (struct stack_columns){rows->parent, rows->module, rows->address, rows->code};
}

#endif
