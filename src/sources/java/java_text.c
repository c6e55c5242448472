/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

void java_memory_init(struct java_memory *memory)
{
	*memory = (struct java_memory){.text = NULL};
}

void java_memory_deinit(struct java_memory *memory)
{
	free(memory->text);
	free(memory->more);
	java_class_vec_deinit(&memory->classes);
	java_use_vec_deinit(&memory->uses);
	*memory = (struct java_memory){.text = NULL};
}

/* Cuts the first line off. */
static char *line_take(char **rest)
{
	char *line = *rest, *end = line ? strpbrk(line, "\r\n") : NULL;
	if (!line)
		return NULL;
	*rest = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return line;
}

/* Digits after blanks; false if there are none, or they are of a number above 2^64. */
static bool number_take(char **at, uint64_t *ret)
{
	char *digit = *at + strspn(*at, " \t");
	uint64_t value = 0;
	if (*digit < '0' || *digit > '9')
		return false;
	for (; *digit >= '0' && *digit <= '9'; digit++)
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*digit - '0'), &value))
			return false;
	*at = digit;
	*ret = value;
	return true;
}

/* ---- Class histogram ------------------------------------------------------------------------- */

static const char *primitive_of(char letter)
{
	static const struct {
		char letter;
		const char *name;
	} primitives[] = {{'B', "byte"}, {'C', "char"}, {'D', "double"}, {'F', "float"},
		{'I', "int"}, {'J', "long"}, {'S', "short"}, {'Z', "boolean"}};
	for (size_t i = 0; i < ARRAY_SIZE(primitives); i++)
		if (primitives[i].letter == letter)
			return primitives[i].name;
	return NULL;
}

/*
 * "[[I" becomes "int[][]", "[Ljava.lang.String;" "java.lang.String[]", in its own place: the blank
 * and the number before a name leave room for a primitive's. What is no array stays. Returns where
 * the name begins; `floor` is the first byte that may be written to.
 */
static char *array_name(char *name, char *floor)
{
	size_t dimensions = strspn(name, "["), len = strlen(name);
	char *inner = name + dimensions;
	if (!dimensions)
		return name;
	if (*inner == 'L' && len > dimensions + 2 && name[len - 1] == ';') {
		size_t inner_len = len - dimensions - 2;
		size_t all = inner_len + 2 * dimensions;
		if ((size_t)(name + len - floor) < all)
			return name;
		char *start = name + len - all;
		memmove(start, inner + 1, inner_len);
		for (size_t i = 0; i < dimensions; i++)
			memcpy(start + inner_len + 2 * i, "[]", 2);
		start[all] = '\0';
		return start;
	}
	const char *primitive = *inner && !inner[1] ? primitive_of(*inner) : NULL;
	size_t all = primitive ? strlen(primitive) + 2 * dimensions : 0;
	if (!primitive || (size_t)(name + len - floor) < all)
		return name;
	char *start = name + len - all, *at = start;
	while (*primitive)
		*at++ = *primitive++;
	for (; dimensions; dimensions--) {
		*at++ = '[';
		*at++ = ']';
	}
	return start;
}

/* "   1:         12345        1234567  [B (java.base@17.0.15)". False: it is no such line. */
static bool class_read(char *line, struct java_class *ret)
{
	uint64_t rank;
	char *at = line;
	if (!number_take(&at, &rank) || *at++ != ':' || !number_take(&at, &ret->instances) ||
		!number_take(&at, &ret->bytes) || *at != ' ')
		return false;
	char *name = at + strspn(at, " ");
	char *module = strstr(name, " (");
	size_t len = strlen(name);
	ret->module = NULL;
	if (module && name[len - 1] == ')') {
		name[len - 1] = '\0';
		*module = '\0';
		ret->module = module + 2;
	}
	ret->name = array_name(name, line);
	return *ret->name != '\0';
}

/* "Total        123456        4567890" */
static bool total_read(char *line, uint64_t *ret_instances, uint64_t *ret_bytes)
{
	char *at = line + 5;
	return !strncmp(line, "Total", 5) && number_take(&at, ret_instances) &&
	       number_take(&at, ret_bytes);
}

static bool is_heading(const char *line)
{
	return strstr(line, "#instances") || !line[strspn(line, "- \t")];
}

