/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golang/impl/go_rate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/child.h"

static bool word_read(int memory, uint64_t address, uint64_t *ret)
{
	return pread(memory, ret, sizeof(*ret), (off_t)address) == (ssize_t)sizeof(*ret);
}

static bool word_write(int memory, uint64_t address, uint64_t value)
{
	return pwrite(memory, &value, sizeof(value), (off_t)address) == (ssize_t)sizeof(value);
}

static enum go_rate_end word_put_back(const struct go_rate *rate)
{
	uint64_t now;
	if (!word_read(rate->memory, rate->address, &now))
		return GO_RATE_GONE;
	if (now != rate->set)
		return GO_RATE_OTHER;
	return word_write(rate->memory, rate->address, rate->before) ? GO_RATE_RESTORED
								     : GO_RATE_GONE;
}

/* In a process of its own: until the caller says that all is done, or ends without. */
static _Noreturn void guard_keep(const struct go_rate *rate, int channel)
{
	char word;
	struct go_rate mine = *rate;
	setsid();
	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_IGN);
	/* No other file is kept open: the end of a pipe may wait for it. */
	channel = dup2(channel, 0);
	mine.memory = dup2(mine.memory, 1);
	close_range(2, ~0u, 0);
	ssize_t got;
	do
		got = read(channel, &word, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		(void)word_put_back(&mine);
	_exit(0);
}

static struct error *guard_begin(struct go_rate *rate)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't make a pipe");
	rate->guard = fork();
	if (!rate->guard) {
		close(ends[1]);
		/* Both descriptors have to be above those that they become. */
		int channel = fcntl(ends[0], F_DUPFD, 10);
		rate->memory = fcntl(rate->memory, F_DUPFD, 10);
		guard_keep(rate, channel);
	}
	close(ends[0]);
	rate->channel = ends[1];
	if (rate->guard < 0) {
		rate->guard = 0;
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't start the process that puts MemProfileRate back if this one is "
			"killed");
	}
	return NULL;
}

static void guard_finish(struct go_rate *rate)
{
	if (rate->channel >= 0) {
		(void)!write(rate->channel, "", 1);
		close(rate->channel);
	}
	if (rate->guard)
		child_wait(rate->guard, NULL, 0);
	if (rate->memory >= 0)
		close(rate->memory);
	*rate = GO_RATE_NONE;
}

static struct error *word_change(const struct go_rate *rate, pid_t pid)
{
	uint64_t now;
	if (!word_read(rate->memory, rate->address, &now) || now != rate->before)
		return error_create(ERROR_INPUT,
			"process %d has ended, executes another program, or sets MemProfileRate "
			"itself just now",
			(int)pid);
	if (!word_write(rate->memory, rate->address, rate->set))
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't set runtime.MemProfileRate of process %d (8 bytes at 0x%" PRIx64 ")",
			(int)pid, rate->address);
	return NULL;
}

struct error *go_rate_set(
	pid_t pid, uint64_t address, uint64_t before, uint64_t value, struct go_rate *ret)
{
	char path[64];
	struct go_rate rate = {.address = address, .before = before, .set = value, .channel = -1};
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	rate.memory = open(path, O_RDWR | O_CLOEXEC);
	struct error *error = NULL;
	if (rate.memory < 0)
		error = error_errno(ERROR_ENVIRONMENT, errno,
			"can't set runtime.MemProfileRate of process %d (%s); run as root or its "
			"user, look at /proc/sys/kernel/yama/ptrace_scope",
			(int)pid, path);
	if (!error)
		error = guard_begin(&rate);
	if (!error)
		error = word_change(&rate, pid);
	if (error)
		guard_finish(&rate);
	else
		*ret = rate;
	return error;
}

enum go_rate_end go_rate_put_back(struct go_rate *rate)
{
	enum go_rate_end end = rate->memory < 0 ? GO_RATE_UNCHANGED : word_put_back(rate);
	guard_finish(rate);
	return end;
}
