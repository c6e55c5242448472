/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/code_names.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The list was complete: the process had ended, or can't be looked at. */
#define LISTED_ALL UINT64_MAX

void code_names_init(struct code_names *names)
{
	code_name_vec_init(&names->rows);
	names->place = PERF_MAP_PLACE_NONE;
	names->list = NULL;
	names->state = PERF_MAP_UNSOUGHT;
	names->is_cut = false;
}

static void list_close(struct code_names *names)
{
	if (names->list)
		fclose(names->list);
	names->list = NULL;
}

void code_names_deinit(struct code_names *names)
{
	for (size_t i = 0; i < names->rows.len; i++)
		free(names->rows.data[i].name);
	code_name_vec_deinit(&names->rows);
	list_close(names);
	perf_map_place_close(&names->place);
}

/* How many bytes the list has by now. One that is not there yet may come. */
static uint64_t list_length(struct code_names *names)
{
	struct stat status;
	if (!names->list)
		(void)perf_map_open(&names->place, &names->list);
	return names->list && !fstat(fileno(names->list), &status) ? (uint64_t)status.st_size : 0;
}

void code_names_note(struct code_names *names, pid_t pid, pid_t target_pid, uint64_t address)
{
	if (names->rows.len >= CODE_ADDRESSES_MAX) {
		names->is_cut = true;
		return;
	}
	if (names->place.folder < 0)
		(void)perf_map_place_open(pid, target_pid, &names->place);
	struct code_name row = {.address = address,
		.listed = names->place.folder < 0 ? LISTED_ALL : list_length(names)};
	if (!code_name_vec_push(&names->rows, row))
		return; /* it stays without a name */
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct code_name *)a)->address;
	uint64_t y = ((const struct code_name *)b)->address;
	if (x != y)
		return x < y ? -1 : 1;
	x = ((const struct code_name *)a)->listed;
	y = ((const struct code_name *)b)->listed;
	return x < y ? -1 : x > y;
}

/* Of several rows of an address the one that was noted first stays. */
static void sort_once(struct code_name_vec *rows)
{
	if (!rows->len)
		return;
	qsort(rows->data, rows->len, sizeof(*rows->data), by_address);
	size_t kept = 1;
	for (size_t i = 1; i < rows->len; i++)
		if (rows->data[i].address != rows->data[kept - 1].address)
			rows->data[kept++] = rows->data[i];
		else
			free(rows->data[i].name);
	rows->len = kept;
}

/* The first row whose call is not before `start`: a return address belongs to the byte before it.
 */
static size_t first_in(const struct code_name_vec *rows, uint64_t start)
{
	size_t low = 0, high = rows->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rows->data[middle].address - 1 < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void set_name(struct code_name *row, const char *name, size_t len)
{
	char *copy = malloc(len + 1);
	if (!copy)
		return;
	memcpy(copy, name, len);
	copy[len] = '\0';
	free(row->name);
	row->name = copy;
	row->name_len = (uint32_t)len;
}

void code_names_add(struct code_names *names, uint64_t address, const char *name, size_t bytes)
{
	if (names->rows.len < CODE_ADDRESSES_MAX &&
		code_name_vec_push(&names->rows, (struct code_name){.address = address}))
		set_name(&names->rows.data[names->rows.len - 1], name, bytes);
}

/* A name of a line that came after the row was noted. */
static void add_later_name(struct code_name *row, const struct perf_map_line *line)
{
	char both[2 * PERF_MAP_NAME_BYTES_MAX + 16];
	if (row->is_settled)
		return;
	if (!row->name) {
		set_name(row, line->name, line->name_bytes);
		return;
	}
	if (row->name_len == line->name_bytes && !memcmp(row->name, line->name, row->name_len))
		return;
	int len = snprintf(both, sizeof(both), "%.*s (later %.*s)", (int)row->name_len, row->name,
		(int)line->name_bytes, line->name);
	set_name(row, both, (size_t)len);
	row->is_settled = true;
}

/* How many rows lines may name further, and those that they do. */
struct naming {
	struct code_name_vec *rows;
	size_t named;
};

static bool line_take(void *context, const struct perf_map_line *line)
{
	struct naming *naming = context;
	struct code_name_vec *rows = naming->rows;
	for (size_t i = first_in(rows, line->start);
		i < rows->len && rows->data[i].address - 1 - line->start < line->bytes; i++) {
		struct code_name *row = &rows->data[i];
		if (line->offset < row->listed)
			set_name(row, line->name, line->name_bytes);
		else
			add_later_name(row, line);
		naming->named++;
	}
	return naming->named < CODE_NAMINGS_MAX;
}

/* Returns whether there was room for all. */
static bool keep_named(struct code_name_vec *rows)
{
	size_t kept = 0, bytes = 0;
	for (size_t i = 0; i < rows->len; i++) {
		bytes += rows->data[i].name_len;
		if (rows->data[i].name && bytes <= CODE_NAMES_BYTES_MAX)
			rows->data[kept++] = rows->data[i];
		else
			free(rows->data[i].name);
	}
	rows->len = kept;
	return bytes <= CODE_NAMES_BYTES_MAX;
}

/* The process has ended before it was looked at: without a container it had this user, and the
 * machine's /tmp. */
static void place_guess(struct perf_map_place *place, pid_t target_pid, uint64_t began_ns)
{
	*place = (struct perf_map_place){.folder = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.pid = target_pid,
		.user = geteuid(),
		.began_ns = began_ns};
}

/* Opens it anew, as the program may have replaced the one that was looked at, or emptied it: then
 * all lines came later. */
static void list_read(struct code_names *names)
{
	struct stat before = {.st_ino = 0}, now = before;
	bool had = names->list && !fstat(fileno(names->list), &before);
	list_close(names);
	names->state = perf_map_open(&names->place, &names->list);
	if (!names->list)
		return;
	bool is_same = had && !fstat(fileno(names->list), &now) && now.st_ino == before.st_ino &&
		       now.st_dev == before.st_dev;
	for (size_t i = 0; i < names->rows.len; i++) {
		uint64_t *listed = &names->rows.data[i].listed;
		if (*listed != LISTED_ALL && (!is_same || (uint64_t)now.st_size < *listed))
			*listed = 0;
	}
	struct naming naming = {&names->rows, 0};
	names->state = perf_map_each(names->list, line_take, &naming);
	list_close(names);
}

void code_names_read(struct code_names *names, pid_t pid, pid_t target_pid, uint64_t began_ns)
{
	bool is_noted = false;
	for (size_t i = 0; i < names->rows.len && !is_noted; i++)
		is_noted = !names->rows.data[i].name;
	sort_once(&names->rows);
	if (is_noted && names->place.folder < 0 && pid == target_pid)
		place_guess(&names->place, target_pid, began_ns);
	if (is_noted)
		list_read(names);
	names->is_cut |= !keep_named(&names->rows);
	if (names->is_cut && names->state == PERF_MAP_READ)
		names->state = PERF_MAP_CUT;
}
