/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/instructions.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int instructions_open(pid_t pid, const char **ret_why)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.inherit = 1,
		.inherit_thread = 1, /* Linux 5.13; EINVAL before */
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	const char *name = fd < 0 ? strerrorname_np(errno) : NULL;
	*ret_why = name ? name : "unknown";
	return fd;
}

uint64_t instructions_read(int fd)
{
	uint64_t count = 0;
	return fd >= 0 && read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}
