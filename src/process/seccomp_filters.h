/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seccomp filters of a stopped process, and what they say of a system call that it is about to
 * make: found by executing them as the kernel does, not by trying.
 *
 * Classic BPF as linux/filter.h has it, and of that what the kernel takes for seccomp
 * (kernel/seccomp.c, seccomp_check_filter; Documentation/userspace-api/seccomp_filter.rst).
 */
#ifndef PROCESS_SECCOMP_FILTERS_H
#define PROCESS_SECCOMP_FILTERS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "process/stop.h"

struct seccomp_filter {
	struct sock_filter *code; /* owned */
	size_t length;
};
DEFINE_VEC(seccomp_filter_vec, struct seccomp_filter)

/* Those of all threads, each different one once. */
struct seccomp_filters {
	struct seccomp_filter_vec all;
};

/*
 * Executes a filter. Returns false if it is none that the kernel would have taken: it reads beyond
 * its data or its code, or has no end; or if it divides by 0, which kills. *ret: the action, with
 * its data (SECCOMP_RET_*).
 */
bool seccomp_filter_run(const struct sock_filter *code, size_t length,
	const struct seccomp_data *data, uint32_t *ret);

/*
 * Reads the filters of all threads of a stopped process. ERROR_ENVIRONMENT if the kernel does not
 * show them: that takes CAP_SYS_ADMIN, a caller without a filter of its own, and a kernel with
 * CONFIG_CHECKPOINT_RESTORE. Call seccomp_filters_deinit() in any case.
 */
struct error *seccomp_filters_read(
	const struct stopped *stopped, struct seccomp_filters *ret) must_check_;
void seccomp_filters_deinit(struct seccomp_filters *filters);

/* Returns whether all filters let this system call pass: it is done, and nobody is asked
 * (SECCOMP_RET_ALLOW, SECCOMP_RET_LOG). `at`: the address of its instruction. */
bool seccomp_filters_allow(const struct seccomp_filters *filters, uint64_t number,
	const uint64_t arguments[static 6], uint64_t at);

#endif
