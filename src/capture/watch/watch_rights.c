/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/watch_rights.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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
		"the kernel refuses the programs of 'watch' (they need Linux 6.6 or later, with "
		"CONFIG_UPROBES and CONFIG_BPF_SYSCALL)");
}
