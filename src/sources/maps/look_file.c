/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/look_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "process/smaps.h"
#include "sources/maps/look_entry.h"
#include "sources/maps/look_json.h"

/* Where columns of `heapwise maps` begin, from its heading. */
struct look_columns {
	size_t owner, name; /* 0: no heading has been met */
	bool has_huge;      /* the column after SWAPPED is HUGE */
	size_t headings;
};

static void heading_read(const char *line, struct look_columns *ret)
{
	const char *owner = strstr(line, "OWNER"), *name = owner ? strstr(owner, "NAME") : NULL;
	if (!name || strncmp(line, "START", 5) != 0)
		return;
	ret->owner = (size_t)(owner - line);
	ret->name = (size_t)(name - line);
	ret->has_huge = strstr(line, " HUGE ");
	ret->headings++;
}

/* A figure in KiB; false: "?" or "-", it is not known. */
static bool kilobytes_read(const char *word, uint64_t *ret)
{
	char *end;
	*ret = strtoull(word, &end, 10);
	if (end == word || *end || *word == '-' || *ret > UINT64_MAX >> 10)
		return false;
	*ret <<= 10;
	return true;
}

/* Takes the spaces at the end away. */
static void right_trim(char *text)
{
	for (size_t len = strlen(text); len && text[len - 1] == ' ';)
		text[--len] = 0;
}

static void owner_name_read(const char *owner, struct look_mapping *ret)
{
	ret->owner = look_owner_of(ret);
	for (unsigned i = 0; i < LOOK_OWNERS; i++) {
		if (!strcmp(owner, look_owner_name(i)))
			ret->owner = i;
	}
}

/*
 * Where the column of the owner begins in a line: at its first word of letters after the range and
 * the flags. It is not where the heading has it if a number is wider than its column, as addresses
 * of [vsyscall] are.
 */
static size_t owner_place(const char *line, size_t heading)
{
	const char *at = line;
	for (unsigned i = 0; i < 2; i++)
		at += strspn(at, " "), at += strcspn(at, " ");
	for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
		if (*at >= 'a' && *at <= 'z')
			return (size_t)(at - line);
		at += strcspn(at, " ");
	}
	return heading;
}

/* Where " (whose)" begins in "name (whose)"; NULL: nowhere. Names of files that are gone end with
 * " (deleted)". */
static char *whose_find(char *name)
{
	char *last = NULL;
	for (char *at = name; (at = strstr(at, " (")); at++)
		last = at;
	return last && strcmp(last, " (deleted)") != 0 ? last : NULL;
}

/* What stands in the last two columns: the owner, and "name" or "(whose)" or both. */
static bool words_read(struct memory_look *look, char *line, const struct look_columns *columns,
	struct look_mapping *ret)
{
	size_t len = strlen(line), width = columns->name - columns->owner;
	size_t first = owner_place(line, columns->owner);
	char owner[32] = "";
	ret->name = "";
	if (len > first)
		snprintf(owner, sizeof(owner), "%.*s",
			(int)(width < sizeof(owner) ? width : sizeof(owner) - 1), line + first);
	right_trim(owner);
	if (len > first + width) {
		char *name = line + first + width, *whose = NULL;
		right_trim(name);
		len = strlen(name);
		if (len > 2 && name[len - 1] == ')')
			whose = *name == '(' ? name : whose_find(name);
		if (whose) {
			name[len - 1] = 0;
			ret->whose = arena_strdup(&look->words, whose + (*whose == '(' ? 1 : 2));
			*whose = 0;
		}
		ret->name = arena_strdup(&look->words, name);
	}
	owner_name_read(owner, ret);
	return ret->name;
}

enum line_kind {
	LINE_OTHER,
	LINE_MAPPING,
	LINE_GONE, /* a mapping that is not there any more */
	LINE_NO_MEMORY
};

