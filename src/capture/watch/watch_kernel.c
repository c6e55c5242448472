/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/watch_kernel.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/watch/perf_probe.h"
#include "capture/watch/watch_rights.h"

/* The compiled programs (tools/embed-file). */
extern const char watch_object_data[], watch_object_end[];
extern const char growth_object_data[], growth_object_end[];
extern const char kmem_object_data[], kmem_object_end[];

/* Of linux/bpf.h from 6.6 and 6.13 on, which need not be the headers that this is built with. */
#define ATTACH_UPROBE_MULTI 48u
#define ATTACH_UPROBE_SESSION 57u
#define UPROBE_MULTI_RETURN 1u

/* Entries that one system call reads. */
#define BATCH_SITES 256u
#define BATCH_BLOCKS 8192u

#define LOG_BYTES 65536u

static const char *const map_names[WATCH_MAPS] = {"config", "table", "rows", "blocks", "sites",
	"threads", "blank", "countdown", "logs", "weights", "counts", "events", "last_break"};

static int bpf_call(int command, void *attr, unsigned bytes)
{
	return (int)syscall(SYS_bpf, command, attr, bytes);
}

static struct error *map_set(
	const struct watch_kernel *kernel, enum watch_map map, const void *key, const void *value)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)kernel->maps[map];
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	if (bpf_call(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't set the map '%s' in the kernel",
			map_names[map]);
	return NULL;
}

void watch_kernel_remove(const struct watch_kernel *kernel, enum watch_map map, const void *key)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)kernel->maps[map];
	attr.key = (uintptr_t)key;
	(void)bpf_call(BPF_MAP_DELETE_ELEM, &attr, sizeof(attr));
}

/* Loading. */

static struct error *sizes_set(struct watch_kernel *kernel, const struct watch_sizes *sizes)
{
	const struct {
		enum watch_map map;
		uint32_t entries;
	} wanted[] = {{WATCH_MAP_BLOCKS, sizes->blocks}, {WATCH_MAP_SITES, sizes->sites},
		{WATCH_MAP_THREADS, sizes->threads}, {WATCH_MAP_ROWS, 2 * sizes->rows},
		{WATCH_MAP_EVENTS, sizes->ring_bytes}};
	for (unsigned i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!wanted[i].entries)
			continue;
		struct bpf_map *map = kernel->bpf.bpf_object__find_map_by_name(
			kernel->object, map_names[wanted[i].map]);
		if (!map || kernel->bpf.bpf_map__set_max_entries(map, wanted[i].entries))
			return error_create(ERROR_INTERNAL, "the map '%s' can't be given a size",
				map_names[wanted[i].map]);
	}
	return NULL;
}

static void program_choose(
	struct watch_kernel *kernel, const char *name, bool is_wanted, unsigned type)
{
	struct bpf_program *program =
		kernel->bpf.bpf_object__find_program_by_name(kernel->object, name);
	if (!program)
		return;
	kernel->bpf.bpf_program__set_autoload(program, is_wanted);
	kernel->bpf.bpf_program__set_expected_attach_type(program, type);
}

static int program_get(struct watch_kernel *kernel, const char *name)
{
	const struct bpf_program *program =
		kernel->bpf.bpf_object__find_program_by_name(kernel->object, name);
	return program ? kernel->bpf.bpf_program__fd(program) : -1;
}

/* What the verifier said last. */
static const char *log_last_line(char *log)
{
	size_t len = strlen(log);
	while (len && log[len - 1] == '\n')
		log[--len] = 0;
	char *line = strrchr(log, '\n');
	return line ? line + 1 : log;
}

static bool way_is_growth(enum watch_way way)
{
	return way == WATCH_WAY_FAULTS || way == WATCH_WAY_FAULTS_PLAIN;
}

/* The compiled programs of a way, up to *ret_end. */
static const char *way_object(enum watch_way way, const char **ret_end)
{
	if (way == WATCH_WAY_KMEM) {
		*ret_end = kmem_object_end;
		return kmem_object_data;
	}
	*ret_end = way_is_growth(way) ? growth_object_end : watch_object_end;
	return way_is_growth(way) ? growth_object_data : watch_object_data;
}

