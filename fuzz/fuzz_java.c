/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of a JVM and of heapwise's agent in it: class histogram, native memory, answers, command
 * lines. What is read has names and keeps its sums.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/java_agent.h"
#include "process/java_attach.h"
#include "sources/java_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
	if (!condition)
		abort();
}

static char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	need(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void check_histogram(char *text)
{
	struct java_memory memory;
	java_memory_init(&memory);
	struct error *error = java_histogram_parse(text, &memory);
	need(!error || error->code == ERROR_INPUT);
	uint64_t bytes = 0;
	for (size_t i = 0; !error && i < memory.classes.len; i++) {
		const struct java_class *row = &memory.classes.data[i];
		need(row->name && *row->name && (!i || row[-1].bytes >= row->bytes));
		bytes += row->bytes;
	}
	need(error || bytes == memory.bytes);
	error_destroy(error);
	java_memory_deinit(&memory);
}

static void check_native(char *text)
{
	struct java_memory memory;
	java_memory_init(&memory);
	struct error *error = java_native_parse(text, &memory);
	need(!error || error->code == ERROR_INPUT);
	for (size_t i = 0; !error && i < memory.uses.len; i++)
		need(*memory.uses.data[i].name);
	error_destroy(error);
	java_memory_deinit(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct java_agent_state state;
	const char *rest;
	int status;
	check_histogram(text_of(data, size));
	check_native(text_of(data, size));
	char *text = text_of(data, size);
	error_destroy(java_agent_parse(text, &state));
	error_destroy(java_answer_split(text, &status, &rest));
	free(java_main_name(text, size));
	free(text);
	return 0;
}
