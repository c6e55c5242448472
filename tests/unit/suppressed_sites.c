/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suppressed_sites RECORDING [SUPPRESSIONS]: each site with blocks that were never freed, by the
 * suppression that holds for it were they reachable: those of the file, or the built-in ones. A
 * line `NAME BLOCKS BYTES` each, and for NAME `-` what would be written for its stack.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/leaks/suppress_stack.h"
#include "base/cleanup.h"
#include "sources/source.h"

static void must(struct error *error)
{
	if (!error)
		return;
	printf("%s\n", error->message);
	exit(1);
}

static void add_file(struct suppressions *set, const char *path)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	_cleanup_fclose_ FILE *file = fopen(path, "r");
	if (!file) {
		perror(path);
		exit(1);
	}
	for (int byte; (byte = getc(file)) != EOF;)
		text_add_char(&text, (char)byte);
	must(suppressions_parse(set, path, text.data, text.len));
}

static void show(
	struct suppressions *set, const struct suppress_frame_vec *frames, const struct site *site)
{
	uint32_t id;
	must(suppressions_match(set, frames->data, frames->len, SUPPRESS_REACHABLE, &id));
	const char *name = id == SUPPRESS_NONE ? "-" : suppressions_get(set, id)->name;
	printf("%s %" PRIu64 " %" PRIu64 "\n", name, site->live_blocks, site->live_bytes);
	if (id != SUPPRESS_NONE)
		return;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	suppress_write(&text, SUPPRESS_REACHABLE, frames->data, frames->len);
	printf("%s", text.data);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	struct suppressions *set;
	struct model *model;
	struct resolver *resolver;
	must(suppressions_create(&set));
	if (argc > 2)
		add_file(set, argv[2]);
	else
		must(suppressions_add_built_in(set));
	must(source_open(argv[1], &model));
	must(resolver_create(model, true, &resolver));
	resolver_add_aliases(resolver);
	struct suppress_frame_vec frames;
	suppress_frame_vec_init(&frames);
	size_t count;
	const struct site *sites = model_sites(model, &count);
	for (size_t i = 0; i < count; i++) {
		if (sites[i].live_blocks == 0)
			continue;
		must(suppress_stack(resolver, sites[i].stack, sites[i].kind, &frames));
		show(set, &frames, &sites[i]);
	}
	suppress_frame_vec_deinit(&frames);
	resolver_destroy(resolver);
	model_destroy(model);
	suppressions_destroy(set);
	return 0;
}
