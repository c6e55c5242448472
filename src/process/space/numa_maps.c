/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/numa_maps.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_KB 4u

/* A number in a base that ends with `after`, the last thing in a word; false: it is none. */
static bool number_read(const char *word, int base, char after, uint64_t *ret, const char **ret_end)
{
	char *end;
	if (*word < '0' || (*word > '9' && (base != 16 || *word < 'a' || *word > 'f')))
		return false;
	*ret = strtoull(word, &end, base);
	*ret_end = end + 1;
	return *end == after && *ret != UINT64_MAX;
}

/* "N0=12": a node and its pages. */
static bool node_read(const char *word, uint64_t *ret_node, uint64_t *ret_pages)
{
	const char *rest;
	return *word == 'N' && number_read(word + 1, 10, '=', ret_node, &rest) &&
	       *ret_node < NUMA_NODES_MAX && number_read(rest, 10, 0, ret_pages, &rest);
}

/* The size of the pages that a line counts, which is its last word; false: it has none. */
static bool page_kilobytes_read(const char *line, uint64_t *ret)
{
	static const char name[] = "kernelpagesize_kB=";
	const char *word = strstr(line, name), *rest;
	*ret = PAGE_KB;
	return !word || (number_read(word + sizeof(name) - 1, 10, 0, ret, &rest) &&
				*ret <= UINT64_MAX >> 20);
}

struct numa_line {
	uint64_t start, kilobytes;
	bool (*take)(void *ctx, const struct numa_entry *entry);
	void *ctx;
	bool ended;
};

/* Hands over the nodes of a line, whose words follow its address; false: one is wrong. */
static bool nodes_take(struct numa_line *line, char *words)
{
	uint64_t node, pages, bytes, before = 0;
	bool is_first = true;
	char *rest;
	for (char *word = strtok_r(words, " ", &rest); word && !line->ended;
		word = strtok_r(NULL, " ", &rest)) {
		/* Of a file's name a space is written as \040. */
		if (!node_read(word, &node, &pages))
			continue;
		if ((!is_first && node <= before) ||
			__builtin_mul_overflow(pages, line->kilobytes << 10, &bytes))
			return false;
		is_first = false;
		before = node;
		const struct numa_entry entry = {line->start, bytes, (unsigned)node};
		line->ended = bytes && !line->take(line->ctx, &entry);
	}
	return true;
}

size_t numa_maps_parse(
	char *text, bool (*take)(void *ctx, const struct numa_entry *entry), void *ctx)
{
	struct numa_line line = {.take = take, .ctx = ctx};
	size_t left_out = 0;
	uint64_t before = 0;
	bool is_first = true;
	for (char *at = text, *end; *at && !line.ended; at = end) {
		const char *words;
		end = strchrnul(at, '\n');
		if (*end)
			*end++ = 0;
		bool is_read = number_read(at, 16, ' ', &line.start, &words) &&
			       (is_first || line.start > before) &&
			       page_kilobytes_read(words, &line.kilobytes) &&
			       nodes_take(&line, at + (words - at));
		left_out += !is_read;
		if (is_read) {
			before = line.start;
			is_first = false;
		}
	}
	return left_out;
}
