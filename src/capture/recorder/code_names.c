/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/code_names.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void code_names_init(struct code_names *names)
{
	code_name_vec_init(&names->rows);
	names->folder = -1;
}

void code_names_deinit(struct code_names *names)
{
	for (size_t i = 0; i < names->rows.len; i++)
		free(names->rows.data[i].name);
	code_name_vec_deinit(&names->rows);
	if (names->folder >= 0)
		close(names->folder);
	names->folder = -1;
}

void code_names_note(struct code_names *names, pid_t pid, uint64_t address)
{
	if (names->rows.len >= CODE_ADDRESSES_MAX)
		return;
	if (names->folder < 0) {
		char path[64];
		snprintf(path, sizeof(path),
			"/proc/%d/root"
			"/tmp",
			(int)pid);
		names->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (!code_name_vec_push(&names->rows, (struct code_name){.address = address}))
		return; /* it stays without a name */
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct code_name *)a)->address;
	uint64_t y = ((const struct code_name *)b)->address;
	return x < y ? -1 : x > y;
}

static void sort_once(struct code_name_vec *rows)
{
	if (!rows->len)
		return;
	qsort(rows->data, rows->len, sizeof(*rows->data), by_address);
	size_t kept = 1;
	for (size_t i = 1; i < rows->len; i++)
		if (rows->data[i].address != rows->data[kept - 1].address)
			rows->data[kept++] = rows->data[i];
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

/* One line, without its end; what is no such line is passed over. Returns how many rows it names.
 */
static size_t take_line(struct code_name_vec *rows, const char *line, size_t len)
{
	char *end;
	uint64_t start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return 0;
	const char *second = end + 1;
	uint64_t bytes = strtoull(second, &end, 16);
	if (end == second || *end != ' ' || end >= line + len)
		return 0;
	const char *name = end + 1;
	size_t name_len = (size_t)(line + len - name);
	if (!name_len || !bytes)
		return 0;
	if (name_len > CODE_NAME_BYTES_MAX)
		name_len = CODE_NAME_BYTES_MAX;
	size_t first = first_in(rows, start), i = first;
	for (; i < rows->len && rows->data[i].address - 1 - start < bytes; i++)
		set_name(&rows->data[i], name, name_len);
	return i - first;
}

/* Of a line too long to be one the end is passed over. */
static void read_list(struct code_name_vec *rows, FILE *list)
{
	char line[CODE_NAME_BYTES_MAX + 64];
	size_t seen = 0, named = 0;
	bool whole = true;
	while (seen < CODE_LIST_BYTES_MAX && named < CODE_NAMINGS_MAX &&
		fgets(line, sizeof(line), list)) {
		size_t len = strlen(line);
		bool begins = whole;
		seen += len ? len : 1;
		whole = len && line[len - 1] == '\n';
		if (whole)
			line[--len] = '\0';
		if (begins)
			named += take_line(rows, line, len);
	}
}

/* A plain file of this user's, never a link, a pipe or a stranger's. */
static FILE *open_list(int folder, pid_t target_pid)
{
	char name[64];
	snprintf(name, sizeof(name), "perf-%d.map", (int)target_pid);
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	if (fd < 0)
		return NULL;
	FILE *list = NULL;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid())
		list = fdopen(fd, "r");
	if (!list)
		close(fd);
	return list;
}

static void keep_named(struct code_name_vec *rows)
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
}

void code_names_read(struct code_names *names, pid_t pid, pid_t target_pid)
{
	if (!names->rows.len)
		return;
	sort_once(&names->rows);
	if (names->folder < 0 && pid == target_pid)
		names->folder = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	FILE *list = names->folder < 0 ? NULL : open_list(names->folder, target_pid);
	if (list) {
		read_list(&names->rows, list);
		fclose(list);
	}
	keep_named(&names->rows);
}