/* "55d0-55d1 rw-p 132 12 0 …" */
static enum line_kind own_line_read(struct memory_look *look, char *line,
	const struct look_columns *columns, struct look_mapping *ret)
{
	char flags[8], size[24], rss[24], swapped[24], huge[24] = "";
	uint64_t bytes;
	if (!columns->owner ||
		sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %23s %23s %23s %23s", &ret->start,
			&ret->end, flags, size, rss, swapped, huge) < 6 ||
		strlen(flags) != 4)
		return LINE_OTHER;
	memcpy(ret->flags, flags, sizeof(ret->flags));
	if (kilobytes_read(rss, &bytes))
		look_set_figure(ret, LOOK_RSS, bytes);
	if (kilobytes_read(swapped, &bytes))
		look_set_figure(ret, LOOK_SWAPPED, bytes);
	if (columns->has_huge && kilobytes_read(huge, &bytes))
		look_set_figure(ret, LOOK_HUGE, bytes);
	size_t len = strlen(line);
	if (len > 6 && !strcmp(line + len - 6, "[gone]"))
		return LINE_GONE;
	return words_read(look, line, columns, ret) ? LINE_MAPPING : LINE_NO_MEMORY;
}

/* "[ anon ]" is what pmap says where there is no name, "[ stack ]" the kernel's "[stack]". */
static const char *pmap_name(const char *name)
{
	if (!strcmp(name, "[ anon ]"))
		return "";
	return !strcmp(name, "[ stack ]") ? "[stack]" : name;
}

/* Ends with "rw-s- name". */
static enum line_kind pmap_line_end(
	struct memory_look *look, const char *mode, const char *name, struct look_mapping *ret)
{
	if (strlen(mode) != 5 || strspn(mode, "rwxsR-") != 5)
		return LINE_OTHER;
	memcpy(ret->flags, mode, 3);
	ret->flags[3] = mode[3] == 's' ? 's' : 'p';
	ret->flags[4] = 0;
	ret->name = arena_strdup(&look->words, pmap_name(name));
	ret->whose = NULL;
	if (!ret->name)
		return LINE_NO_MEMORY;
	ret->owner = look_owner_of(ret);
	return LINE_MAPPING;
}

/* "000055d0     132      12       0 rw---   [ anon ]", or without -x "000055d0    132K rw---   …"
 */
static enum line_kind pmap_line_read(struct memory_look *look, char *line, struct look_mapping *ret)
{
	char size[24], rss[24], dirty[24], mode[8];
	uint64_t bytes;
	int name = 0;
	if (strspn(line, "0123456789abcdef") < 8)
		return LINE_OTHER;
	right_trim(line);
	bool is_extended = sscanf(line, "%" SCNx64 " %23s %23s %23s %7s %n", &ret->start, size, rss,
				   dirty, mode, &name) == 5 &&
			   kilobytes_read(size, &bytes);
	if (!is_extended &&
		(sscanf(line, "%" SCNx64 " %23s %7s %n", &ret->start, size, mode, &name) != 3 ||
			!strchr(size, 'K')))
		return LINE_OTHER;
	if (!is_extended) {
		*strchr(size, 'K') = 0;
		if (!kilobytes_read(size, &bytes))
			return LINE_OTHER;
	}
	if (!bytes || __builtin_add_overflow(ret->start, bytes, &ret->end))
		return LINE_OTHER;
	if (is_extended && kilobytes_read(rss, &bytes))
		look_set_figure(ret, LOOK_RSS, bytes);
	if (is_extended && kilobytes_read(dirty, &bytes))
		look_set_figure(ret, LOOK_DIRTY, bytes);
	return pmap_line_end(look, mode, name ? line + name : "", ret);
}

/* Lines that say something else: headings, sums, empty ones. */
static bool is_known_line(const char *line)
{
	return !*line || !strncmp(line, "PID ", 4) || !strncmp(line, "Address", 7) ||
	       !strncmp(line, "---", 3) || !strncmp(line, "total", 5) ||
	       !strncmp(line, " total", 6) || strstr(line, ":   ");
}

