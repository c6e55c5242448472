/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/perf_probe.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ATTACH_PERF_EVENT 41u /* BPF_PERF_EVENT of linux/bpf.h, 5.15 */

/* Reads a number of the kernel's event source of uprobes. Returns false if there is none. */
static bool uprobe_number(const char *name, const char *format, unsigned *ret)
{
	char path[96];
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/uprobe/%s", name);
	FILE *file = fopen(path, "re");
	bool is_found = file && fscanf(file, format, ret) == 1;
	if (file)
		(void)fclose(file);
	return is_found;
}

static struct error *perf_event_refused(int err, const char *path)
{
	if (err == EACCES || err == EPERM)
		return error_create(ERROR_ENVIRONMENT,
			"can't probe functions of %s: uprobes of perf take CAP_SYS_ADMIN (run "
			"heapwise as root; on Linux 6.6 or later without --probes=perf, which "
			"needs "
			"CAP_BPF and CAP_PERFMON alone)",
			path);
	return error_errno(ERROR_ENVIRONMENT, err, "can't probe a function of %s by perf%s", path,
		err == EMFILE ? ": it takes a descriptor for each probe (raise ulimit -n)" : "");
}

static int perf_probe_open(const struct perf_probe *probe, unsigned type, unsigned return_bit)
{
	struct perf_event_attr attr = {.type = type,
		.size = sizeof(attr),
		.config = probe->is_return ? 1ull << return_bit : 0,
		.uprobe_path = (uintptr_t)probe->path,
		.probe_offset = probe->offset};
	return (int)syscall(SYS_perf_event_open, &attr, probe->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The link keeps the event. */
static int perf_event_link(int event, int program, uint64_t cookie)
{
	struct {
		uint32_t program, target, attach_type, flags;
		uint64_t cookie;
	} attr = {.program = (uint32_t)program,
		.target = (uint32_t)event,
		.attach_type = ATTACH_PERF_EVENT,
		.cookie = cookie};
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

struct error *perf_probe_attach(
	const struct perf_probe *probe, int program, uint64_t cookie, int *ret)
{
	unsigned type, bit;
	if (!uprobe_number("type", "%u", &type) ||
		!uprobe_number("format/retprobe", "config:%u", &bit))
		return error_create(ERROR_ENVIRONMENT,
			"the kernel has no uprobes of perf "
			"(/sys/bus/event_source/devices/uprobe is missing)");
	int event = perf_probe_open(probe, type, bit);
	if (event < 0)
		return perf_event_refused(errno, probe->path);
	*ret = perf_event_link(event, program, cookie);
	int err = errno;
	close(event);
	return *ret < 0 ? perf_event_refused(err, probe->path) : NULL;
}

struct error *perf_tracepoint_attach(
	unsigned id, const char *name, int program, uint64_t cookie, int *ret)
{
	/* Of one processor; the program runs on all. */
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id};
	int event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	*ret = event < 0 ? -1 : perf_event_link(event, program, cookie);
	int err = errno;
	if (event >= 0)
		close(event);
	return *ret >= 0 ? NULL
			 : error_errno(ERROR_ENVIRONMENT, err,
				   "can't run a program at the tracepoint %s of the kernel%s", name,
				   err == EACCES || err == EPERM ? " (it takes CAP_PERFMON)" : "");
}
