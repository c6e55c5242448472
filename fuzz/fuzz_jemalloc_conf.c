/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MALLOC_CONF and the other places of jemalloc's options: the input is two texts, with a NUL
 * between. Messages must be lines, and the options in their ranges.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/shims/jemalloc_conf.h"

#define BYTES_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
	if (!condition)
		abort();
}

static void check_message(void *context, const char *line)
{
	size_t bytes = strlen(line), *count = context;
	need(!strncmp(line, "<jemalloc>: ", 12) && bytes < 8192);
	need(line[bytes - 1] == '\n' || bytes > 4096);
	++*count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bytes = size < BYTES_MAX ? size : BYTES_MAX, silent = 0, said = 0;
	char *text = malloc(bytes + 2);
	static struct je_conf conf, again;
	if (!text)
		return 0;
	memcpy(text, data, bytes);
	text[bytes] = text[bytes + 1] = 0;
	struct je_conf_texts texts = {{NULL}};
	texts.text[JE_CONF_PROGRAM] = text;
	texts.text[JE_CONF_ENV] = text + strlen(text) + 1;
	if (strlen(text) == bytes)
		texts.text[JE_CONF_ENV] = NULL;
	je_conf_read(&texts, check_message, &said, &conf);
	need(conf.lg_prof_sample < 64);
	need(conf.lg_prof_interval >= -1 && conf.lg_prof_interval < 64);
	need(!conf.prof_leak || conf.prof);
	need(strlen(conf.prof_prefix) < JE_PREFIX_BYTES);
	need(!conf.had_error || said);
	je_conf_read(&texts, NULL, &silent, &again);
	need(!strcmp(conf.prof_prefix, again.prof_prefix) && conf.prof == again.prof);
	free(text);
	return 0;
}
