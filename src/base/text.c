/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/vec.h"

void text_init(struct text *text)
{
	*text = (struct text){0};
}

void text_deinit(struct text *text)
{
	free(text->data);
	*text = (struct text){0};
}

void text_clear(struct text *text)
{
	text->len = 0;
	text->failed = false;
	if (text->data)
		text->data[0] = '\0';
}

/* Room for `len` bytes and the NUL. */
static bool reserve_text(struct text *text, size_t len)
{
	if (text->failed)
		return false;
	size_t want;
	void *data = text->data;
	if (__builtin_add_overflow(text->len, len, &want) ||
		__builtin_add_overflow(want, 1, &want) ||
		(want > text->cap && !vec_grow(&data, &text->cap, want, 1))) {
		text->failed = true;
		return false;
	}
	text->data = data;
	return true;
}

char *text_steal(struct text *text)
{
	char *result = reserve_text(text, 0) ? text->data : NULL;
	if (result) {
		result[text->len] = '\0';
		text->data = NULL;
	}
	text_deinit(text);
	return result;
}

void text_add_n(struct text *text, const char *bytes, size_t len)
{
	if (!reserve_text(text, len))
		return;
	if (len)
		memcpy(text->data + text->len, bytes, len);
	text->len += len;
	text->data[text->len] = '\0';
}

void text_add(struct text *text, const char *string)
{
	text_add_n(text, string, strlen(string));
}

bool text_write(void *text, const char *bytes, size_t len)
{
	struct text *to = text;
	text_add_n(to, bytes, len);
	return !to->failed;
}

void text_add_char(struct text *text, char c)
{
	text_add_n(text, &c, 1);
}

static void add_formatted(struct text *text, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	/* Most fit what is there; the others say how much they need. */
	size_t room = reserve_text(text, 0) ? text->cap - text->len : 0;
	int len = room ? vsnprintf(text->data + text->len, room, format, args) : -1;
	if (len >= 0 && (size_t)len >= room && reserve_text(text, (size_t)len))
		vsnprintf(text->data + text->len, (size_t)len + 1, format, again);
	va_end(again);
	if (len < 0)
		text->failed = true;
	else if (!text->failed)
		text->len += (size_t)len;
}

/* The length of the UTF-8 character at `at`, of which `left` bytes may be read, if XML 1.0 may have
 * it; 0: it may not. */
static size_t character_len(const char *at, size_t left)
{
	const unsigned char *c = (const unsigned char *)at;
	if (c[0] < 0x80)
		return c[0] >= ' ' || c[0] == '\n' || c[0] == '\t' ? 1 : 0;
	size_t len = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
	uint32_t value = c[0] & (0x7fu >> len);
	if (len > left)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (c[i] & 0x3f);
	}
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	bool ok = c[0] >= 0xc0 && value >= least[len] && value < 0x110000 &&
		  (value < 0xd800 || value > 0xdfff) && value != 0xfffe && value != 0xffff;
	return ok ? len : 0;
}

/* The length of what a terminal may get of a string, of which this many bytes are left; 0: nothing
 * of that byte. Control characters are those from U+0080 on, too: ESC [ in one. */
static size_t shown_len(const char *at, size_t left)
{
	const unsigned char *c = (const unsigned char *)at;
	size_t len = character_len(at, left);
	bool control = c[0] < ' ' || c[0] == 0x7f || (len == 2 && c[0] == 0xc2 && c[1] < 0xa0);
	return control ? 0 : len;
}

/* What may not be shown is a question mark, byte by byte. */
static void add_shown(struct text *text, const char *string, size_t bytes)
{
	for (size_t i = 0, len; i < bytes; i += len ? len : 1) {
		len = shown_len(string + i, bytes - i);
		text_add_n(text, len ? string + i : "?", len ? len : 1);
	}
}

void text_add_shown(struct text *text, const char *string, size_t most)
{
	size_t len = strlen(string), shown = len < most ? len : most;
	while (shown < len && shown && ((unsigned char)string[shown] & 0xc0) == 0x80)
		shown--; /* inside a character of UTF-8 */
	add_shown(text, string, shown);
	text_add(text, shown < len ? "…" : "");
}

void text_printf(struct text *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add_formatted(text, format, args);
	va_end(args);
}

/* Where rounding to three digits would give a fourth, the next form is taken. */
static void add_three_digits(struct text *text, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	text_printf(text, "%.*f %s", decimals, value, unit);
}

void text_add_bytes(struct text *text, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	if (bytes < 1024) {
		text_printf(text, "%" PRIu64 " B", bytes);
		return;
	}
	double value = (double)bytes / 1024;
	size_t unit = 0;
	while (value >= 1023.5 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	add_three_digits(text, value, units[unit]);
}

void text_add_count(struct text *text, uint64_t count)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			text_add_char(text, ',');
		text_add_char(text, digits[i]);
	}
}

void text_add_counted(struct text *text, uint64_t count, const char *one, const char *many)
{
	text_add_count(text, count);
	text_printf(text, " %s", count == 1 ? one : many);
}

void text_add_duration_ns(struct text *text, uint64_t ns)
{
	uint64_t seconds = ns / 1000000000 + (ns % 1000000000 >= 500000000);
	if (ns < 1000)
		text_printf(text, "%" PRIu64 " ns", ns);
	else if (ns < 999500)
		text_printf(text, "%" PRIu64 " µs", (ns + 500) / 1000);
	else if (ns < 999500000)
		add_three_digits(text, (double)ns / 1e6, "ms");
	else if (ns < 59950000000)
		add_three_digits(text, (double)ns / 1e9, "s");
	else if (seconds < 3600)
		text_printf(text, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
	else
		text_printf(text, "%" PRIu64 " h %02" PRIu64 " min", seconds / 3600,
			seconds % 3600 / 60);
}

void text_add_csv(struct text *text, const char *field)
{
	bool is_formula = *field && strchr("=+-@\t\r", *field);
	bool is_quoted = is_formula || field[strcspn(field, ",\"\r\n\t")];
	if (is_quoted)
		text_add_char(text, '"');
	if (is_formula)
		text_add_char(text, '\'');
	while (*field) {
		size_t plain = strcspn(field, "\"\n\t");
		text_add_plain_n(text, field, plain);
		field += plain;
		if (*field == '"')
			text_add_char(text, '"');
		if (*field)
			text_add_char(text, *field++);
	}
	if (is_quoted)
		text_add_char(text, '"');
}

void text_add_xml(struct text *out, const char *text)
{
	while (*text) {
		size_t len = character_len(text, SIZE_MAX); /* NUL is no part of one */
		switch (*text) {
		case '<':
			text_add(out, "&lt;");
			break;
		case '>':
			text_add(out, "&gt;");
			break;
		case '&':
			text_add(out, "&amp;");
			break;
		case '"':
			text_add(out, "&quot;");
			break;
		default:
			text_add_n(out, len ? text : "?", len ? len : 1);
		}
		text += len ? len : 1;
	}
}

void text_add_plain_n(struct text *text, const char *bytes, size_t len)
{
	add_shown(text, bytes, len);
}

void text_add_plain(struct text *out, const char *text)
{
	add_shown(out, text, strlen(text));
}
