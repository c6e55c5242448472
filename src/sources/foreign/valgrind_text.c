/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/valgrind_text.h"

#include <string.h>

#include "base/cleanup.h"
#include "sources/foreign/foreign_scan.h"

/* Of the last " (" before a ")" at the end, which is not the first; NULL: none. */
static const char *find_place(const char *text, size_t len)
{
	if (len < 4 || text[len - 1] != ')')
		return NULL;
	/* Of nested ones the outermost: names of files may have some too. */
	size_t open = 0;
	for (size_t i = len; i > 1; i--) {
		open += text[i - 1] == ')';
		open -= text[i - 1] == '(';
		if (open == 0)
			return text[i - 2] == ' ' ? text + i - 2 : NULL;
	}
	return NULL;
}

/* "io.c:12", "in /usr/lib/libc.so.6" */
static bool take_place(const char *place, size_t len, struct valgrind_frame *ret)
{
	struct foreign_scan scan = foreign_scan_of(place, len);
	if (foreign_scan_text(&scan, "in ") && scan.at < scan.end && *scan.at == '/') {
		ret->module = (struct foreign_text){scan.at, (size_t)(scan.end - scan.at)};
		return true;
	}
	const char *colon = memrchr(place, ':', len);
	uint64_t number;
	if (!colon || colon == place)
		return false;
	scan = foreign_scan_of(colon + 1, (size_t)(place + len - colon - 1));
	if (!foreign_scan_u64(&scan, &number) || !foreign_scan_at_end(&scan))
		return false;
	/* The crate dhat of Rust has a column after the line. */
	const char *other = memrchr(place, ':', (size_t)(colon - place));
	struct foreign_scan line = foreign_scan_of(place, 0);
	uint64_t before;
	if (other)
		line = foreign_scan_of(other + 1, (size_t)(colon - other - 1));
	if (foreign_scan_u64(&line, &before) && foreign_scan_at_end(&line) && other > place) {
		number = before;
		colon = other;
	}
	ret->line.file = (struct foreign_text){place, (size_t)(colon - place)};
	ret->line.line = number < UINT32_MAX ? (uint32_t)number : 0;
	return true;
}

struct valgrind_frame valgrind_frame_of(const char *text, size_t len)
{
	struct valgrind_frame ret = {.address = 0};
	struct foreign_scan scan = foreign_scan_of(text, len);
	uint64_t address;
	if (foreign_scan_text(&scan, "0x") && foreign_scan_hex(&scan, &address) &&
		foreign_scan_text(&scan, ": ")) {
		ret.address = address;
		text = scan.at;
		len = (size_t)(scan.end - scan.at);
		const char *place = find_place(text, len);
		if (place && take_place(place + 2, (size_t)(text + len - 1 - place - 2), &ret))
			len = (size_t)(place - text);
	}
	ret.line.function = (struct foreign_text){text, len};
	return ret;
}

struct error *valgrind_frame_make(struct foreign *foreign, const struct valgrind_frame *functions,
	size_t count, struct foreign_frame *ret)
{
	struct module_id module = {0};
	struct error *error = NULL;
	static const struct module unknown;
	_cleanup_free_ struct foreign_line *lines = calloc(count, sizeof(*lines));
	if (!lines)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		lines[i] = functions[i].line;
	if (functions[0].module.len)
		error = foreign_module(foreign, functions[0].module, &unknown, &module);
	return error ? error
		     : foreign_frame(
			       foreign, module, functions[0].address, true, lines, count, ret);
}

enum alloc_kind valgrind_kind_of(struct foreign_text function)
{
	const char *end = function.len ? memchr(function.data, '(', function.len) : NULL;
	size_t len = end ? (size_t)(end - function.data) : function.len;
	for (int kind = 0; kind < KIND_MMAP; kind++) {
		const char *name = alloc_kind_name((enum alloc_kind)kind);
		if (strlen(name) == len && memcmp(name, function.data, len) == 0)
			return (enum alloc_kind)kind;
	}
	return KIND_UNKNOWN;
}

struct error *valgrind_command(struct model *model, const char *text, size_t len)
{
	struct foreign_scan scan = foreign_scan_of(text, len);
	struct error *error = NULL;
	while (!error && !foreign_scan_at_end(&scan)) {
		const char *word = scan.at;
		while (scan.at < scan.end && *scan.at != ' ')
			scan.at++;
		error = build_argument(model, word, (size_t)(scan.at - word));
	}
	return error;
}
