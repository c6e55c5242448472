/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `heapwise attach --route=go`: the heap profile of a Go program, which its runtime keeps, read
 * from outside (golang/go_profile.h) until ^C, --for or the end of the process, and written as a
 * file of pprof's.
 */
#ifndef CLI_ATTACH_GO_H
#define CLI_ATTACH_GO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "golang/go_profile.h"

struct attach_go_request {
	pid_t pid;
	uint64_t for_ns;     /* 0: until it is asked to end */
	uint64_t rate;       /* bytes a sample; 0: the usual */
	enum go_state state; /* which figures are written */
	const char *file;    /* pattern; NULL: heapwise.%n.%p.pb.gz */
	bool overwrite, quiet;
	bool is_chosen; /* the route was not asked for: it is said */
};

/* Returns false if there are no such figures. */
bool attach_go_state_parse(const char *word, enum go_state *ret);

/* Returns whether auto takes this route: Go without C, which has no allocator to attach to. */
bool attach_go_is_usual(pid_t pid);

/* Says, of a program in Go with C whose mallocs are recorded, how its Go heap is read. */
void attach_go_hint(pid_t pid);

/* Of an error in asking a process for what only recorded ones have: says of a program in Go that it
 * is profiled instead. Takes over `error`; NULL stays NULL. */
struct error *attach_go_explain(pid_t pid, struct error *error) must_check_;

/* Each returns the exit status. */
int attach_go_run(const struct attach_go_request *request);
int attach_go_outlook(const struct attach_go_request *request); /* for --dry-run */

#endif
