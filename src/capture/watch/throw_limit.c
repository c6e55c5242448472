/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/throw_limit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"

/* /proc has them of other users' processes, too. */
static bool is_unlimited(pid_t pid)
{
	char path[64], line[256];
	unsigned found = 0;
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char soft[32];
		found += sscanf(line, "Max address space %31s", soft) == 1 &&
			 !strcmp(soft, "unlimited");
		found +=
			sscanf(line, "Max data size %31s", soft) == 1 && !strcmp(soft, "unlimited");
	}
	return found == 2;
}

static bool is_overcommitted(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/vm/overcommit_memory", "re");
	int mode = file ? fgetc(file) : EOF;
	return mode == '0' || mode == '1';
}

uint64_t throw_limit_read(pid_t pid)
{
	struct sysinfo info;
	if (!is_unlimited(pid) || !is_overcommitted() || sysinfo(&info))
		return 0;
	return (uint64_t)info.totalram * info.mem_unit / 4;
}
