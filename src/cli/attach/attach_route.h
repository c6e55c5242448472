/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How `heapwise attach` sees what a process does:
 *
 *	inject   its references to the allocator are changed (capture/attach.h)
 *	ebpf     probes in the kernel, as `watch -o` (capture/watch_recording.h): nothing is changed
 *	go       the heap profile that Go's runtime keeps (golang/go_profile.h)
 *	growth   `watch --growth`: what memory grows by, without a look at each call
 *	procfs   `maps --every`: mappings alone, which takes no permission beyond reading
 *
 * The first two make a recording, the third a profile. Without a choice it is the third for a
 * program in Go without C, else the first, or, if that is refused and the kernel allows it, the
 * second.
 */
#ifndef CLI_ATTACH_ROUTE_H
#define CLI_ATTACH_ROUTE_H

#include <stdbool.h>

#include "capture/attach.h"
#include "cli/options/options.h"

enum attach_route {
	ATTACH_ROUTE_AUTO,
	ATTACH_ROUTE_INJECT,
	ATTACH_ROUTE_EBPF,
	ATTACH_ROUTE_GO,
	ATTACH_ROUTE_GROWTH,
	ATTACH_ROUTE_PROCFS,
};

/* Returns false if there is no such route. */
bool attach_route_parse(const char *word, enum attach_route *ret);

/* What was asked for, of any route. */
struct attach_route_request {
	const struct attach_options *attach; /* its pid, for_ns, before and launch count */
	bool quiet;
	const char *for_time; /* as it was written; NULL: it was not */
};

/* Returns why a recording by probes can't be what was asked for; NULL: it can. */
const char *attach_route_lacks(const struct attach_route_request *request);

/* Records by probes. `refused`: why not otherwise, which is taken over and said; NULL: they were
 * asked for. Returns the exit status. */
int attach_route_probe(const struct attach_route_request *request, struct error *refused);

/* As attach_route_probe(), for --dry-run: says what would be done. */
int attach_route_probe_outlook(const struct attach_route_request *request, struct error *refused);

/* Hands over to the command of a route without a recording, growth or procfs. */
int attach_route_hand_over(const struct attach_route_request *request, enum attach_route route);

#endif
