/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the libraries of Debian 12 keep by design, where a program has done nothing wrong and can do
 * nothing about it. Each entry is there because a program shows it.
 */
#include <string.h>

#include "analysis/suppress.h"
#include "analysis/suppress_impl.h"

#define FILE_NAME "built-in"

static const char built_in[] = "";

const char *suppress_built_in_text(void)
{
	return built_in;
}

struct error *suppressions_add_built_in(struct suppressions *set)
{
	size_t before = set->entries.len;
	struct error *error = suppressions_parse(set, FILE_NAME, built_in, strlen(built_in));
	for (size_t i = before; i < set->entries.len && !error; i++)
		set->entries.data[i].shown.built_in = true;
	return error;
}
