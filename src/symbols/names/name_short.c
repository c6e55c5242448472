/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See name_short.h. Three passes: uninformative parts are left out (ABI tags, parameters of
 * enclosing functions and lambdas, hashes), arguments are spelled, and what is too long is cut.
 */
#include "symbols/name_short.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "symbols/types_spelling.h"

#define HASH_LETTERS 16u

/* Longer names are cut, not read. */
#define READ_MAX 8192u

static bool name_short_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool name_short_starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* "…::h0123456789abcdef": where the hash begins with its colons; the end without one. */
static size_t without_hash(const char *name, size_t len)
{
	size_t tail = HASH_LETTERS + 3;
	if (len <= tail || !name_short_starts(name + len - tail, "::h"))
		return len;
	for (size_t i = len - HASH_LETTERS; i < len; i++)
		if (!isdigit((unsigned char)name[i]) && !(name[i] >= 'a' && name[i] <= 'f'))
			return len;
	return len - tail;
}

bool name_is_rust(const char *name, const char *linkage_name)
{
	size_t len = strlen(name);
	if (linkage_name && name_short_starts(linkage_name, "_R"))
		return true;
	if (linkage_name && name_short_starts(linkage_name, "_ZN")) {
		size_t all = strcspn(linkage_name, ".@");
		/* "…17h0123456789abcdefE" */
		return all > HASH_LETTERS + 4 &&
		       name_short_starts(linkage_name + all - HASH_LETTERS - 4, "17h") &&
		       linkage_name[all - 1] == 'E';
	}
	return without_hash(name, len) < len || strstr(name, "{{") || strstr(name, "$LT$") ||
	       strstr(name, "::{closure#") || (name[0] == '<' && strstr(name, ">::"));
}

/* The bracket that closes the one at the beginning; NULL: none does. */
static const char *name_short_closing(const char *open)
{
	size_t depth = 0;
	for (const char *at = open; *at; at++) {
		if (strchr("<({[", *at))
			depth++;
		else if (strchr(")}]", *at) || (*at == '>' && at > open && at[-1] != '-'))
			depth--;
		if (!depth)
			return at;
	}
	return NULL;
}

/* The length of the sign of an operator: "<<=" of operator<<=; 0: it has none. */
static size_t sign_len(const char *at)
{
	static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>",
		"<=", ">=", "->", "==", "!=", "&&", "||", "++", "--",
		"+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<", ">", "+", "-", "*", "/", "%",
		"^", "&", "|", "~", "!", "=", ","};
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (name_short_starts(at, signs[i]))
			return strlen(signs[i]);
	return 0;
}

/* The length of "operator<<" or "operator " at the beginning of a word; 0: it is none. */
static size_t operator_len(const char *name, const char *at)
{
	static const char word[] = "operator";
	if (!name_short_starts(at, word) || (at > name && name_short_is_word(at[-1])))
		return 0;
	size_t sign = at[strlen(word)] == ' ' ? 1 : sign_len(at + strlen(word));
	return sign ? strlen(word) + sign : 0;
}

/* Where a list of parameters at '(' ends that says which function a scope is; NULL: it is none. */
static const char *scope_end(const char *name, const char *at)
{
	if (at == name || !(name_short_is_word(at[-1]) || at[-1] == '>' || at[-1] == ')'))
		return NULL;
	const char *end = name_short_closing(at);
	if (!end)
		return NULL;
	end++;
	while (*end == '&' || name_short_starts(end, " const") ||
		name_short_starts(end, " volatile"))
		end += *end == '&' ? 1 : end[1] == 'c' ? 6 : 9;
	return name_short_starts(end, "::") ? end : NULL;
}

/* "{lambda(int)#1}" and "<lambda(int)>": where it ends; adds "{lambda#1}". */
static const char *take_lambda(const char *at, struct text *ret)
{
	static const char word[] = "lambda(";
	if ((*at != '{' && *at != '<') || !name_short_starts(at + 1, word))
		return NULL;
	const char *end = name_short_closing(at), *after = name_short_closing(at + strlen(word));
	if (!end || !after || after > end)
		return NULL;
	text_add(ret, "{lambda");
	if (*at == '{')
		text_add_n(ret, after + 1, (size_t)(end - after - 1));
	text_add_char(ret, '}');
	/* What runs is its operator(). */
	bool is_call =
		strcmp(end + 1, "::operator()") == 0 || strcmp(end + 1, "::operator() const") == 0;
	return is_call ? end + strlen(end) : end + 1;
}

