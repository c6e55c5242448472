/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of programs that ran unrecorded: its bounds, and what is taken back of it. */
#include "capture/recorder/unrecorded.h"

#include "lib/tap.h"

static void add(struct unrecorded_list *list, pid_t pid)
{
	unrecorded_add(list, &(struct unrecorded){.pid = pid, .reason = HW_UNRECORDED_STATIC});
}

CASE(bounded, "the first are named, all are counted")
{
	struct unrecorded_list list;
	struct unrecorded was;
	unrecorded_init(&list);
	for (pid_t pid = 1; pid <= 2 * (pid_t)HPW_UNRECORDED_MAX; pid++)
		add(&list, pid);
	CHECK_U64(list.rows.len, HPW_UNRECORDED_MAX);
	CHECK_U64(list.count, 2 * HPW_UNRECORDED_MAX);
	CHECK_U64(list.rows.data[HPW_UNRECORDED_MAX - 1].pid, HPW_UNRECORDED_MAX);
	/* The latest, which has no row; but only that one. */
	CHECK(!unrecorded_take_back(&list, 2 * HPW_UNRECORDED_MAX - 1, &was));
	CHECK(unrecorded_take_back(&list, 2 * HPW_UNRECORDED_MAX, &was));
	CHECK(!unrecorded_take_back(&list, 2 * HPW_UNRECORDED_MAX, &was));
	CHECK_U64(list.count, 2 * HPW_UNRECORDED_MAX - 1);
	unrecorded_deinit(&list);
}

CASE(settled, "rows may be written some seconds after they came, in their order")
{
	struct unrecorded_list list;
	unrecorded_init(&list);
	for (pid_t pid = 1; pid <= 3; pid++)
		unrecorded_add(
			&list, &(struct unrecorded){.pid = pid, .noted_ns = (uint64_t)pid * 1000});
	CHECK_U64(unrecorded_settled(&list, UNRECORDED_SETTLED_NS + 999), 0);
	CHECK_U64(unrecorded_settled(&list, UNRECORDED_SETTLED_NS + 2000), 2);
	list.written = 2;
	CHECK_U64(unrecorded_settled(&list, UNRECORDED_SETTLED_NS), 2);
	CHECK_U64(unrecorded_settled(&list, UNRECORDED_SETTLED_NS + 9999), 3);
	unrecorded_deinit(&list);
}

CASE(taken_back, "what did not come about leaves no row, unless it is in the file")
{
	struct unrecorded_list list;
	struct unrecorded was;
	unrecorded_init(&list);
	for (pid_t pid = 1; pid <= 3; pid++)
		add(&list, pid);
	list.written = 1;
	CHECK(!unrecorded_take_back(&list, 1, &was));
	CHECK(unrecorded_take_back(&list, 2, &was));
	CHECK(!unrecorded_take_back(&list, 2, &was));
	CHECK_U64(list.rows.len, 2);
	CHECK_U64(list.count, 2);
	CHECK_U64(list.rows.data[0].pid, 1);
	CHECK_U64(list.rows.data[1].pid, 3);
	unrecorded_deinit(&list);
}

CASE(replaced, "a process that became another program is listed as that one, and once")
{
	struct unrecorded_list list;
	struct unrecorded was;
	unrecorded_init(&list);
	add(&list, 1);
	add(&list, 2);
	add(&list, 1);
	const struct unrecorded later = {.pid = 1, .reason = HW_UNRECORDED_MUSL, .path = "later"};
	CHECK(unrecorded_replace(&list, &later, &was));
	CHECK_U64(was.reason, HW_UNRECORDED_STATIC);
	CHECK_U64(list.count, 3);
	CHECK_U64(list.rows.data[0].reason, HW_UNRECORDED_STATIC);
	CHECK_U64(list.rows.data[2].reason, HW_UNRECORDED_MUSL);
	CHECK_STR(list.rows.data[2].path, "later");
	CHECK(!unrecorded_replace(&list, &(struct unrecorded){.pid = 7}, &was));
	list.written = 3;
	CHECK(!unrecorded_replace(&list, &later, &was));
	CHECK_U64(list.rows.len, 3);
	unrecorded_deinit(&list);
}

TAP_MAIN
