/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/injection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool injection_write(const struct injection *in, uint64_t address, const void *data, size_t bytes)
{
	return pwrite(in->memory, data, bytes, (off_t)address) == (ssize_t)bytes;
}

bool injection_read(const struct injection *in, uint64_t address, void *ret, size_t bytes)
{
	return pread(in->memory, ret, bytes, (off_t)address) == (ssize_t)bytes;
}

static int memory_open(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

uint64_t injection_call(
	struct injection *in, const char *what, uint64_t number, const uint64_t arguments[static 6])
{
	long result = 0;
	if (in->error)
		return 0;
	if (!remote_calls_do(&in->calls, number, arguments, &result)) {
		in->error = error_create(ERROR_ENVIRONMENT,
			"process %d could not be made to do a system call (%s)", (int)in->pid,
			what);
		return 0;
	}
	if (result < 0 && result > -4096) {
		in->error = error_errno(ERROR_ENVIRONMENT, (int)-result,
			"process %d can't be attached: the kernel refuses it %s", (int)in->pid,
			what);
		return 0;
	}
	return (uint64_t)result;
}

void injection_call_anyway(
	struct injection *in, uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t arguments[6] = {a, b, c, 0, 0, 0};
	long result;
	(void)!remote_calls_do(&in->calls, number, arguments, &result);
}

void injection_fail(struct injection *in, const char *what, int why)
{
	if (!in->error)
		in->error = error_errno(ERROR_ENVIRONMENT, why, "process %d can't be attached: %s",
			(int)in->pid, what);
}

struct error *injection_begin(pid_t pid, struct injection *ret)
{
	*ret = (struct injection){.pid = pid, .memory = memory_open(pid)};
	stop_init(&ret->stopped, pid);
	if (ret->memory < 0)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't write to the memory of process %d; run as root or its user, look at "
			"/proc/sys/kernel/yama/ptrace_scope",
			(int)pid);
	ret->settings = calloc(1, sizeof(*ret->settings));
	return ret->settings ? NULL : error_no_memory();
}

struct error *injection_end(struct injection *in, struct attach_pause *ret_pause)
{
	if (ret_pause)
		ret_pause->all_ns = stop_end(&in->stopped);
	while (in->stopped.late.len && stop_release_late(&in->stopped))
		usleep(1000);
	stop_deinit(&in->stopped);
	if (in->memory >= 0)
		close(in->memory);
	free(in->settings);
	return in->error;
}