static struct error *lines_read(
	const char *name, char *text, struct memory_look *look, struct look_file *ret)
{
	struct look_columns columns = {.owner = 0};
	bool is_own = false;
	for (char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = 0;
		struct look_mapping mapping = {.start = 0};
		size_t count = look->mappings.len;
		heading_read(line, &columns);
		enum line_kind kind = own_line_read(look, line, &columns, &mapping);
		is_own |= kind == LINE_MAPPING;
		if (kind == LINE_OTHER) {
			mapping = (struct look_mapping){.start = 0};
			kind = pmap_line_read(look, line, &mapping);
		}
		if (kind == LINE_NO_MEMORY)
			return error_no_memory();
		if (kind == LINE_GONE)
			continue;
		if (kind == LINE_OTHER || mapping.start >= mapping.end) {
			ret->left_out += !is_own && !columns.owner && !is_known_line(line);
			continue;
		}
		if (count && mapping.start < look->mappings.data[count - 1].end && !is_own)
			return error_create(ERROR_INPUT,
				"%s: mapping 0x%" PRIx64 " is not above the one before it: it has "
				"more than one process; save each with a command of its own",
				name, mapping.start);
		if (!look_mapping_vec_push(&look->mappings, mapping))
			return error_no_memory();
	}
	ret->form = is_own ? "heapwise maps" : "pmap";
	return columns.headings < 2 ? NULL
				    : error_create(ERROR_INPUT,
					      "%s: it has %zu processes; save each with a command "
					      "of its own",
					      name, columns.headings);
}

static int mapping_by_start(const void *left, const void *right)
{
	const struct look_mapping *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

/* Rows of a series come by growth; one of several mappings may have another one between them. */
static void mappings_sort(struct memory_look *look, size_t *left_out)
{
	struct look_mapping_vec *mappings = &look->mappings;
	size_t kept = 0;
	if (mappings->len)
		qsort(mappings->data, mappings->len, sizeof(*mappings->data), mapping_by_start);
	for (size_t i = 0; i < mappings->len; i++) {
		if (kept && mappings->data[i].start < mappings->data[kept - 1].end)
			++*left_out;
		else
			mappings->data[kept++] = mappings->data[i];
	}
	mappings->len = kept;
}

static bool has_figures(const struct memory_look *look)
{
	for (size_t i = 0; i < look->mappings.len; i++) {
		if (look->mappings.data[i].known)
			return true;
	}
	return false;
}

struct error *look_file_parse(
	const char *name, char *text, size_t len, struct memory_look *look, struct look_file *ret)
{
	*ret = (struct look_file){.form = "maps"};
	look->text = text;
	if (memchr(text, 0, len))
		return error_create(ERROR_INPUT,
			"%s: this is no text of smaps, pmap -x or heapwise maps: it has a NUL byte",
			name);
	struct error *error = NULL;
	if (text[strspn(text, " \t\n")] == '{') {
		ret->form = "heapwise maps --json";
		error = look_json_read(name, text, len, look, &ret->left_out);
	} else if (smaps_begins(text)) {
		if (!look_entries_read(look, text, &ret->left_out))
			error = error_no_memory();
		if (has_figures(look))
			ret->form = "smaps";
	} else {
		error = lines_read(name, text, look, ret);
		if (!error)
			mappings_sort(look, &ret->left_out);
	}
	if (!error && !look->mappings.len)
		error = error_create(ERROR_INPUT,
			"%s: no mapping was found in it: expected what /proc/PID/smaps, 'pmap -x' "
			"or "
			"'heapwise maps' show",
			name);
	return error;
}

struct error *look_file_read(const char *path, struct memory_look *look, struct look_file *ret)
{
	uint8_t *data;
	size_t len;
	struct error *error = read_file(path, LOOK_FILE_MAX, &data, &len);
	return error ? error : look_file_parse(path, (char *)data, len, look, ret);
}
