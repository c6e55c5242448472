/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/stacks/method_name.h"

#include <string.h>

#include "base/cleanup.h"

/* A class as people write it: "com.example.Parser" of "Lcom/example/Parser;". */
static void add_class(struct text *text, const char *name, size_t len)
{
	if (len > 2 && name[0] == 'L' && name[len - 1] == ';') {
		name++;
		len -= 2;
	}
	for (size_t i = 0; i < len; i++)
		text_add_char(text, (char)(name[i] == '/' ? '.' : name[i]));
}

/* Adds the type that a descriptor of the JVM begins with; 0: it is none. Else its length. */
static size_t add_type(struct text *text, const char *type)
{
	static const char letters[] = "ZBCSIJFDV";
	static const char *const names[] = {
		"boolean", "byte", "char", "short", "int", "long", "float", "double", "void"};
	size_t arrays = strspn(type, "["), len = 1;
	const char *element = type + arrays, *end = strchr(element, ';');
	const char *letter = *element ? strchr(letters, *element) : NULL;
	if (letter) {
		text_add(text, names[letter - letters]);
	} else if (*element == 'L' && end) {
		len = (size_t)(end - element) + 1;
		add_class(text, element, len);
	} else {
		return 0;
	}
	for (size_t i = 0; i < arrays; i++)
		text_add(text, "[]");
	return arrays + len;
}

/* "(java.lang.String, int)"; false: it is no descriptor. */
static bool add_types(struct text *text, const char *signature)
{
	if (*signature != '(')
		return false;
	text_add_char(text, '(');
	for (const char *at = signature + 1; *at != ')';) {
		if (at > signature + 1)
			text_add(text, ", ");
		size_t len = add_type(text, at);
		if (!len)
			return false;
		at += len;
	}
	text_add_char(text, ')');
	return true;
}

void method_name_add(struct text *text, const struct code *code)
{
	if (code->outer) {
		add_class(text, code->outer, strlen(code->outer));
		text_add_char(text, '.');
	}
	text_add(text, code->name);
}

void method_name_add_parameters(struct text *text, const char *signature)
{
	_cleanup_(text_deinit) struct text types;
	text_init(&types);
	if (add_types(&types, signature) && !types.failed)
		text_add(text, types.data);
	else
		text_add(text, signature);
	text->failed |= types.failed;
}

void method_name_add_raw(struct text *text, const struct code *code)
{
	if (code->outer)
		text_printf(text, "%s.", code->outer);
	text_add(text, code->name);
	if (code->signature)
		text_add(text, code->signature);
}
