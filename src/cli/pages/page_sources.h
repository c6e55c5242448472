/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines in a page, for who asks for them (--source): the lines that stacks go through, with
 * some around them. Everybody who gets the page can read them, so which files these may be is
 * narrow: see page_sources.c.
 */
#ifndef CLI_PAGE_SOURCES_H
#define CLI_PAGE_SOURCES_H

#include "analysis/listing.h"
#include "base/vec.h"
#include "page/page.h"
#include "query/stacks.h"

DEFINE_VEC(source_folders, char *)

/* All 0 before; page_sources_deinit() in any case. */
struct page_sources {
	bool wanted;
	struct source_folders folders; /* where they are besides their own place; borrowed texts */
	/* Set by page_sources_build(). */
	const struct model *model;
	const char *bundle; /* folder of the bundle that the recording came in; NULL: in none */
	struct spots *spots;
	struct listing listing; /* of files, the largest first */
};

void page_sources_deinit(struct page_sources *sources);

/* Chooses the files; the stacks must outlive them. */
struct error *page_sources_build(
	const struct stacks *stacks, const char *bundle, struct page_sources *ret) must_check_;

/* Writes the document `sources` (docs/schema/page-1.md); `write` of a struct page_document, its
 * `ctx` is a struct page_sources. */
struct error *page_sources_write(
	void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out) must_check_;

#endif