/* Without what says no more than the rest. Operators are left to the next pass. */
static void leave_out(const char *name, struct text *ret)
{
	for (const char *at = name; *at;) {
		size_t operator_at = operator_len(name, at);
		if (operator_at) {
			text_add_n(ret, at, operator_at);
			at += operator_at;
			continue;
		}
		const char *next = take_lambda(at, ret);
		if (!next && name_short_starts(at, "[abi:"))
			next = name_short_closing(at) ? name_short_closing(at) + 1 : NULL;
		if (!next && *at == '(')
			next = scope_end(name, at);
		if (!next)
			text_add_char(ret, *at++);
		else
			at = next;
	}
}

/* Spells what lies between operators, whose signs are no brackets. */
static void name_short_spell(const char *name, struct text *ret)
{
	_cleanup_(text_deinit) struct text part;
	text_init(&part);
	size_t depth = 0;
	for (const char *at = name; *at; at++) {
		size_t operator_at = depth ? 0 : operator_len(name, at);
		if (operator_at) {
			if (part.len)
				types_spell(part.data, ret);
			text_clear(&part);
			text_add_n(ret, at, operator_at);
			at += operator_at - 1;
			continue;
		}
		depth += *at == '<' || *at == '(';
		depth -= depth && (*at == '>' || *at == ')');
		text_add_char(&part, *at);
	}
	if (part.len)
		types_spell(part.data, ret);
	ret->failed |= part.failed;
}

/* What stands for a letter that assemblers do not take: "$LT$" for '<'; 0: nothing. */
static size_t take_escape(const char *at, struct text *ret)
{
	static const struct {
		const char *code;
		char letter;
	} codes[] = {{"$LT$", '<'}, {"$GT$", '>'}, {"$RF$", '&'}, {"$BP$", '*'}, {"$C$", ','},
		{"$LP$", '('}, {"$RP$", ')'}, {"$SP$", '@'}, {"$u20$", ' '}, {"$u27$", '\''},
		{"$u5b$", '['}, {"$u5d$", ']'}, {"$u7b$", '{'}, {"$u7d$", '}'}, {"$u3b$", ';'},
		{"$u7e$", '~'}, {"$u2b$", '+'}, {"$u22$", '"'}};
	for (size_t i = 0; *at == '$' && i < ARRAY_SIZE(codes); i++) {
		if (!name_short_starts(at, codes[i].code))
			continue;
		text_add_char(ret, codes[i].letter);
		return strlen(codes[i].code);
	}
	return 0;
}

static void spell_rust(const char *name, struct text *ret)
{
	size_t len = without_hash(name, strlen(name));
	bool escaped = strstr(name, "$LT$") || strstr(name, "$u7b$") || strstr(name, "$RF$");
	for (size_t i = escaped && name_short_starts(name, "_$"); i < len;) {
		size_t escape = escaped ? take_escape(name + i, ret) : 0;
		if (!escape && escaped && name_short_starts(name + i, "..")) {
			text_add(ret, "::");
			i += 2;
		} else if (!escape) {
			text_add_char(ret, name[i++]);
		}
		i += escape;
	}
}