static struct error *object_load(
	struct watch_kernel *kernel, const struct watch_sizes *sizes, enum watch_way way, int *ret)
{
	_cleanup_free_ char *log = calloc(1, LOG_BYTES);
	if (!log)
		return error_no_memory();
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "heapwise_watch",
		.kernel_log_buf = log, .kernel_log_size = LOG_BYTES, .kernel_log_level = 0);
	const char *end, *data = way_object(way, &end);
	kernel->object = kernel->bpf.bpf_object__open_mem(data, (size_t)(end - data), &options);
	if (!kernel->object)
		return error_errno(ERROR_ENVIRONMENT, errno, "libbpf can't read the programs");
	struct error *error = sizes_set(kernel, sizes);
	if (error)
		return error;
	program_choose(kernel, "growth_fault", way == WATCH_WAY_FAULTS, 0);
	program_choose(kernel, "growth_fault_plain", way == WATCH_WAY_FAULTS_PLAIN, 0);
	program_choose(kernel, "watch_session", way == WATCH_WAY_SESSION, ATTACH_UPROBE_SESSION);
	unsigned type = way == WATCH_WAY_PERF ? 0 : ATTACH_UPROBE_MULTI;
	program_choose(kernel, "watch_call", true, type);
	program_choose(kernel, "watch_return", way != WATCH_WAY_SESSION, type);
	*ret = kernel->bpf.bpf_object__load(kernel->object);
	if (!*ret)
		return NULL;
	error = watch_rights_explain(-*ret, log_last_line(log));
	kernel->bpf.bpf_object__close(kernel->object);
	kernel->object = NULL;
	return error;
}

/* The part of union bpf_attr for BPF_LINK_CREATE of such a type. */
struct uprobe_multi_attr {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, reference_offsets, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

/* Before 6.6 programs of that kind may be loaded, but not attached: not even to a folder, which
 * later kernels refuse otherwise. */
static bool has_multi(struct watch_kernel *kernel)
{
	const uint64_t offset = 0;
	struct uprobe_multi_attr attr = {.program = (uint32_t)program_get(kernel, "watch_call"),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.count = 1};
	int link = bpf_call(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link >= 0)
		close(link);
	return link >= 0 || errno != EINVAL;
}

static struct error *object_load_way(
	struct watch_kernel *kernel, const struct watch_sizes *sizes, enum watch_way way, int *ret)
{
	kernel->way = way;
	return object_load(kernel, sizes, way, ret);
}

/* A kernel without sessions says EINVAL. */
static struct error *object_load_best(struct watch_kernel *kernel, const struct watch_sizes *sizes)
{
	int result = 0;
	if (kernel->probes == WATCH_PROBES_PERF)
		return object_load_way(kernel, sizes, WATCH_WAY_PERF, &result);
	struct error *error = object_load_way(kernel, sizes, WATCH_WAY_SESSION, &result);
	if (!error || result != -EINVAL)
		return error;
	error_destroy(error);
	error = object_load_way(kernel, sizes, WATCH_WAY_MULTI, &result);
	if ((!error || result == -EINVAL) && kernel->probes == WATCH_PROBES_AUTO &&
		(error || !has_multi(kernel))) {
		error_destroy(error);
		if (kernel->object)
			kernel->bpf.bpf_object__close(steal_ptr(kernel->object));
		error = object_load_way(kernel, sizes, WATCH_WAY_PERF, &result);
	}
	return error;
}

/* A kernel without BTF refuses the first. */
static struct error *object_load_growth(
	struct watch_kernel *kernel, const struct watch_sizes *sizes)
{
	int result = 0;
	kernel->way = WATCH_WAY_FAULTS;
	struct error *error = object_load(kernel, sizes, kernel->way, &result);
	if (!error || result == -EPERM)
		return error;
	error_destroy(error);
	kernel->way = WATCH_WAY_FAULTS_PLAIN;
	return object_load(kernel, sizes, kernel->way, &result);
}

static struct error *object_load_kmem(struct watch_kernel *kernel, const struct watch_sizes *sizes)
{
	int result = 0;
	return object_load_way(kernel, sizes, WATCH_WAY_KMEM, &result);
}

static struct error *rows_map(struct watch_kernel *kernel)
{
	size_t bytes = 2 * (size_t)kernel->sizes.rows * sizeof(struct watch_row);
	void *rows = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kernel->maps[WATCH_MAP_ROWS], 0);
	if (rows == MAP_FAILED)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't map the unwind tables");
	kernel->rows = rows;
	return NULL;
}

