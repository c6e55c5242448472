/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaches the kernel's programs: to functions of files, to page faults, to tracepoints. */
#include "capture/watch/kernel_calls.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/watch/perf_probe.h"

#define UPROBE_MULTI_RETURN 1u

static struct error *link_keep(struct watch_kernel *kernel, int link)
{
	if (watch_links_push(&kernel->links, link))
		return NULL;
	close(link);
	return error_no_memory();
}

/* Functions. */

/* The part of union bpf_attr for BPF_LINK_CREATE of such a type. */
struct uprobe_multi_attr {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, reference_offsets, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

/* Before 6.6 programs of that kind may be loaded, but not attached: not even to a folder, which
 * later kernels refuse otherwise. */
bool watch_has_multi(int program)
{
	const uint64_t offset = 0;
	struct uprobe_multi_attr attr = {.program = (uint32_t)program,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.count = 1};
	int link = bpf_call(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link >= 0)
		close(link);
	return link >= 0 || errno != EINVAL;
}

struct probe_batch {
	uint64_t *offsets, *cookies;
	uint32_t count;
};

static bool has_return(enum watch_shape shape)
{
	return shape != WATCH_FREE && shape != WATCH_UNMAP && shape != WATCH_MODULES;
}

static struct error *perf_batch_attach(struct watch_kernel *kernel, const char *path, pid_t pid,
	const struct probe_batch *batch, int program, bool is_return)
{
	struct error *error = NULL;
	for (uint32_t i = 0; i < batch->count && !error; i++) {
		const struct perf_probe probe = {path, pid, batch->offsets[i], is_return};
		int link;
		error = perf_probe_attach(&probe, program, batch->cookies[i], &link);
		if (!error)
			error = link_keep(kernel, link);
	}
	return error;
}

static struct error *batch_attach(struct watch_kernel *kernel, const char *path, pid_t pid,
	const struct probe_batch *batch, int program, unsigned type, unsigned flags)
{
	if (!batch->count)
		return NULL;
	struct uprobe_multi_attr attr = {.program = (uint32_t)program,
		.attach_type = type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)batch->offsets,
		.cookies = (uintptr_t)batch->cookies,
		.count = batch->count,
		.multi_flags = flags,
		.pid = (uint32_t)pid};
	int link = bpf_call(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't probe %u functions of %s",
			batch->count, path);
	return link_keep(kernel, link);
}

/* `throwing`: those that throw, too. Only a session can leave some of their returns alone. */
static void batch_fill(struct probe_batch *batch, const struct watched_places *places, bool calls,
	bool returns, bool throwing)
{
	batch->count = 0;
	for (size_t i = 0; i < places->len; i++) {
		const struct watched_place *place = &places->data[i];
		enum watch_shape shape = watched_functions[place->function].shape;
		if (has_return(shape) ? !returns : !calls)
			continue;
		if (shape == WATCH_SIZE_THROWS && !throwing)
			continue;
		batch->offsets[batch->count] = place->offset;
		batch->cookies[batch->count++] = WATCH_COOKIE(shape, place->function);
	}
}

static struct error *calls_attach(
	struct watch_kernel *kernel, const char *path, pid_t pid, const struct probe_batch *batch)
{
	if (kernel->way == WATCH_WAY_PERF)
		return perf_batch_attach(kernel, path, pid, batch, kernel->call, false);
	return batch_attach(kernel, path, pid, batch, kernel->call, ATTACH_UPROBE_MULTI, 0);
}

static struct error *returns_attach(
	struct watch_kernel *kernel, const char *path, pid_t pid, const struct probe_batch *batch)
{
	if (kernel->way == WATCH_WAY_PERF)
		return perf_batch_attach(kernel, path, pid, batch, kernel->back, true);
	if (kernel->way == WATCH_WAY_SESSION)
		return batch_attach(
			kernel, path, pid, batch, kernel->session, ATTACH_UPROBE_SESSION, 0);
	return batch_attach(
		kernel, path, pid, batch, kernel->back, ATTACH_UPROBE_MULTI, UPROBE_MULTI_RETURN);
}

/* Frees first: a block that is seen must have its free seen. */
struct error *watch_kernel_attach(struct watch_kernel *kernel, const char *path, pid_t pid,
	const struct watched_places *places)
{
	_cleanup_free_ uint64_t *offsets = calloc(places->len + 1, sizeof(*offsets));
	_cleanup_free_ uint64_t *cookies = calloc(places->len + 1, sizeof(*cookies));
	struct probe_batch batch = {offsets, cookies, 0};
	if (!offsets || !cookies)
		return error_no_memory();
	bool has_session = kernel->way == WATCH_WAY_SESSION;
	batch_fill(&batch, places, true, !has_session, true);
	struct error *error = calls_attach(kernel, path, pid, &batch);
	if (error)
		return error;
	batch_fill(&batch, places, false, true, has_session);
	return returns_attach(kernel, path, pid, &batch);
}

/* Events. */

/* Each fault that brought a page, the kernel's own ones in system calls too. */
static int fault_event_open(pid_t thread)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.disabled = 1,
		.inherit = 1,
		.inherit_thread = 1};
	return (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

struct error *watch_kernel_follow_faults(struct watch_kernel *kernel, pid_t thread, bool *ret_gone)
{
	int event = fault_event_open(thread);
	*ret_gone = event < 0 && errno == ESRCH;
	if (*ret_gone)
		return NULL;
	if (event < 0)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't follow the page faults of thread %d%s", (int)thread,
			errno == EMFILE ? ": it takes a descriptor for each thread (raise ulimit "
					  "-n)"
					: "");
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, kernel->fault) ||
		ioctl(event, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = errno;
		close(event);
		return error_errno(ERROR_ENVIRONMENT, err,
			"can't run a program at page faults of thread %d", (int)thread);
	}
	return link_keep(kernel, event);
}

struct error *watch_kernel_follow_calls(struct watch_kernel *kernel, uint64_t program_break)
{
	static const char name[] = "sys_exit";
	const uint32_t zero = 0;
	union bpf_attr attr;
	struct error *error = watch_map_set(kernel, WATCH_MAP_BREAK, &zero, &program_break);
	if (error)
		return error;
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uintptr_t)name;
	attr.raw_tracepoint.prog_fd = (uint32_t)kernel->leave;
	int link = bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
	if (link < 0)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't follow system calls (tracepoint %s)", name);
	return link_keep(kernel, link);
}

struct error *watch_kernel_follow_tracepoint(
	struct watch_kernel *kernel, unsigned id, const char *name, uint64_t cookie)
{
	int link;
	struct error *error = perf_tracepoint_attach(id, name, kernel->kmem, cookie, &link);
	return error ? error : link_keep(kernel, link);
}

/* Kernels before 6.7 leave out without counting. */
static bool skipped_are_counted(void)
{
	struct utsname kernel;
	unsigned version, part;
	return !uname(&kernel) && sscanf(kernel.release, "%u.%u", &version, &part) == 2 &&
	       (version > 6 || (version == 6 && part >= 7));
}

struct error *watch_kernel_skipped(
	const struct watch_kernel *kernel, uint64_t *ret, bool *ret_known)
{
	struct bpf_prog_info info;
	union bpf_attr attr;
	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)kernel->kmem;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	if (bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't read in the kernel how many events were left out");
	*ret = info.recursion_misses;
	*ret_known = skipped_are_counted();
	return NULL;
}
