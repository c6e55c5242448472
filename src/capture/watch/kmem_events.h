/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracepoints of the kernel's own allocators: found in tracefs, with where their records have
 * the address and the size.
 */
#ifndef CAPTURE_KMEM_EVENTS_H
#define CAPTURE_KMEM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "capture/watch/watch_kernel.h"

/*
 * Has the program of kmem.bpf.c run at the events of the kernel's memory (objects and pages), or,
 * `percpu`, at those of memory that each processor has its own of. Frees come first: a block that
 * is seen must have its free seen. *ret_events: how many there are. ERROR_ENVIRONMENT: tracefs
 * can't be read, the kernel lacks an event, or refuses.
 */
struct error *kmem_events_attach(
	struct watch_kernel *kernel, bool percpu, size_t *ret_events) must_check_;

/* The name of the event with a site's number of a function; NULL: it stands for all sites that
 * found no room. Static. */
const char *kmem_event_name(unsigned function);

/* The address, or number of a page, that a key in the map of blocks is of. */
uint64_t kmem_key_address(uint64_t key);

/*
 * Finds a field in the description of an event (the file `format` in tracefs): where it is in a
 * record, and its bytes. Returns false if there is none of that name.
 */
bool kmem_format_field(const char *format, const char *name, unsigned *ret_at, unsigned *ret_bytes);

#endif