/* The mean of -ln over each of the parts of (0, 1). */
static struct error *logs_set(struct watch_kernel *kernel)
{
	struct error *error = NULL;
	for (uint32_t i = 0; i < WATCH_LOGS && !error; i++) {
		double from = (double)i / WATCH_LOGS, to = (double)(i + 1) / WATCH_LOGS;
		/* The integral of -ln x is x - x ln x. */
		double area = to - to * log(to) - (i ? from - from * log(from) : 0);
		uint32_t value = (uint32_t)lround(area * WATCH_LOGS * 65536);
		error = map_set(kernel, WATCH_MAP_LOGS, &i, &value);
	}
	return error;
}

static struct error *weights_set(struct watch_kernel *kernel)
{
	struct error *error = NULL;
	for (uint32_t i = 0; i < WATCH_WEIGHTS && !error; i++) {
		double ratio = ((double)i + 0.5) / WATCH_WEIGHT_STEP;
		uint32_t value = (uint32_t)lround(WATCH_WEIGHT_ONE / -expm1(-ratio));
		error = map_set(kernel, WATCH_MAP_WEIGHTS, &i, &value);
	}
	return error;
}

struct error *watch_kernel_throws(struct watch_kernel *kernel, uint64_t bytes)
{
	const uint32_t zero = 0;
	if (kernel->way != WATCH_WAY_SESSION)
		bytes = 0;
	if (kernel->config.throws_most == bytes)
		return NULL;
	kernel->config.throws_most = bytes;
	return map_set(kernel, WATCH_MAP_CONFIG, &zero, &kernel->config);
}

static struct error *maps_fill(struct watch_kernel *kernel, const struct watch_config *config)
{
	const uint32_t zero = 0;
	const uint64_t none = 0;
	_cleanup_free_ struct watch_site *overflow = calloc(1, sizeof(*overflow));
	if (!overflow)
		return error_no_memory();
	overflow->flags = WATCH_OVERFLOW | WATCH_INCOMPLETE;
	overflow->function = watched_function_count;
	struct error *error = map_set(kernel, WATCH_MAP_CONFIG, &zero, config);
	if (!error)
		error = map_set(kernel, WATCH_MAP_SITES, &none, overflow);
	if (!error && config->sampling == WATCH_BY_BYTES)
		error = logs_set(kernel);
	if (!error && config->sampling == WATCH_BY_BYTES)
		error = weights_set(kernel);
	return error;
}

/* Gets what was loaded ready. */
static struct error *object_ready(struct watch_kernel *kernel, const struct watch_config *config,
	int (*on_event)(void *context, void *data, size_t bytes), void *context)
{
	for (unsigned i = 0; i < WATCH_MAPS; i++) {
		struct bpf_map *map =
			kernel->bpf.bpf_object__find_map_by_name(kernel->object, map_names[i]);
		kernel->maps[i] = map ? kernel->bpf.bpf_map__fd(map) : -1;
	}
	kernel->session = program_get(kernel, "watch_session");
	kernel->call = program_get(kernel, "watch_call");
	kernel->back = program_get(kernel, "watch_return");
	kernel->fault = program_get(
		kernel, kernel->way == WATCH_WAY_FAULTS ? "growth_fault" : "growth_fault_plain");
	kernel->leave = program_get(kernel, "growth_exit");
	kernel->kmem = program_get(kernel, "kmem_event");
	struct error *error = kernel->sizes.rows ? rows_map(kernel) : NULL;
	if (!error)
		error = maps_fill(kernel, config);
	if (error || !on_event)
		return error;
	kernel->ring = kernel->bpf.ring_buffer__new(
		kernel->maps[WATCH_MAP_EVENTS], on_event, context, NULL);
	return kernel->ring ? NULL
			    : error_errno(ERROR_ENVIRONMENT, errno, "can't map the ring of events");
}

