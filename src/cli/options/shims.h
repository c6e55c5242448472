/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tools that a program can be recorded as (--as=TOOL): each has a library with the functions
 * that programs know of that tool, which is loaded after the runtime, options of heapwise that
 * follow from it, and perhaps files that it would leave, which are written when all is recorded.
 * One table: `run`, `env` and the collector of programs that are started without the command read
 * it. How to add one: docs/decisions/0032-shims.md.
 */
#ifndef CLI_SHIMS_H
#define CLI_SHIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "capture/launch.h"

/* What a shim knows of a run that has ended. */
struct shim_run {
	const char *folder; /* absolute; relative names are names in it. NULL: not known */
	const struct collector_recording *recordings; /* complete ones, as they ended */
	size_t recording_count;
	bool quiet; /* only what is wrong is to be said */
};

struct shim {
	const char *name;    /* of --as */
	const char *library; /* its file's name, beside libheapwise-rt.so */
	const char *what;    /* whose functions these are: "LeakSanitizer" */
	/* Sets what follows from it in options that are complete otherwise; ERROR_USAGE: they
	 * exclude it. NULL: nothing follows. */
	struct error *(*prepare)(struct launch_options *launch);
	/* Sets what follows from the program's file, when that is known. NULL: nothing follows. */
	struct error *(*examine)(const char *image, struct launch_options *launch);
	/* Says which options of the tool, in the environment, mean nothing here; NULL: nothing to
	 * say. */
	void (*warn)(void);
	/* Writes the files that the tool would have left, when all is recorded. False, after saying
	 * why: one of them is missing. NULL: it leaves none. */
	bool (*conclude)(const struct shim_run *run);
	/* Variables of the environment that ask the tool for files or checks, up to the first NULL.
	 */
	const char *variables[2];
	/* What they contain if they ask for some, up to the first NULL; none: anything asks. */
	const char *wanted[2];
};

/* The table; ends with a row without a name. */
extern const struct shim shims[];

/* Returns the shim of that name; NULL: there is none. */
const struct shim *shim_find(const char *name);

/* Adds the names, with " or " before the last one. */
void shims_add_names(struct text *text);

/*
 * Adds the path of the shim's library to a list of LD_PRELOAD, after a colon if something is there
 * already. `runtime` is the path of libheapwise-rt.so. False: the library is not there.
 */
bool shim_add_library(const struct shim *shim, const char *runtime, struct text *list);

/* Returns the error that the shim's library is not there. */
struct error *shim_missing(const struct shim *shim);

/* Returns the variable that asks for something of a tool, and is set; NULL: there is none.
 * `ret_shim`: that tool. */
const char *shim_find_asked(const struct shim **ret_shim);

/* Has the shim write its files. True, too, if there is no shim, or none that has files. */
bool shim_conclude(const struct shim *shim, const struct shim_run *run);

#endif