static size_t name_short_letters(const char *text, size_t len)
{
	size_t count = 0;
	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

/* The arguments at `at` are none, or were cut. */
static bool is_cut(const char *at)
{
	return name_short_starts(at, "<…>") || name_short_starts(at, "<>");
}

/* Whether a bracket opens or closes arguments, which signs of operators do not. */
static int name_short_bracket(const char *name, const char *at)
{
	if (*at == '<')
		return 1;
	return *at == '>' && at > name && at[-1] != '-' ? -1 : 0;
}

static size_t name_short_deepest(const char *name)
{
	size_t depth = 0, most = 0;
	for (const char *at = name; *at; at++) {
		size_t skip = operator_len(name, at);
		if (skip) {
			at += skip - 1;
			continue;
		}
		int step = name_short_bracket(name, at);
		if (step > 0 && depth + 1 > most && !is_cut(at))
			most = depth + 1;
		depth += step > 0;
		depth -= step < 0 && depth;
	}
	return most;
}

/* Adds the name without arguments in `level` others. */
static void cut_arguments(const char *name, size_t level, struct text *ret)
{
	size_t depth = 0;
	for (const char *at = name; *at; at++) {
		size_t skip = operator_len(name, at);
		if (skip) {
			text_add_n(ret, at, depth < level ? skip : 0);
			at += skip - 1;
			continue;
		}
		int step = name_short_bracket(name, at);
		if (step < 0 && depth && depth-- == level)
			text_add(ret, is_cut(at - 1) ? ">" : "…>");
		else if (depth < level)
			text_add_char(ret, *at);
		depth += step > 0;
	}
}

/* The innermost scopes that there is room for, else its beginning. */
static void cut_scopes(const char *name, struct text *ret)
{
	size_t depth = 0, len = strlen(name);
	for (const char *at = name; *at; at++) {
		if (!depth && name_short_starts(at, "::") &&
			name_short_letters(at, len - (size_t)(at - name)) < NAME_SHORT_MAX) {
			text_add(ret, "…");
			text_add(ret, at);
			return;
		}
		int step = name_short_bracket(name, at);
		depth += step > 0;
		depth -= step < 0 && depth;
	}
	size_t end = 0;
	for (size_t count = 0; end < len; end++) {
		count += ((unsigned char)name[end] & 0xc0) != 0x80;
		if (count == NAME_SHORT_MAX)
			break;
	}
	text_add_n(ret, name, end);
	text_add(ret, "…");
}

static void name_short_cut(struct text *name)
{
	size_t level;
	while (name->data && name_short_letters(name->data, name->len) > NAME_SHORT_MAX &&
		(level = name_short_deepest(name->data)) > 0) {
		struct text less;
		text_init(&less);
		cut_arguments(name->data, level, &less);
		less.failed |= name->failed;
		bool is_less = less.len < name->len; /* not of what is never closed */
		text_deinit(name);
		*name = less;
		if (!is_less)
			break;
	}
}

/* Whether something can be left out of it: a name of C++ or Rust, with scopes or arguments. */
static bool has_parts(const char *name)
{
	const char *open = strchr(name, '<');
	return strstr(name, "::") || strstr(name, "$LT$") ||
	       (open && open > name && name_short_is_word(open[-1])) || strstr(name, "[abi:");
}

/* What follows a name: the module of a variable, " [MODULE]", or a remark in words,
 * " (copy-on-write)"; NULL: nothing. */
static const char *name_short_remark(const char *name)
{
	size_t len = strlen(name);
	bool is_round = len && name[len - 1] == ')';
	const char *open = !len                   ? NULL
			   : is_round             ? strrchr(name, '(')
			   : name[len - 1] == ']' ? strrchr(name, '[')
						  : NULL;
	if (!open || open <= name + 1 || open[-1] != ' ' || (is_round && strpbrk(open, "<>:*&,.")))
		return NULL;
	return open - 1;
}

void name_add_short(struct text *text, const char *name)
{
	const char *remark = name_short_remark(name);
	if (remark) {
		_cleanup_free_ char *alone = strndup(name, (size_t)(remark - name));
		if (alone)
			name_add_short(text, alone);
		text->failed |= !alone;
		text_add(text, remark);
		return;
	}
	_cleanup_(text_deinit) struct text left, spelled;
	text_init(&left);
	text_init(&spelled);
	if (!has_parts(name) || strlen(name) > READ_MAX) {
		text_add(&spelled, name);
	} else if (name_is_rust(name, NULL)) {
		spell_rust(name, &spelled);
	} else {
		leave_out(name, &left);
		name_short_spell(left.data ? left.data : "", &spelled);
	}
	if (has_parts(name) && strlen(name) <= READ_MAX)
		name_short_cut(&spelled);
	text->failed |= left.failed || spelled.failed;
	if (spelled.data && name_short_letters(spelled.data, spelled.len) > NAME_SHORT_MAX)
		cut_scopes(spelled.data, text);
	else
		text_add(text, spelled.data ? spelled.data : "");
}
