/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of struct watch_kernel share: watch_kernel.c loads, kernel_maps.c reads and sets
 * maps, kernel_probes.c attaches. */
#ifndef CAPTURE_KERNEL_CALLS_H
#define CAPTURE_KERNEL_CALLS_H

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/watch/watch_kernel.h"

/* bpf_attach_type of linux/bpf.h from 6.6 and 6.13 on, which need not be the headers that this is
 * built with. */
#define ATTACH_UPROBE_MULTI 48u
#define ATTACH_UPROBE_SESSION 57u

/* bpf(2): -1 and errno on failure. */
static inline int bpf_call(int command, const void *attr, unsigned bytes)
{
	return (int)syscall(SYS_bpf, command, attr, bytes);
}

/* The name of a map in src/bpf. Static. */
const char *watch_map_name(enum watch_map map);

/* Sets the value of a key. */
struct error *watch_map_set(const struct watch_kernel *kernel, enum watch_map map, const void *key,
	const void *value) must_check_;

/* Returns whether functions can be probed many at once, by `program`, which is loaded for that. */
bool watch_has_multi(int program);

#endif
