/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page (docs/schema/page-1.md) as a file: what `html`, `diff --html` and `run --html` write.
 *
 *	struct page_file file = PAGE_FILE_DEFAULT;
 *	…option_words_note(&file.asked, …)…
 *	if (view_request_files(command, &file.shown, "a page", words, count, &file.path))
 *		code = page_file_write(&file);
 *	page_file_deinit(&file);
 */
#ifndef CLI_PAGE_FILE_H
#define CLI_PAGE_FILE_H

#include "cli/commands/report_tree.h"
#include "cli/pages/page_parts.h"
#include "cli/pages/page_sources.h"
#include "cli/terminal/page_output.h"

/* Which page is wanted, and where. Texts are borrowed. */
struct page_file {
	struct view_request shown; /* query.base: what it is compared with */
	struct page_change change; /* and how */
	struct option_words asked; /* options that choose what the page is of; owned */
	const char *path;          /* also of a folder; NULL: the newest recording here */
	const char *output;        /* NULL: named after the recording, in the current folder */
	const char *title;         /* of the page; NULL: the file's name */
	bool force;                /* replaces any file of that name */
	bool quiet;                /* says nothing when it is done */
	const char *way_out;       /* what to do if there is another file of that name */
	uint64_t most_bytes;       /* of what is written; 0: as page_write() chooses */
	enum page_lifetimes lifetimes;
	bool no_timeline; /* without what happened over time */
	bool container;   /* the data alone, to stdout unless `output` names a file */
	struct page_sources sources;
	struct process_rows processes; /* of a folder of recordings; else none */
};
#define PAGE_FILE_DEFAULT                                                                          \
	{                                                                                          \
		.shown = VIEW_REQUEST_DEFAULT,                                                     \
		.change = {.metric = METRIC_LIVE_BYTES, .metric_unasked = true},                   \
		.way_out = "use -f to replace it, or -o FILE for another name"                     \
	}

void page_file_deinit(struct page_file *file);

/* Returns whether the page may be written to `output`: that is stdout, a page, empty, no regular
 * file, or not there; or the page replaces anything. False, after saying so: it may not. */
bool page_file_may_write(const struct page_file *file, const char *output);

/* Opens what the page is of, and writes it; says to which file unless that was asked for. Returns
 * 0, or the exit code after saying why; also of recordings of a folder that could not be read. */
int page_file_write(struct page_file *file);

#endif