static struct error *kernel_open(const struct watch_sizes *sizes, const struct watch_config *config,
	enum watch_probes probes,
	struct error *(*load)(struct watch_kernel *kernel, const struct watch_sizes *sizes),
	struct watch_kernel *ret)
{
	*ret = (struct watch_kernel){.session = -1,
		.call = -1,
		.back = -1,
		.fault = -1,
		.leave = -1,
		.kmem = -1,
		.probes = probes,
		.sizes = *sizes,
		.config = *config};
	struct error *error = bpf_library_load(&ret->bpf);
	return error ? error : load(ret, sizes);
}

struct error *watch_kernel_open(const struct watch_sizes *sizes, const struct watch_config *config,
	enum watch_probes probes, int (*on_event)(void *context, void *data, size_t bytes),
	void *context, struct watch_kernel *ret)
{
	struct error *error = kernel_open(sizes, config, probes, object_load_best, ret);
	return error ? error : object_ready(ret, config, on_event, context);
}

struct error *watch_kernel_open_growth(const struct watch_sizes *sizes,
	const struct watch_config *config, int (*on_event)(void *context, void *data, size_t bytes),
	void *context, struct watch_kernel *ret)
{
	struct error *error =
		kernel_open(sizes, config, WATCH_PROBES_AUTO, object_load_growth, ret);
	return error ? error : object_ready(ret, config, on_event, context);
}

struct error *watch_kernel_open_kmem(const struct watch_sizes *sizes,
	const struct watch_config *config, struct watch_kernel *ret)
{
	struct error *error = kernel_open(sizes, config, WATCH_PROBES_AUTO, object_load_kmem, ret);
	return error ? error : object_ready(ret, config, NULL, NULL);
}

/* Of all functions at once: where frees are no longer seen and allocations are, each block would
 * look as if it stayed. So the probes of frees, which came first, also go last. */
static void calls_end(struct watch_kernel *kernel)
{
	const uint32_t zero = 0;
	kernel->config.is_over = 1;
	error_destroy(map_set(kernel, WATCH_MAP_CONFIG, &zero, &kernel->config));
}

void watch_kernel_detach(struct watch_kernel *kernel)
{
	if (kernel->links.len)
		calls_end(kernel);
	for (size_t i = kernel->links.len; i-- > 0;)
		close(kernel->links.data[i]);
	watch_links_deinit(&kernel->links);
}

void watch_kernel_close(struct watch_kernel *kernel)
{
	watch_kernel_detach(kernel);
	if (kernel->ring)
		kernel->bpf.ring_buffer__free(kernel->ring);
	if (kernel->rows)
		munmap(kernel->rows, 2 * (size_t)kernel->sizes.rows * sizeof(struct watch_row));
	if (kernel->object)
		kernel->bpf.bpf_object__close(kernel->object);
	*kernel = (struct watch_kernel){0};
}

/* A walk that reads the old table meanwhile takes microseconds; it is overwritten by the next
 * change, at the earliest. */
struct error *watch_kernel_rows(
	struct watch_kernel *kernel, const struct watch_row *rows, uint32_t count)
{
	const uint32_t zero = 0;
	unsigned other = !kernel->table;
	uint32_t first = other * kernel->sizes.rows;
	if (count)
		memcpy(kernel->rows + first, rows, count * sizeof(*rows));
	uint64_t in_force = WATCH_TABLE(first, count);
	kernel->table = other;
	return map_set(kernel, WATCH_MAP_TABLE, &zero, &in_force);
}

/* Attaching. */

struct probe_batch {
	uint64_t *offsets, *cookies;
	uint32_t count;
};

static bool has_return(enum watch_shape shape)
{
	return shape != WATCH_FREE && shape != WATCH_UNMAP && shape != WATCH_MODULES;
}

static struct error *link_keep(struct watch_kernel *kernel, int link)
{
	if (watch_links_push(&kernel->links, link))
		return NULL;
	close(link);
	return error_no_memory();
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

/* Following. */

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
	struct error *error = map_set(kernel, WATCH_MAP_BREAK, &zero, &program_break);
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

/* Reading. */

struct error *watch_kernel_events(struct watch_kernel *kernel)
{
	int result = kernel->ring ? kernel->bpf.ring_buffer__consume(kernel->ring) : 0;
	return result < 0 && result != -EAGAIN ? error_no_memory() : NULL;
}

struct error *watch_kernel_find(const struct watch_kernel *kernel, enum watch_map map,
	const void *key, void *ret, bool *ret_found)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)kernel->maps[map];
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)ret;
	*ret_found = bpf_call(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) == 0;
	return *ret_found || errno == ENOENT
		       ? NULL
		       : error_errno(ERROR_ENVIRONMENT, errno,
				 "can't read the map '%s' in the kernel", map_names[map]);
}

