/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * jemalloc's options, as jemalloc 5.3 reads them: what MALLOC_CONF and the other places say, in its
 * order, with its messages. Used by the library that stands in for jemalloc, and by the command,
 * which has to know how often to sample before the program runs.
 */
#ifndef RUNTIME_JEMALLOC_CONF_H
#define RUNTIME_JEMALLOC_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JE_CONF_LINK "/etc/malloc.conf"
#define JE_CONF_VARIABLE "MALLOC_CONF"
#define JE_PREFIX_BYTES (PATH_MAX + 1)

/* Where options are said, the strongest last. */
enum je_conf_source {
	JE_CONF_BUILD,    /* jemalloc's configure; never here */
	JE_CONF_PROGRAM,  /* the variable malloc_conf of the program */
	JE_CONF_ETC,      /* the name that the link JE_CONF_LINK leads to */
	JE_CONF_ENV,      /* JE_CONF_VARIABLE in the environment */
	JE_CONF_PROGRAM2, /* the variable malloc_conf_2_conf_harder of the program */
	JE_CONF_SOURCES
};

/* The text of each; NULL: there is none. */
struct je_conf_texts {
	const char *text[JE_CONF_SOURCES];
};

struct je_conf {
	bool prof, prof_active, prof_thread_active_init, prof_leak, prof_leak_error, prof_final,
		prof_gdump, prof_accum;
	uint64_t lg_prof_sample;  /* 0 to 63 */
	int64_t lg_prof_interval; /* -1: none, to 63 */
	bool confirm_conf, abort_conf, stats_print;
	bool had_error; /* something was malformed, unknown or invalid */
	char prof_prefix[JE_PREFIX_BYTES];
};

/* Is given a message, which ends with a line feed. */
typedef void je_conf_say(void *context, const char *line);

/*
 * Reads all texts. `say` gets jemalloc's messages, each a line; NULL: they are not wanted. Then the
 * options are as jemalloc uses them: prof_leak_error implies prof_leak, which implies prof, without
 * dumps on the way if prof was not on by itself.
 */
void je_conf_read(
	const struct je_conf_texts *texts, je_conf_say *say, void *context, struct je_conf *ret);

#endif
