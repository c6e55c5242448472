/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heap that `core` or `heap` looks at, and how its answers are shown. */
#ifndef CLI_HEAP_LOOK_H
#define CLI_HEAP_LOOK_H

#include "cli/heap/heap_selection.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "query/heap_session.h"
#include "views/heap_view.h"

struct heap_look {
	struct heap_session heap;
	const char *as;                  /* --as; NULL: none */
	struct heap_selection selection; /* of the verb */
	bool json, csv, colour, no_pager;
	bool json_before;             /* --json=1 */
	bool html;                    /* --html, of the command line alone … */
	const char *html_path;        /* … =FILE; NULL: not said */
	enum colour_when colour_when; /* --color of the command line */
	size_t limit;
	bool has_shown_damage; /* to who asks one thing after the other it is said once */
};

/* Prepares it; what the user selection is filled in then. */
void heap_look_init(struct heap_look *look);
void heap_look_close(struct heap_look *look);

/* What is passed to views. */
struct heap_page heap_look_page(struct heap_look *look);
/* Where a verb writes what it shows; a pager is in front of it if that is wanted. */
struct sink heap_look_sink(const struct heap_look *look, struct output *output);
/* Ends it: the exit code, after saying what went wrong. Takes the error. */
int heap_look_shown(struct output *output, struct error *error);

#endif