int watch_kernel_fd(const struct watch_kernel *kernel)
{
	return kernel->ring ? kernel->bpf.ring_buffer__epoll_fd(kernel->ring) : -1;
}

struct error *watch_kernel_counts(const struct watch_kernel *kernel, uint64_t ret[WATCH_COUNTS])
{
	for (uint32_t i = 0; i < WATCH_COUNTS; i++) {
		union bpf_attr attr;
		memset(&attr, 0, sizeof(attr));
		attr.map_fd = (uint32_t)kernel->maps[WATCH_MAP_COUNTS];
		attr.key = (uintptr_t)&i;
		attr.value = (uintptr_t)&ret[i];
		if (bpf_call(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)))
			return error_errno(
				ERROR_ENVIRONMENT, errno, "can't read counters in the kernel");
	}
	return NULL;
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

struct error *watch_kernel_each(
	const struct watch_kernel *kernel, enum watch_map map, watch_entries *found, void *context)
{
	bool is_blocks = map == WATCH_MAP_BLOCKS;
	uint32_t room = is_blocks ? BATCH_BLOCKS : BATCH_SITES;
	size_t value_bytes = is_blocks ? sizeof(struct watch_block) : sizeof(struct watch_site);
	_cleanup_free_ uint64_t *keys = NULL;
	_cleanup_free_ char *values = NULL;
	uint64_t in_batch = 0, out_batch = 0;
	bool is_first = true;
	for (;;) {
		union bpf_attr attr;
		if (!keys)
			keys = calloc(room, sizeof(*keys));
		if (!values)
			values = calloc(room, value_bytes);
		if (!keys || !values)
			return error_no_memory();
		memset(&attr, 0, sizeof(attr));
		attr.batch.map_fd = (uint32_t)kernel->maps[map];
		attr.batch.in_batch = is_first ? 0 : (uintptr_t)&in_batch;
		attr.batch.out_batch = (uintptr_t)&out_batch;
		attr.batch.keys = (uintptr_t)keys;
		attr.batch.values = (uintptr_t)values;
		attr.batch.count = room;
		int result = bpf_call(BPF_MAP_LOOKUP_BATCH, &attr, sizeof(attr));
		bool is_last = result && errno == ENOENT;
		/* A bucket that has more entries than there is room for. */
		if (result && errno == ENOSPC) {
			room *= 2;
			free(steal_ptr(keys));
			free(steal_ptr(values));
			continue;
		}
		if (result && !is_last)
			return error_errno(ERROR_ENVIRONMENT, errno,
				"can't read the map '%s' in the kernel", map_names[map]);
		if (!found(context, keys, values, attr.batch.count))
			return error_no_memory();
		if (is_last)
			return NULL;
		in_batch = out_batch;
		is_first = false;
	}
}

DEFINE_VEC(purge_keys, uint32_t)

struct error *watch_kernel_purge(const struct watch_kernel *kernel, enum watch_map map,
	bool (*is_gone)(void *context, uint32_t key), void *context)
{
	_cleanup_(purge_keys_deinit) struct purge_keys gone = {0};
	uint32_t key = 0, next;
	bool is_first = true;
	for (;;) {
		union bpf_attr attr;
		memset(&attr, 0, sizeof(attr));
		attr.map_fd = (uint32_t)kernel->maps[map];
		attr.key = is_first ? 0 : (uintptr_t)&key;
		attr.next_key = (uintptr_t)&next;
		if (bpf_call(BPF_MAP_GET_NEXT_KEY, &attr, sizeof(attr)))
			break;
		key = next;
		is_first = false;
		if (is_gone(context, key) && !purge_keys_push(&gone, key))
			return error_no_memory();
	}
	for (size_t i = 0; i < gone.len; i++)
		watch_kernel_remove(kernel, map, &gone.data[i]);
	return NULL;
}
