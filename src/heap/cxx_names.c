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
};

/* What shared_ptr keeps its counts in: in front of the object, or beside it. */
static const char *const control_blocks[] = {
	"std::_Sp_counted_ptr_inplace<",
	"std::_Sp_counted_ptr<",
	"std::_Sp_counted_deleter<",
	"std::__shared_ptr_emplace<",
	"std::__shared_ptr_pointer<",
};

static void replace(struct text *text, const struct replacement *with)
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

/* The length of a template's argument: up to the comma or bracket behind it. */
static size_t argument_len(const char *at)
{
	size_t i = 0;
	int depth = 0;
	for (; at[i] && (depth || !strchr(",>)]}", at[i])); i++)
		depth += strchr("<([{", at[i]) ? 1 : strchr(">)]}", at[i]) ? -1 : 0;
	return i;
}

/* Allocators that are arguments behind others. */
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

static void name_control_block(struct text *text)
{
	for (size_t i = 0; text->data && i < ARRAY_SIZE(control_blocks); i++) {
		size_t len = strlen(control_blocks[i]);
		if (strncmp(text->data, control_blocks[i], len) != 0)
			continue;
		_cleanup_free_ char *old = text_steal(text);
		if (!old)
			return;
		size_t end = len + argument_len(old + len);
		while (end > len && (old[end - 1] == '*' || old[end - 1] == ' '))
			end--;
		text_add(text, "shared_ptr control block of ");
		text_add_n(text, old + len, end - len);
		return;
	}
}

void cxx_add_plain_name(struct text *text, const char *name)
{
	_cleanup_(text_deinit) struct text plain;
	text_init(&plain);
	text_add(&plain, name);
	for (size_t i = 0; i < ARRAY_SIZE(replacements); i++)
		replace(&plain, &replacements[i]);
	name_control_block(&plain);
	drop_allocators(&plain);
	text_add(text, plain.data ? plain.data : name);
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
