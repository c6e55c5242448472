/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/newer_pids.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The number that a link or a file of /proc consists of; 0: none. */
static long number_in(const char *text, ssize_t bytes)
{
	char number[24];
	if (bytes <= 0 || bytes >= (ssize_t)sizeof(number))
		return 0;
	for (ssize_t i = 0; i < bytes; i++)
		number[i] = text[i];
	number[bytes] = 0;
	return strtol(number, NULL, 10);
}

static long number_in_file(const char *path)
{
	char text[24];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? 0 : number_in(text, read(fd, text, sizeof(text)));
}

static bool is_own_proc(void)
{
	char text[24];
	return number_in(text, readlink("/proc/self", text, sizeof(text))) == getpid();
}

struct newer_pids newer_pids_of_self(uint64_t age_ns)
{
	struct newer_pids ret = {.first = getpid(), .known = false};
	if (!is_own_proc())
		return ret;
	uint64_t most = age_ns / (1000000000u / PIDS_A_SECOND_MAX);
	if (most >= (uint64_t)number_in_file("/proc/sys/kernel/pid_max"))
		return ret;
	/* Not from /proc/loadavg, which containers may have from their host. */
	ret.last = (pid_t)number_in_file("/proc/sys/kernel/ns_last_pid");
	ret.known = ret.last > 0;
	return ret;
}

bool newer_pids_has(const struct newer_pids *newer, pid_t pid)
{
	if (!newer->known)
		return true;
	bool after = pid > newer->first, before = pid <= newer->last;
	return newer->last >= newer->first ? after && before : after || before;
}

bool newer_pids_is_empty(const struct newer_pids *newer)
{
	return newer->known && newer->last == newer->first;
}
