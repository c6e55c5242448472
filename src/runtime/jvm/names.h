/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the agent meets a class or method. May touch: memory of its own; names_of_method() the
 * JVM, so it is called without the agent's lock.
 *
 * Names as Java people write them: "Ljava/util/Map$Entry;" is java.util.Map$Entry, "[[I" is
 * int[][].
 */
#ifndef RUNTIME_JVM_NAMES_H
#define RUNTIME_JVM_NAMES_H

#include <stddef.h>

#include "runtime/jvm/jvm_api.h"
#include "runtime/jvm/sample_tables.h"

#define JAVA_NAME_MAX 1024u /* longer names are cut */

/* The class of a signature. Text that is no signature stays as it is. */
void class_name(const char *signature, char *ret, size_t room);
/* A class's name without its package: "java.util.Map$Entry[]" → "Map$Entry[]". Returns a part of
 * it. */
const char *class_short_name(const char *name);

struct method_names {
	char name[JAVA_NAME_MAX];
	char full_name[2 * JAVA_NAME_MAX];
	size_t class_len; /* of the class and the dot in `name` */
	size_t package_len;
	char file[256];
	struct sample_line *lines; /* the caller's */
	uint32_t line_count;
};

/* Asks the JVM. What it doesn't tell (of a class that is unloaded) is "(unknown method)". */
void names_of_method(jvm_tool tool, jvm_jni jni, jvm_method method, struct method_names *ret);
/* Gives back memory of the JVM; NULL is allowed. */
void jvm_free(jvm_tool tool, void *memory);

#endif
