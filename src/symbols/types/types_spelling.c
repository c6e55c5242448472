/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/types_spelling.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Of arguments in arguments. What is deeper is used as it is. */
#define DEPTH_MAX 32u

/* `unsigned long int` and the like, word by word. */
struct integer {
	bool has_sign, is_unsigned, is_char, is_short, any;
	unsigned longs;
};

/* One name, or one argument. */
struct part {
	struct integer integer;
	struct text body;
	bool is_const; /* before the first '*' */
};

struct spelling {
	const char *at;
	unsigned depth;
};

static bool types_spelling_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static size_t word_len(const char *at)
{
	size_t len = 0;
	while (types_spelling_is_word(at[len]))
		len++;
	return len;
}

static bool is_same(const char *word, size_t len, const char *other)
{
	return strlen(other) == len && !strncmp(word, other, len);
}

static bool is_among(const char *word, size_t len, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is_same(word, len, words[i]))
			return true;
	}
	return false;
}

static void add_word(struct text *body, const char *word, size_t len)
{
	if (body->len && types_spelling_is_word(body->data[body->len - 1]))
		text_add_char(body, ' ');
	text_add_n(body, word, len);
}

/* The integer whose words were met becomes part of the body. */
static void put_integer(struct part *part, bool is_double)
{
	struct integer *i = &part->integer;
	const char *name = is_double      ? "long double"
			   : i->is_char   ? (i->is_unsigned       ? "unsigned char"
						    : i->has_sign ? "signed char"
								  : "char")
			   : i->is_short  ? (i->is_unsigned ? "unsigned short" : "short")
			   : i->longs > 1 ? (i->is_unsigned ? "unsigned long long" : "long long")
			   : i->longs     ? (i->is_unsigned ? "unsigned long" : "long")
					  : (i->is_unsigned ? "unsigned" : "int");
	if (i->any)
		add_word(&part->body, name, strlen(name));
	*i = (struct integer){.any = false};
}

static bool take_integer(struct part *part, const char *word, size_t len)
{
	struct integer *i = &part->integer;
	if (is_same(word, len, "unsigned"))
		i->is_unsigned = true;
	else if (is_same(word, len, "signed"))
		i->has_sign = true;
	else if (is_same(word, len, "char"))
		i->is_char = true;
	else if (is_same(word, len, "short"))
		i->is_short = true;
	else if (is_same(word, len, "long"))
		i->longs++;
	else if (!is_same(word, len, "int"))
		return false;
	i->any = true;
	return true;
}

/* "5ul" is 5. */
static size_t number_len(const char *word, size_t len)
{
	while (isdigit((unsigned char)*word) && len > 1 && strchr("uUlL", word[len - 1]))
		len--;
	return len;
}

static void types_spelling_take_word(struct spelling *s, struct part *part)
{
	static const char *const tags[] = {"struct", "class", "union", "enum", "typename"};
	static const char *const inline_spaces[] = {"__cxx11", "__1", "__ndk1", "_V2"};
	const char *word = s->at;
	size_t len = word_len(word);
	s->at += len;
	if (is_among(word, len, tags, ARRAY_SIZE(tags)) && isspace((unsigned char)*s->at))
		return;
	if (is_among(word, len, inline_spaces, ARRAY_SIZE(inline_spaces)) &&
		!strncmp(s->at, "::", 2)) {
		s->at += 2;
		return;
	}
	if (is_same(word, len, "const") && !(part->body.data && strchr(part->body.data, '*'))) {
		part->is_const = true;
		return;
	}
	if (take_integer(part, word, len))
		return;
	bool is_double = is_same(word, len, "double") && part->integer.longs;
	put_integer(part, is_double);
	if (!is_double)
		add_word(&part->body, word, number_len(word, len));
}

static bool is_default(const char *argument)
{
	static const char *const defaults[] = {"std::allocator<", "std::less<", "std::hash<",
		"std::equal_to<", "std::char_traits<", "std::default_delete<"};
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		if (!strncmp(argument, defaults[i], strlen(defaults[i])))
			return true;
	}
	return false;
}

static void spell_part(struct spelling *s, struct text *ret);

/* Classes of streams and text are known by names of their own. */
static void take_alias(struct part *part)
{
	static const char lead[] = "std::basic_", end[] = "<char>";
	static const char *const known[] = {"string", "string_view", "ostream", "istream",
		"iostream", "ofstream", "ifstream", "fstream", "ostringstream", "istringstream",
		"stringstream", "stringbuf", "filebuf", "streambuf", "ios"};
	const char *name = part->body.data;
	size_t len = part->body.len, around = strlen(lead) + strlen(end);
	if (!name || len <= around || strncmp(name, lead, strlen(lead)) != 0 ||
		strcmp(name + len - strlen(end), end) != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!is_same(name + strlen(lead), len - around, known[i]))
			continue;
		text_clear(&part->body);
		text_printf(&part->body, "std::%s", known[i]);
		return;
	}
}

/* "<A,B>" or "(A,B)". */
static void take_arguments(struct spelling *s, struct part *part, char end)
{
	text_add_char(&part->body, *s->at++);
	s->depth++;
	for (unsigned i = 0; *s->at && *s->at != end; i++) {
		_cleanup_(text_deinit) struct text argument;
		text_init(&argument);
		const char *before = s->at;
		spell_part(s, &argument);
		if (argument.data && (!i || end != '>' || !is_default(argument.data))) {
			text_add(&part->body, i ? "," : "");
			text_add(&part->body, argument.data);
		}
		part->body.failed |= argument.failed;
		if (*s->at == ',' || s->at == before)
			s->at += *s->at != '\0';
	}
	s->depth--;
	if (*s->at)
		s->at++;
	text_add_char(&part->body, end);
	take_alias(part);
}

static void take_sign(struct spelling *s, struct part *part)
{
	put_integer(part, false);
	bool is_inside = s->depth < DEPTH_MAX;
	if (*s->at == '<' && is_inside)
		take_arguments(s, part, '>');
	else if (*s->at == '(' && is_inside)
		take_arguments(s, part, ')');
	else
		text_add_char(&part->body, *s->at++);
}

/* Up to what ends an argument. */
static void spell_part(struct spelling *s, struct text *ret)
{
	struct part part = {.is_const = false};
	text_init(&part.body);
	while (*s->at && !(s->depth && strchr(",>)", *s->at))) {
		if (isspace((unsigned char)*s->at))
			s->at++;
		else if (types_spelling_is_word(*s->at))
			types_spelling_take_word(s, &part);
		else
			take_sign(s, &part);
	}
	put_integer(&part, false);
	text_add(ret, part.is_const ? "const " : "");
	text_add(ret, part.body.data ? part.body.data : "");
	ret->failed |= part.body.failed;
	text_deinit(&part.body);
}

void types_spell(const char *name, struct text *ret)
{
	struct spelling s = {.at = name};
	spell_part(&s, ret);
}

enum types_match types_compare(const char *name, const char *spelling)
{
	_cleanup_(text_deinit) struct text own;
	text_init(&own);
	types_spell(name, &own);
	size_t len = strlen(spelling);
	if (!own.data || own.len < len || strcmp(own.data + own.len - len, spelling) != 0)
		return TYPES_OTHER;
	if (own.len == len)
		return TYPES_SAME;
	bool is_inside = own.len > len + 2 && !strncmp(own.data + own.len - len - 2, "::", 2);
	return is_inside && len ? TYPES_ENDS_SO : TYPES_OTHER;
}
