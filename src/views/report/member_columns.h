/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Columns that are members of the struct that a row is (COLUMN_OF), by what they have: with the
 * member's name, or with another one.
 *
 *	COUNT_OF(leak_row, blocks, "how many"),
 *	COUNT_AS("held_by_total", leak_row, hold_count, "ways from roots to these blocks"),
 *
 * Inside views/ only.
 */
#ifndef VIEWS_MEMBER_COLUMNS_H
#define VIEWS_MEMBER_COLUMNS_H

#include "table/table.h"

#define MEMBER_AS(name_, type_, unit_, holder, member, ...)                                        \
	{                                                                                          \
		name_, type_, unit_, .says = __VA_ARGS__, COLUMN_OF(holder, member)                \
	}

#define COUNT_AS(name, ...) MEMBER_AS(name, COLUMN_INTEGER, UNIT_COUNT, __VA_ARGS__)
#define BYTES_AS(name, ...) MEMBER_AS(name, COLUMN_INTEGER, UNIT_BYTES, __VA_ARGS__)
#define TIME_AS(name, ...) MEMBER_AS(name, COLUMN_INTEGER, UNIT_NS, __VA_ARGS__)
#define NUMBER_AS(name, ...) MEMBER_AS(name, COLUMN_INTEGER, UNIT_NONE, __VA_ARGS__)
#define ADDRESS_AS(name, ...) MEMBER_AS(name, COLUMN_ADDRESS, UNIT_NONE, __VA_ARGS__)
#define FLAG_AS(name, ...) MEMBER_AS(name, COLUMN_BOOLEAN, UNIT_NONE, __VA_ARGS__)
#define WORD_AS(name, ...) MEMBER_AS(name, COLUMN_TEXT, UNIT_NONE, __VA_ARGS__)
#define CHANGE_AS(name, ...) MEMBER_AS(name, COLUMN_SIGNED, UNIT_BYTES, __VA_ARGS__)

#define COUNT_OF(holder, member, ...) COUNT_AS(#member, holder, member, __VA_ARGS__)
#define BYTES_OF(holder, member, ...) BYTES_AS(#member, holder, member, __VA_ARGS__)
#define TIME_OF(holder, member, ...) TIME_AS(#member, holder, member, __VA_ARGS__)
#define NUMBER_OF(holder, member, ...) NUMBER_AS(#member, holder, member, __VA_ARGS__)
#define ADDRESS_OF(holder, member, ...) ADDRESS_AS(#member, holder, member, __VA_ARGS__)
#define FLAG_OF(holder, member, ...) FLAG_AS(#member, holder, member, __VA_ARGS__)
#define WORD_OF(holder, member, ...) WORD_AS(#member, holder, member, __VA_ARGS__)
#define CHANGE_OF(holder, member, ...) CHANGE_AS(#member, holder, member, __VA_ARGS__)

#endif
