/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What this library asks of the collector, and how it reads a dump that the collector has written.
 */
#ifndef RUNTIME_SHIMS_JEMALLOC_COLLECTOR_H
#define RUNTIME_SHIMS_JEMALLOC_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest name of a file that the collector gives. */
#define JE_FILE_BYTES 4200

/* Whether this process is recorded, and by a runtime that takes requests. */
bool je_collector_is_there(void);

/* Asks for something (enum hw_request_what) and waits for the answer. Returns 0 or an errno. */
int je_collector_ask(uint32_t what, const char *text);

/* Begins or ends leaving out what this thread allocates. False: the runtime can't do that. */
bool je_collector_leave_out(bool begins);

/* The dumps that are wanted. */
struct je_plan {
	const char *prefix;
	bool is_last;       /* the next file is PREFIX.PID.SEQ.f.heap */
	bool accumulated;   /* with what was freed */
	uint64_t allocated; /* bytes between two; 0: none */
	bool pages;         /* when more pages are in use than ever */
};

/* Tells the collector. Returns 0 or an errno; EINVAL: the prefix can't be a part of a file's name.
 */
int je_collector_plan(const struct je_plan *plan);

/* Has a dump written. `file`: its name, NULL: the next one of the plan. `written` (NULL: not
 * wanted): its name then. Returns 0 or an errno. */
int je_collector_dump(const char *file, char written[JE_FILE_BYTES]);

/* What is live by a dump, as it is sampled, and in how many contexts. */
struct je_live {
	uint64_t period, objects, bytes, contexts;
};

/* Reads a file in jemalloc's format. False: there is none, or it is none. */
bool je_dump_read(const char *file, struct je_live *ret);

/* Estimates what is live by what was sampled: each figure times 1 / (1 - exp(-size / period)). */
void je_live_scale(struct je_live *live);

#endif
