/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/cxx.h"
#include "symbols/name.h"

struct replacement {
	const char *from, *to;
};

/* Namespaces first: what comes after is written without them. */
static const struct replacement replacements[] = {
	{"std::__cxx11::", "std::"},
	{"std::__1::", "std::"},
	{"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
	{"std::string >", "std::string>"},
};

/* What shared_ptr keeps its counts in: before the object, or beside it, then with a pointer to it,
 * and with what deletes it. Each is laid out in another way, and so has another name. */
static const struct control_block {
	const char *name;
	bool has_pointer, has_deleter;
} control_blocks[] = {
	{"std::_Sp_counted_ptr_inplace<", false, false},
	{"std::_Sp_counted_ptr<", true, false},
	{"std::_Sp_counted_deleter<", true, true},
	{"std::__shared_ptr_emplace<", false, false},
	{"std::__shared_ptr_pointer<", true, true},
};

static void cxx_names_replace(struct text *text, const struct replacement *with)
{
	_cleanup_free_ char *old = text_steal(text);
	size_t len = strlen(with->from);
	const char *at = old;
	for (const char *found; at && (found = strstr(at, with->from)); at = found + len) {
		text_add_n(text, at, (size_t)(found - at));
		text_add(text, with->to);
	}
	if (at)
		text_add(text, at);
}

/* The length of a template's argument: up to the comma or bracket after it. */
static size_t argument_len(const char *at)
{
	size_t i = 0;
	int depth = 0;
	for (; at[i] && (depth || !strchr(",>)]}", at[i])); i++)
		depth += strchr("<([{", at[i]) ? 1 : strchr(">)]}", at[i]) ? -1 : 0;
	return i;
}

/* Allocators that are arguments after others. */
static void drop_allocators(struct text *text)
{
	static const char word[] = ", std::allocator<";
	_cleanup_free_ char *old = text_steal(text);
	const char *at = old;
	for (const char *found; at && (found = strstr(at, word));) {
		text_add_n(text, at, (size_t)(found - at));
		at = found + 2;
		at += argument_len(at);
	}
	if (at)
		text_add(text, at);
}

/* libc++'s default deleter. */
static bool is_default_deleter(const char *name)
{
	return strstr(name, "__shared_ptr_default_delete<") != NULL;
}

/* "Square*", and the deleter after it. */
static void name_pointed_at(
	struct text *text, const char *arguments, size_t len, const struct control_block *of)
{
	size_t end = len;
	while (end && (arguments[end - 1] == '*' || arguments[end - 1] == ' '))
		end--;
	text_add_n(text, arguments, end);
	if (!of->has_pointer)
		return;
	text_add_char(text, '*');
	if (!of->has_deleter || arguments[len] != ',')
		return;
	const char *deleter = arguments + len + 1 + strspn(arguments + len + 1, " ");
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_add_n(&name, deleter, argument_len(deleter));
	if (!name.data || is_default_deleter(name.data))
		return;
	text_add(text, ", deleted by ");
	text_add(text, name.data);
}

static void name_control_block(struct text *text)
{
	for (size_t i = 0; text->data && i < ARRAY_SIZE(control_blocks); i++) {
		size_t len = strlen(control_blocks[i].name);
		if (strncmp(text->data, control_blocks[i].name, len) != 0)
			continue;
		_cleanup_free_ char *old = text_steal(text);
		if (!old)
			return;
		text_add(text, "shared_ptr control block of ");
		name_pointed_at(text, old + len, argument_len(old + len), &control_blocks[i]);
		return;
	}
}

static void cxx_names_add_plain(struct text *text, const char *name, bool is_whole)
{
	_cleanup_(text_deinit) struct text plain;
	text_init(&plain);
	text_add(&plain, name);
	for (size_t i = 0; i < ARRAY_SIZE(replacements); i++)
		cxx_names_replace(&plain, &replacements[i]);
	if (is_whole)
		name_control_block(&plain);
	drop_allocators(&plain);
	text_add(text, plain.data ? plain.data : name);
}

void cxx_add_plain_name(struct text *text, const char *name)
{
	cxx_names_add_plain(text, name, true);
}

void cxx_add_symbol(struct text *text, const char *name)
{
	cxx_names_add_plain(text, name, false);
}

void cxx_add_declaration(struct text *text, struct types *types, uint32_t type, const char *name)
{
	_cleanup_(text_deinit) struct text declared;
	text_init(&declared);
	types_declare(types, type, name, &declared);
	text->failed |= declared.failed;
	cxx_add_symbol(text, declared.data ? declared.data : "");
}

void cxx_add_class_name(struct text *text, const char *name)
{
	static const char prefix[] = "typeinfo name for ";
	_cleanup_(text_deinit) struct text mangled, whole;
	text_init(&mangled);
	text_init(&whole);
	text_add(&mangled, "_ZTS");
	text_add(&mangled, name);
	if (mangled.data)
		name_add_whole(&whole, mangled.data);
	bool known = whole.data && !strncmp(whole.data, prefix, sizeof(prefix) - 1);
	cxx_add_plain_name(text, known ? whole.data + sizeof(prefix) - 1 : name);
}
