/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One HTML file that shows a heap by itself: a shell (web/dist/page.html) and in it the data,
 * documents that commands write as JSON and columns of all stacks (docs/schema/page-1.md). The data
 * is compressed and in base64, so that no name of a program can become a part of the page.
 *
 *	const struct page_document documents[] = {{"report", write_report, &report}, …};
 *	struct page_wanted wanted = {.title = "app.hpw", .documents = documents, …};
 *	error = page_write(&wanted, &sink);
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/profile.h"
#include "base/error.h"
#include "base/sink.h"

#define PAGE_SCHEMA "heapwise.page/1"
/* The most bytes of HTML, if nobody asks for fewer: browsers and mail open that without trouble. */
#define PAGE_BYTES_MAX ((uint64_t)16 << 20)
/* The most bytes of a container that is written alone, likewise. It is not compressed, and programs
 * and `serve` read it, so it has room for the stacks that a page of PAGE_BYTES_MAX has. */
#define PAGE_CONTAINER_BYTES_MAX ((uint64_t)128 << 20)
/* Rows of a table in a document, unless that needs too much of the page. */
#define PAGE_DOCUMENT_ROWS 1000u
/* Of these in `report`, and in `functions`, `files` and `modules`: the page has them as columns,
 * too, and takes its tables from there. To read 100 sites with their stacks and 1,000 functions
 * takes a browser as long as to make the tree of 100,000 nodes. */
#define PAGE_REPORT_ROWS 25u
#define PAGE_SPOT_ROWS 100u
/* Nodes of the tree of retained memory; the smallest ones are summed up beyond it. */
#define PAGE_OWNERS_MAX 200000u
/* Marks that are moments of a page: of each the recording is read again. */
#define PAGE_MARKS_MAX 16u

/* A document of the page: what a command writes with --json. */
struct page_document {
	const char *name; /* of its member: "report" */
	/* Writes it, tables with at most `limit` rows each, and adds how many that left out to
	 * *ret_left_out. ERROR_INPUT: what the page is of has no such document; the page says why.
	 * May be called again, with a lower limit. */
	struct error *(*write)(
		void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out);
	void *ctx;
	size_t rows_most; /* of its tables, where that is fewer than others have; 0: as others */
};

/* A node of the tree of retained memory. Texts are borrowed. */
struct page_owner {
	uint32_t parent;        /* comes before it; of the root, number 0, itself */
	const char *kind;       /* "global", "lost", or how a type is known: "inferred"… */
	const char *label;      /* "global cache", or the name of a type */
	const char *module;     /* path of the file that a variable is in; NULL: it is none */
	uint64_t bytes, blocks; /* of the node itself, which those below are not among */
};

/* What the file was at one of its marks. */
struct page_mark {
	uint64_t time_ns;          /* as of struct mark */
	const struct model *model; /* borrowed */
};

/* What a page is to contain. All is borrowed. */
struct page_wanted {
	const char *writer; /* "heapwise 0.1.0" */
	const char *kind;   /* of what it is of: "recording", "profile", "diff" (the profile has a
			       base), "heap" */
	const char *title;  /* as the page calls it: the name of the file */
	/* Options that choose what it is of, as on the command line. */
	const char *const *asked;
	size_t asked_count;
	const struct page_document *documents;
	size_t document_count;
	/* Stacks and their figures, with those of its base; NULL: there are none. */
	const struct profile *profile;
	/* The same file with a series of moments and their sites; NULL: not known, or there is a
	 * base. */
	const struct model *over_time;
	const struct page_mark *marks; /* the first ones of over_time */
	size_t mark_count;
	const struct page_owner *owners; /* of a heap; NULL: there are none */
	size_t owner_count;
	/* Of what is written: the smallest stacks and owners are summed up beyond it. 0: as many as
	 * PAGE_BYTES_MAX or, of a container, PAGE_CONTAINER_BYTES_MAX. */
	uint64_t most_bytes;
	bool container; /* that alone is written: no HTML, not compressed */
};

/*
 * Writes the page. Nothing is written before all of it is known to fit. ERROR_ENVIRONMENT: not
 * even the documents fit into that many bytes, or this build has no page (-Dui=disabled). NULL also
 * when the sink stopped it: the sink knows.
 */
struct error *page_write(const struct page_wanted *wanted, const struct sink *sink) must_check_;

/*
 * The page without data, for a server: it fetches containers from the folder that it comes from,
 * and nothing else from anywhere (docs/schema/serve-1.md).
 */
struct page_served {
	char *html; /* of the page; page_served_deinit() frees it */
	size_t len;
	char *policy; /* its Content-Security-Policy, which is also in it; likewise */
};

struct error *page_served_make(struct page_served *ret) must_check_;
void page_served_deinit(struct page_served *served);

/* Returns whether a file's bytes are a page, or a container, that page_write() wrote. */
bool page_is_one(const void *data, size_t len);

#endif
