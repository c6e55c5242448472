/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/kernel_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"

/* The list has no sizes. Code further behind a symbol has none of its own. */
#define FUNCTION_MAX (1u << 20)

/* A line of the list. */
struct listed {
	uint64_t address;
	size_t name, module; /* in the strings; module 0: none */
	uint32_t number;     /* of the line: of several at an address the first is shown */
	bool is_code;
};
DEFINE_VEC(listed_vec, struct listed)

struct kernel_symbols {
	struct listed_vec all; /* by address */
	struct text strings;
};

/* Returns where the string is. */
static size_t string_add(struct kernel_symbols *symbols, const char *string)
{
	size_t at = symbols->strings.len;
	text_add_n(&symbols->strings, string, strlen(string) + 1);
	return at;
}

/* "ffffffff81000000 T _text", of a module with "\t[name]" after it. */
static bool line_add(struct kernel_symbols *symbols, const char *line)
{
	unsigned long long address;
	char type, name[512], module[128] = "";
	if (sscanf(line, "%llx %c %511s [%127[^]]]", &address, &type, name, module) < 3)
		return true;
	if (!address)
		return true;
	const struct listed listed = {.address = address,
		.name = string_add(symbols, name),
		.module = module[0] ? string_add(symbols, module) : 0,
		.number = (uint32_t)symbols->all.len,
		.is_code = strchr("tTwW", type) != NULL};
	return listed_vec_push(&symbols->all, listed);
}

static int listed_compare(const void *left, const void *right)
{
	const struct listed *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static struct error *lines_read(struct kernel_symbols *symbols, const char *path)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	bool has_room = true;
	FILE *file = fopen(path, "re");
	if (!file)
		return error_errno(
			ERROR_ENVIRONMENT, errno, "can't read the kernel's symbols in %s", path);
	while (has_room && getline(&line, &room, file) > 0)
		has_room = line_add(symbols, line);
	bool has_failed = ferror(file);
	int err = errno;
	(void)fclose(file);
	if (!has_room || symbols->strings.failed)
		return error_no_memory();
	return has_failed ? error_errno(ERROR_ENVIRONMENT, err,
				    "can't read the kernel's symbols in %s", path)
			  : NULL;
}

struct error *kernel_symbols_read(const char *path, struct kernel_symbols **ret)
{
	struct kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return error_no_memory();
	text_init(&symbols->strings);
	text_add_n(&symbols->strings, "", 1); /* so that no string is at 0 */
	struct error *error = lines_read(symbols, path);
	if (error) {
		kernel_symbols_destroy(symbols);
		return error;
	}
	if (symbols->all.len)
		qsort(symbols->all.data, symbols->all.len, sizeof(symbols->all.data[0]),
			listed_compare);
	*ret = symbols;
	return NULL;
}

void kernel_symbols_destroy(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	listed_vec_deinit(&symbols->all);
	text_deinit(&symbols->strings);
	free(symbols);
}

bool kernel_symbols_are_hidden(const struct kernel_symbols *symbols)
{
	return !symbols->all.len;
}

/* Returns how many begin at an address or before it. */
static size_t listed_count_to(const struct listed_vec *all, uint64_t address)
{
	size_t first = 0, end = all->len;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (all->data[middle].address <= address)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

bool kernel_symbols_find(
	const struct kernel_symbols *symbols, uint64_t return_address, struct kernel_symbol *ret)
{
	const struct listed_vec *all = &symbols->all;
	size_t number = listed_count_to(all, return_address - 1);
	if (!number)
		return false;
	number--;
	while (number && all->data[number - 1].address == all->data[number].address)
		number--;
	const struct listed *listed = &all->data[number];
	if (!listed->is_code || return_address - listed->address > FUNCTION_MAX)
		return false;
	ret->name = symbols->strings.data + listed->name;
	ret->module = listed->module ? symbols->strings.data + listed->module : NULL;
	ret->offset = return_address - listed->address;
	return true;
}
