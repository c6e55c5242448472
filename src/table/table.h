/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The form of all answers: tables. A table has columns (name, type, unit, title) and rows, whose
 * cells are asked for one by one; nothing is copied. Renderers
 * (text, JSON, CSV) need nothing but this.
 *
 *	columns     name "used_bytes", COLUMN_INTEGER, UNIT_BYTES, title "USED"
 *	cell        known: 4096; unknown; or absent
 *	nesting     a cell may be a record (an object) or a table of its own (the frames of a
 *stack); of a record without a name the members are the row's own
 *
 * Unknown is a state of a cell, never the number 0.
 */
#ifndef TABLE_TABLE_H
#define TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum column_type {
	COLUMN_INTEGER, /* not negative: struct cell's number */
	COLUMN_SIGNED,  /* a difference: signed_number */
	COLUMN_REAL,    /* real */
	COLUMN_BOOLEAN, /* truth */
	COLUMN_ADDRESS, /* number, as 0x… */
	COLUMN_TEXT,    /* text */
	COLUMN_RECORD,  /* nested: its first row */
	COLUMN_TABLE,   /* nested: its rows; values alone if its column has the name "" */
	COLUMN_LIST,    /* nested: its rows, which have one column, without that column's name */
};

enum column_unit {
	UNIT_NONE,
	UNIT_BYTES,
	UNIT_COUNT, /* of blocks, calls, pages… */
	UNIT_NS,    /* nanoseconds */
	UNIT_PERCENT,
};

struct cell;

/* Ends a table of columns. */
#define COLUMNS_END                                                                                \
	{                                                                                          \
		.name = NULL                                                                       \
	}

struct column {
	const char *name; /* of the member in JSON, the heading in CSV; NULL ends a list */
	enum column_type type;
	enum column_unit unit;
	const char *says; /* what it means, for docs/schema; starts small, without a full stop */
	const char *key;  /* what --sort and --where call it; NULL: `name` */
	bool fixed;     /* neither sorted nor compared, as all but integers, addresses and texts */
	bool ascending; /* --sort has the smallest first, as of addresses and texts */
	bool optional;  /* cells may be CELL_ABSENT */
	bool zero_unknown; /* of a member (COLUMN_OF) that is a number: 0 is CELL_UNKNOWN */
	bool for_people;   /* text alone has it: others can tell it from other columns */

	/* Where the value stands in a row that is a struct (COLUMN_OF), for types without `cell`.
	 */
	size_t offset, bytes;

	/* As text. */
	const char *title;   /* of the heading; NULL: the text does not show the column */
	int width;           /* of the cell; negative: it stands at the left; 0: as wide as it is */
	unsigned gap;        /* spaces before it */
	bool plain;          /* figures as digits alone: 4096, not 4.00 KiB or 4,096 */
	size_t most;         /* bytes of a text that are shown; 0: 200 */
	const char *unknown; /* what stands for CELL_UNKNOWN; NULL: "?" */
	/* Adds the cell in place of all this. NULL: as said above. */
	void (*show)(const void *context, size_t row, const struct cell *cell, struct text *out);
	const struct table_type *nested; /* of records, tables and lists: what is in them */
};

/* In a row that is a `struct holder`: its member, an unsigned integer of any width, a bool, a
 * double or a const char *, by the column's type. */
#define COLUMN_OF(holder, member)                                                                  \
	.offset = offsetof(struct holder, member),                                                 \
	.bytes = sizeof(((const struct holder *)NULL)->member)

