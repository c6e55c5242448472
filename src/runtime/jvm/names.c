/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See names.h. */
#include "runtime/jvm/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *primitive_name(char letter)
{
	static const char *const names[] = {['B'] = "byte",
		['C'] = "char",
		['D'] = "double",
		['F'] = "float",
		['I'] = "int",
		['J'] = "long",
		['S'] = "short",
		['Z'] = "boolean",
		['Z' + 1] = NULL};
	return letter > 0 && letter <= 'Z' ? names[(unsigned char)letter] : NULL;
}

void class_name(const char *signature, char *ret, size_t room)
{
	size_t dimensions = strspn(signature, "[");
	const char *inner = signature + dimensions;
	const char *primitive = *inner && !inner[1] ? primitive_name(*inner) : NULL;
	size_t len = strlen(inner);
	if (primitive) {
		inner = primitive;
		len = strlen(primitive);
	} else if (*inner == 'L' && len > 2 && inner[len - 1] == ';') {
		inner++;
		len -= 2;
	} else {
		inner = signature;
		len = strlen(signature);
		dimensions = 0;
	}
	size_t out = 0;
	for (size_t i = 0; i < len && out + 1 < room; i++) {
		ret[out] = inner[i];
		if (inner[i] == '/')
			ret[out] = '.';
		out++;
	}
	for (; dimensions && out + 2 < room; dimensions--) {
		ret[out++] = '[';
		ret[out++] = ']';
	}
	ret[out] = '\0';
}

const char *class_short_name(const char *name)
{
	const char *dot = strrchr(name, '.');
	/* A hidden class has its address after a dot: "app.Main$$Lambda.0x7f…". */
	while (dot && dot > name && dot[1] >= '0' && dot[1] <= '9') {
		do
			dot--;
		while (dot > name && *dot != '.');
	}
	return dot && *dot == '.' ? dot + 1 : name;
}

void jvm_free(jvm_tool tool, void *memory)
{
	if (memory)
		jvm_function(tool, JVM_DEALLOCATE, int (*)(jvm_tool, void *))(tool, memory);
}

/* A method's class: its name, and its file. */
static void names_class(jvm_tool tool, jvm_jni jni, jvm_method method, struct method_names *ret)
{
	jvm_object class = NULL;
	char *signature = NULL, *file = NULL;
	if (jvm_function(tool, JVM_GET_METHOD_CLASS, int (*)(jvm_tool, jvm_method, jvm_object *))(
		    tool, method, &class))
		return;
	if (!jvm_function(
		    tool, JVM_GET_CLASS_SIGNATURE, int (*)(jvm_tool, jvm_object, char **, char **))(
		    tool, class, &signature, NULL)) {
		class_name(signature, ret->name, sizeof(ret->name) - 2);
		ret->package_len = (size_t)(class_short_name(ret->name) - ret->name);
		strcat(ret->name, ".");
		ret->class_len = strlen(ret->name);
	}
	if (!jvm_function(tool, JVM_GET_SOURCE_FILE, int (*)(jvm_tool, jvm_object, char **))(
		    tool, class, &file))
		snprintf(ret->file, sizeof(ret->file), "%s", file);
	jvm_free(tool, signature);
	jvm_free(tool, file);
	jni_function(jni, JNI_INDEX_DELETE_LOCAL, void (*)(jvm_jni, jvm_object))(jni, class);
}

static int lines_compare(const void *left, const void *right)
{
	const struct sample_line *a = left, *b = right;
	return a->start < b->start ? -1 : a->start > b->start;
}

static void names_lines(jvm_tool tool, jvm_method method, struct method_names *ret)
{
	struct jvm_line *rows = NULL;
	int32_t count = 0;
	if (jvm_function(tool, JVM_GET_LINES,
		    int (*)(jvm_tool, jvm_method, int32_t *, struct jvm_line **))(
		    tool, method, &count, &rows))
		return;
	ret->lines = count > 0 ? calloc((size_t)count, sizeof(*ret->lines)) : NULL;
	for (int32_t i = 0; ret->lines && i < count; i++) {
		ret->lines[i].start = (uint32_t)rows[i].start;
		ret->lines[i].line = (uint32_t)rows[i].line;
	}
	ret->line_count = ret->lines ? (uint32_t)count : 0;
	if (ret->lines)
		qsort(ret->lines, ret->line_count, sizeof(*ret->lines), lines_compare);
	jvm_free(tool, rows);
}

void names_of_method(jvm_tool tool, jvm_jni jni, jvm_method method, struct method_names *ret)
{
	char *name = NULL, *signature = NULL;
	*ret = (struct method_names){.lines = NULL};
	if (jvm_function(tool, JVM_GET_METHOD_NAME,
		    int (*)(jvm_tool, jvm_method, char **, char **, char **))(
		    tool, method, &name, &signature, NULL)) {
		snprintf(ret->name, sizeof(ret->name), "(unknown method)");
		snprintf(ret->full_name, sizeof(ret->full_name), "(unknown method)");
		return;
	}
	names_class(tool, jni, method, ret);
	names_lines(tool, method, ret);
	snprintf(ret->name + ret->class_len, sizeof(ret->name) - ret->class_len, "%s", name);
	snprintf(ret->full_name, sizeof(ret->full_name), "%s%s", ret->name, signature);
	jvm_free(tool, name);
	jvm_free(tool, signature);
}
