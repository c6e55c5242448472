/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of processes: which rows are one process, and who started whom. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "lib/tap.h"
#include "views/tree.h"

static struct tree_row row(
	const char *file, uint32_t pid, uint32_t ppid, uint64_t began, enum exit_kind ended)
{
	return (struct tree_row){.file = file,
		.command = "",
		.complete = true,
		.target = {.pid = pid,
			.ppid = ppid,
			.outer_pid = pid,
			.outer_ppid = ppid,
			.wall_start_ns = began,
			.exit_kind = ended}};
}

static bool take(void *context, const char *data, size_t len)
{
	text_add_n(context, data, len);
	return true;
}

/* "a0 b1 …": files and depths in their order, then "= processes". */
static void check_tree(struct tree_row *rows, size_t count, const char *expected)
{
	_cleanup_(text_deinit) struct text found, table;
	text_init(&found);
	text_init(&table);
	CHECK_OK(tree_arrange(rows, count));
	for (size_t i = 0; i < count; i++)
		text_printf(&found, "%s%u ", rows[i].file, rows[i].depth);
	const struct sink sink = {.write = take, .ctx = &table};
	const struct view_options options = {.json = true};
	CHECK_OK(tree_write(rows, count, &options, &sink));
	const char *processes = strstr(table.data, "\"processes\": ");
	CHECK(processes);
	text_printf(&found, "= %d", atoi(processes + strlen("\"processes\": ")));
	CHECK_STR(found.data, expected);
}

CASE(images, "images of one process are one, in the order of their beginnings")
{
	struct tree_row rows[] = {
		row("c", 7, 5, 30, EXIT_KIND_STATUS),
		row("b", 7, 5, 20, EXIT_KIND_EXEC),
		row("d", 8, 7, 25, EXIT_KIND_STATUS),
		row("a", 5, 1, 10, EXIT_KIND_STATUS),
	};
	check_tree(rows, 4, "a0 b1 c1 d2 = 3");
}

CASE(numbers_again, "who gets the number of a process that has ended is another process")
{
	struct tree_row rows[] = {
		row("a", 5, 1, 10, EXIT_KIND_STATUS),
		row("b", 7, 5, 20, EXIT_KIND_STATUS),
		row("c", 8, 7, 21, EXIT_KIND_UNKNOWN),
		row("d", 7, 5, 30, EXIT_KIND_SIGNAL),
		row("e", 9, 7, 31, EXIT_KIND_STATUS),
		row("f", 8, 5, 40, EXIT_KIND_STATUS),
	};
	check_tree(rows, 6, "a0 b1 c2 d1 e2 f1 = 6");
}

CASE(unknown_parents, "numbers that refer to each other, to nobody, and to who began later")
{
	struct tree_row rows[] = {
		row("a", 5, 6, 10, EXIT_KIND_STATUS),
		row("b", 6, 5, 20, EXIT_KIND_STATUS),
		row("c", 7, 7, 30, EXIT_KIND_STATUS),
		row("d", 0, 0, 40, EXIT_KIND_UNKNOWN),
	};
	check_tree(rows, 4, "c0 d0 a0 b1 = 4");
	check_tree(rows, 0, "= 0");
}

CASE(deep, "a chain of processes that is longer than the table is deep has all its rows")
{
	struct tree_row rows[40];
	for (uint32_t i = 0; i < 40; i++)
		rows[i] = row("x", 100 + i, 99 + i, 10 + i, EXIT_KIND_STATUS);
	CHECK_OK(tree_arrange(rows, 40));
	for (uint32_t i = 0; i < 40; i++)
		CHECK_U64(rows[i].target.pid, 100 + i);
}

TAP_MAIN
