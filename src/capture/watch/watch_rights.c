/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/watch_rights.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc_info.h"

/* linux/capability.h. */
enum { RIGHT_SYS_ADMIN = 21, RIGHT_PERFMON = 38, RIGHT_BPF = 39 };

#define STATUS_BYTES 16384

static uint64_t rights_read(void)
{
	_cleanup_free_ char *status = NULL;
	size_t bytes;
	struct error *error = process_read(getpid(), "status", STATUS_BYTES, &status, &bytes);
	if (error) {
		error_destroy(error);
		return ~0ull;
	}
	const char *line = strstr(status, "\nCapEff:");
	return line ? strtoull(line + strlen("\nCapEff:"), NULL, 16) : ~0ull;
}

/* From 6.11 on a return probe goes through the system call uretprobe, which 6.14 (and later
 * releases of these) let pass filters that do not know it. */
bool watch_returns_are_filtered(const char *release)
{
	unsigned version, part;
	return sscanf(release, "%u.%u", &version, &part) == 2 && version == 6 && part >= 11 &&
	       part <= 13;
}

struct error *watch_check_filters(pid_t pid)
{
	_cleanup_free_ char *status = NULL;
	struct utsname kernel;
	size_t bytes;
	if (uname(&kernel) || !watch_returns_are_filtered(kernel.release))
		return NULL;
	struct error *error = process_read(pid, "status", STATUS_BYTES, &status, &bytes);
	if (error)
		return error;
	const char *line = strstr(status, "\nSeccomp:");
	if (!line || atoi(line + strlen("\nSeccomp:")) == 0)
		return NULL;
	return error_create(ERROR_ENVIRONMENT,
		"process %d is under seccomp, and return probes of this kernel (%s) make a system "
		"call that its filters may kill it for (Linux 6.11 to 6.13); 'heapwise attach' "
		"looks at the filters first",
		(int)pid, kernel.release);
}

struct error *watch_rights_explain(int err, const char *log)
{
	uint64_t rights = rights_read();
	bool is_admin = rights >> RIGHT_SYS_ADMIN & 1;
	bool has_bpf = is_admin || rights >> RIGHT_BPF & 1;
	bool has_perfmon = is_admin || rights >> RIGHT_PERFMON & 1;
	if ((err == EPERM || err == EACCES) && (!has_bpf || !has_perfmon))
		return error_create(ERROR_ENVIRONMENT,
			"the kernel lets only processes with CAP_BPF and CAP_PERFMON watch others; "
			"this one lacks %s%s%s: run heapwise as root, or give it both (sudo setcap "
			"cap_bpf,cap_perfmon+ep $(command -v heapwise))",
			has_bpf ? "" : "CAP_BPF", has_bpf || has_perfmon ? "" : " and ",
			has_perfmon ? "" : "CAP_PERFMON");
	if (err == EPERM)
		return error_create(ERROR_ENVIRONMENT,
			"the kernel refuses eBPF programs although this process has the "
			"capabilities: a container's seccomp filter or kernel lockdown forbids it; "
			"'heapwise attach' needs no eBPF");
	if (log[0])
		return error_errno(ERROR_ENVIRONMENT, err,
			"the kernel refuses the programs of 'watch' (%s)", log);
	return error_errno(ERROR_ENVIRONMENT, err,
		"the kernel refuses the programs of 'watch' (they need Linux 5.17 or later, with "
		"CONFIG_UPROBES and CONFIG_BPF_SYSCALL)");
}
