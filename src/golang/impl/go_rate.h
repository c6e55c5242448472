/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime.MemProfileRate of a process, changed from outside and put back: the only word of it that
 * is written. If the caller is killed, a process that outlives it puts the rate back. A process
 * that has executed another program meanwhile is not written to: the memory is that of before.
 */
#ifndef GO_RATE_H
#define GO_RATE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "golang/go_profile.h"

struct go_rate {
	int memory; /* descriptor to write with; -1: nothing was changed */
	uint64_t address, before, set;
	pid_t guard; /* 0: none */
	int channel; /* a pipe to the guard that ends when the caller does */
};
#define GO_RATE_NONE ((struct go_rate){.memory = -1, .channel = -1})

/* Changes the word at `address` from `before` to `value`. ERROR_ENVIRONMENT if it can't be written,
 * ERROR_INPUT if it has another value by now. Nothing is changed then. */
struct error *go_rate_set(pid_t pid, uint64_t address, uint64_t before, uint64_t value,
	struct go_rate *ret) must_check_;

/* Puts it back, unless the program has changed it; GO_RATE_NONE afterwards. */
enum go_rate_end go_rate_put_back(struct go_rate *rate);

#endif
