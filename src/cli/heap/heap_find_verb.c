/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_find_verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/terminal/message.h"
#include "views/heap_find_view.h"

/* A whole number of at most 64 bits, which may be below 0. *ret_fits false: it has more. */
static bool take_value(const char *word, uint64_t *ret, bool *ret_fits)
{
	char *end;
	errno = 0;
	*ret = strtoull(word, &end, 0);
	*ret_fits = !errno;
	return end != word && !*end && *word != ' ';
}

/* False, after saying so. */
static bool heap_find_verb_take_number(struct heap_look *look, const char *word, bool fits,
	uint64_t *value, struct heap_find *find)
{
	unsigned width = look->selection.width ? look->selection.width : 8;
	uint64_t beyond = width == 8 ? 0 : *value >> (8 * width);
	uint64_t ones = width == 8 ? 0 : UINT64_MAX >> (8 * width);
	bool is_negative = *word == '-' && beyond == ones;
	if (!fits || (beyond && !is_negative)) {
		message("%s does not fit into %u bytes", word, width);
		return false;
	}
	if (!*value) {
		message("find: 0 occurs almost everywhere; search for another value");
		return false;
	}
	find->bytes = value; /* of machines that begin with the lowest byte, as all that are read */
	find->len = width;
	find->step = heap_selection_has(&look->selection, HEAP_SELECTION_ANYWHERE) ? 1 : width;
	return true;
}

int heap_verb_find_bytes(struct heap_look *look, int count, char **words)
{
	_cleanup_(text_deinit) struct text text;
	uint64_t value;
	bool fits;
	text_init(&text);
	for (int i = 1; i < count; i++) {
		text_add(&text, i > 1 ? " " : "");
		text_add(&text, words[i]);
	}
	if (text.failed)
		return message_error(error_no_memory());
	const struct heap_selection *selection = &look->selection;
	struct heap_find find = {.in_used = selection->in != HEAP_IN_FREE,
		.in_free = selection->in != HEAP_IN_USED,
		.in_rest = selection->in == HEAP_IN_ALL};
	bool is_text = heap_selection_has(selection, HEAP_SELECTION_TEXT) || count > 2 ||
		       !text.len || !take_value(text.data, &value, &fits);
	if (!text.len) {
		message("find: missing value or text");
		return ERROR_USAGE;
	}
	if (is_text && selection->width) {
		message("--width is for numbers; '%s' is text", text.data);
		return ERROR_USAGE;
	}
	find.bytes = text.data;
	find.len = text.len;
	find.step = 1;
	if (!is_text && !heap_find_verb_take_number(look, text.data, fits, &value, &find))
		return ERROR_USAGE;
	struct error *error = heap_session_find_leaks(&look->heap);
	if (error)
		return message_error(error);
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(&output, heap_find_write(&page, &find, is_text, &sink));
}