/* What tables of one kind have in common. */
struct table_type {
	const char *name; /* of the member in JSON; NULL: rows are members of what they are in */
	/* The member that it is in, an object; what follows with the same is in it, too. NULL: the
	 * document. */
	const char *within;
	/* Of the member before it that says how many rows there are, beyond a limit too; NULL: none
	 * does. */
	const char *total;
	const char *says;  /* for docs/schema */
	const char *title; /* a line above the heading in text; NULL: none */
	const struct column *columns;
	/* Fills ret, which is CELL_KNOWN and 0 before, for a row of `context`. Text may be built in
	 * ret->built. What is nested is valid until the same cell is filled again. NULL: `context`
	 * is an array of structs of `row_bytes`, of which columns have members (COLUMN_OF). */
	void (*cell)(const void *context, size_t row, unsigned column, struct cell *ret);
	size_t row_bytes;
	/* Of a group, which has no columns: the tables and records in it; NULL ends them. */
	const struct table_type *const *parts;
	/* The text of a row, if that is more than columns side by side; there is no heading then.
	 * NULL: columns, if any has a title. */
	void (*row_text)(const void *context, size_t row, struct text *out);
	/* Of rows that are a tree, each before those below it: how deep one is, from 0; *ret_opens
	 * becomes true of one that may have rows below it. In JSON these are its member `below`. */
	unsigned (*level)(const void *context, size_t row, bool *ret_opens);
	const char *below;
	bool is_rooted;         /* all rows are below the first: in JSON an object, no array */
	const char *depth;      /* of the first column of CSV, the level; NULL: CSV has none */
	const char *one, *many; /* "… and 5 more types (--limit)"; NULL: nothing is said of a cut */
	/* The text of a row in one cell of CSV, as of a frame in a stack. NULL: its first text that
	 * is known. */
	void (*gist)(const void *context, size_t row, struct text *out);
	/* Rows that come again and again, as frames do: equal numbers stand for equal rows. NULL:
	 * there are none. */
	uint64_t (*again)(const void *context, size_t row);
};

struct table {
	const struct table_type *type;
	const void *context;
	size_t count;
	const size_t *order; /* of `count` rows; NULL: as they are, from `first` on */
	size_t first;
	size_t limit;    /* rows that are laid out; the others are counted */
	uint64_t hidden; /* bit set of columns that the text leaves out */
};

enum cell_state {
	CELL_KNOWN,
	CELL_UNKNOWN, /* null */
	CELL_ABSENT,  /* it does not apply to this row: its member is left out */
};

struct cell {
	enum cell_state state;
	bool is_makeshift; /* the text stands for a name that nobody knows: sorted after names */
	uint64_t number;
	int64_t signed_number;
	double real;
	bool truth;
	const char *text; /* NULL is CELL_UNKNOWN */
	size_t row;       /* of a record: which of the rows below it is */
	/* All that is above is 0 before a cell is filled. */
	struct table nested;
	struct text built; /* room for a text that has to be made */
};

#define TABLE_NO_LIMIT SIZE_MAX

void cell_init(struct cell *cell);
void cell_deinit(struct cell *cell);
/* Empties it and fills it. Of a text that is NULL the state is CELL_UNKNOWN then. */
void table_cell(const struct table *table, size_t row, unsigned column, struct cell *ret);
/* A cell of a column with a member (COLUMN_OF) of the struct at `row`, for types whose `cell` makes
 * only the others itself. */
void table_member(const struct column *column, const void *row, struct cell *ret);
/* Makes the text that was built the cell's own. */
void cell_take_built(struct cell *cell);
/* The same; if nothing was built it is not known. */
void cell_take_any(struct cell *cell);

/* The row that is laid out in the place `i`. */
static inline size_t table_row(const struct table *table, size_t i)
{
	return table->order ? table->order[i] : table->first + i;
}

/* Whether rows are values without a name, as those of a COLUMN_LIST. */
static inline bool table_is_of_values(const struct table_type *type)
{
	const struct column *first = &type->columns[0];
	return !*first->name && first->type != COLUMN_RECORD;
}

/* Whether it has a cell that others than people see. */
static inline bool column_is_for_programs(const struct column *column)
{
	return !column->for_people;
}

/* Whether a column stands for the columns of what is nested in it. */
static inline bool column_is_spliced(const struct column *column)
{
	return !*column->name && column->type == COLUMN_RECORD;
}

/* How many rows are laid out. */
static inline size_t table_shown(const struct table *table)
{
	return table->count < table->limit ? table->count : table->limit;
}

#endif
