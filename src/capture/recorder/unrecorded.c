/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/unrecorded.h"

#include <string.h>

void unrecorded_init(struct unrecorded_list *list)
{
	*list = (struct unrecorded_list){.count = 0};
	unrecorded_vec_init(&list->rows);
}

void unrecorded_deinit(struct unrecorded_list *list)
{
	unrecorded_vec_deinit(&list->rows);
}

void unrecorded_add(struct unrecorded_list *list, const struct unrecorded *one)
{
	list->count++;
	list->last = *one;
	if (list->rows.len < HPW_UNRECORDED_MAX)
		(void)!unrecorded_vec_push(&list->rows, *one);
}

size_t unrecorded_settled(const struct unrecorded_list *list, uint64_t now_ns)
{
	size_t rows = list->written;
	while (rows < list->rows.len &&
		list->rows.data[rows].noted_ns + UNRECORDED_SETTLED_NS <= now_ns)
		rows++;
	return rows;
}

/* The last row of a process that can still be changed. */
static struct unrecorded *find_changeable_row(const struct unrecorded_list *list, pid_t pid)
{
	for (size_t i = list->rows.len; i > list->written; i--) {
		if (list->rows.data[i - 1].pid == pid)
			return &list->rows.data[i - 1];
	}
	return NULL;
}

bool unrecorded_take_back(struct unrecorded_list *list, pid_t pid, struct unrecorded *ret)
{
	struct unrecorded *row = find_changeable_row(list, pid);
	if (row) {
		*ret = *row;
		struct unrecorded *end = list->rows.data + list->rows.len--;
		memmove(row, row + 1, (size_t)(end - row - 1) * sizeof(*row));
	} else if (list->last.pid == pid) {
		*ret = list->last;
	} else {
		return false;
	}
	list->last.pid = 0;
	list->count--;
	return true;
}

bool unrecorded_replace(
	struct unrecorded_list *list, const struct unrecorded *one, struct unrecorded *ret_before)
{
	struct unrecorded *row = find_changeable_row(list, one->pid);
	if (!row)
		return false;
	*ret_before = *row;
	*row = *one;
	return true;
}