static int class_compare(const void *left, const void *right)
{
	const struct java_class *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	int order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->module ? a->module : "", b->module ? b->module : "");
}

static struct error *class_add(struct java_memory *memory, const struct java_class *row)
{
	if (__builtin_add_overflow(memory->instances, row->instances, &memory->instances) ||
		__builtin_add_overflow(memory->bytes, row->bytes, &memory->bytes))
		return error_create(ERROR_INPUT, "its classes add up to more than 2^64");
	return java_class_vec_push(&memory->classes, *row) ? NULL : error_no_memory();
}

struct error *java_histogram_parse(char *text, struct java_memory *memory)
{
	uint64_t instances, bytes;
	bool has_total = false;
	char *rest = memory->text = text;
	struct error *error = NULL;
	for (char *line; !error && (line = line_take(&rest));) {
		struct java_class row;
		if (!has_total && class_read(line, &row))
			error = class_add(memory, &row);
		else if (!has_total && total_read(line, &instances, &bytes))
			has_total = true;
		else if (!is_heading(line))
			memory->left_out++;
	}
	if (error)
		return error;
	if (!memory->classes.len)
		return error_create(
			ERROR_INPUT, "the JVM's answer is no class histogram: '%.80s'", text);
	if (!has_total)
		return error_create(
			ERROR_INPUT, "the class histogram is cut off: it has no line 'Total'");
	if (instances != memory->instances || bytes != memory->bytes)
		return error_create(ERROR_INPUT,
			"the class histogram has %" PRIu64 " bytes in its rows, and says that it "
			"has %" PRIu64,
			memory->bytes, bytes);
	qsort(memory->classes.data, memory->classes.len, sizeof(*memory->classes.data),
		class_compare);
	return NULL;
}

/* ---- Native memory --------------------------------------------------------------------------- */

/* "reserved=262144KB, committed=16384KB" */
static bool sizes_read(char *at, uint64_t *ret_reserved, uint64_t *ret_committed)
{
	static const char first[] = "reserved=", second[] = "KB, committed=";
	if (strncmp(at, first, sizeof(first) - 1) != 0)
		return false;
	at += sizeof(first) - 1;
	if (!number_take(&at, ret_reserved) || strncmp(at, second, sizeof(second) - 1) != 0)
		return false;
	at += sizeof(second) - 1;
	return number_take(&at, ret_committed) && !strncmp(at, "KB", 2) &&
	       !__builtin_mul_overflow(*ret_reserved, 1024, ret_reserved) &&
	       !__builtin_mul_overflow(*ret_committed, 1024, ret_committed);
}

/* "-                 Java Heap (reserved=262144KB, committed=16384KB)" */
static bool use_read(char *line, struct java_use *ret)
{
	char *name = line + 1 + strspn(line + 1, " ");
	char *open = strstr(name, " (");
	if (*line != '-' || !open || open == name)
		return false;
	if (!sizes_read(open + 2, &ret->reserved_bytes, &ret->committed_bytes))
		return false;
	*open = '\0';
	ret->name = name;
	return true;
}

static int use_compare(const void *left, const void *right)
{
	const struct java_use *a = left, *b = right;
	if (a->committed_bytes != b->committed_bytes)
		return a->committed_bytes > b->committed_bytes ? -1 : 1;
	return strcmp(a->name, b->name);
}

struct error *java_native_parse(char *text, struct java_memory *memory)
{
	bool has_total = false;
	char *rest = memory->more = text;
	if (strstr(text, "tracking is not enabled"))
		return error_create(ERROR_INPUT,
			"the JVM does not track its native memory: start it with "
			"-XX:NativeMemoryTracking=summary");
	for (char *line; (line = line_take(&rest));) {
		struct java_use row;
		if (!strncmp(line, "Total: ", 7))
			has_total = sizes_read(
				line + 7, &memory->reserved_bytes, &memory->committed_bytes);
		else if (*line == '-' && !use_read(line, &row))
			memory->left_out++;
		else if (*line == '-' && !java_use_vec_push(&memory->uses, row))
			return error_no_memory();
	}
	if (!has_total || !memory->uses.len)
		return error_create(ERROR_INPUT,
			"the JVM's answer is no summary of native memory: '%.80s'", text);
	qsort(memory->uses.data, memory->uses.len, sizeof(*memory->uses.data), use_compare);
	return NULL;
}
