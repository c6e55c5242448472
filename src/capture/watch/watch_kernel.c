/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the kernel's programs and gets them ready. */
#include "capture/watch/kernel_calls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/watch/watch_rights.h"

/* The compiled programs (tools/embed-file). */
extern const char watch_object_data[], watch_object_end[];
extern const char growth_object_data[], growth_object_end[];
extern const char kmem_object_data[], kmem_object_end[];

#define LOG_BYTES 65536u

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
			kernel->object, watch_map_name(wanted[i].map));
		if (!map || kernel->bpf.bpf_map__set_max_entries(map, wanted[i].entries))
			return error_create(ERROR_INTERNAL, "the map '%s' can't be given a size",
				watch_map_name(wanted[i].map));
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
		(error || !watch_has_multi(program_get(kernel, "watch_call")))) {
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
		error = watch_map_set(kernel, WATCH_MAP_LOGS, &i, &value);
	}
	return error;
}

static struct error *weights_set(struct watch_kernel *kernel)
{
	struct error *error = NULL;
	for (uint32_t i = 0; i < WATCH_WEIGHTS && !error; i++) {
		double ratio = ((double)i + 0.5) / WATCH_WEIGHT_STEP;
		uint32_t value = (uint32_t)lround(WATCH_WEIGHT_ONE / -expm1(-ratio));
		error = watch_map_set(kernel, WATCH_MAP_WEIGHTS, &i, &value);
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
	return watch_map_set(kernel, WATCH_MAP_CONFIG, &zero, &kernel->config);
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
	struct error *error = watch_map_set(kernel, WATCH_MAP_CONFIG, &zero, config);
	if (!error)
		error = watch_map_set(kernel, WATCH_MAP_SITES, &none, overflow);
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
			kernel->bpf.bpf_object__find_map_by_name(kernel->object, watch_map_name(i));
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
	error_destroy(watch_map_set(kernel, WATCH_MAP_CONFIG, &zero, &kernel->config));
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
	return watch_map_set(kernel, WATCH_MAP_TABLE, &zero, &in_force);
}

struct error *watch_kernel_events(struct watch_kernel *kernel)
{
	int result = kernel->ring ? kernel->bpf.ring_buffer__consume(kernel->ring) : 0;
	return result < 0 && result != -EAGAIN ? error_no_memory() : NULL;
}

int watch_kernel_fd(const struct watch_kernel *kernel)
{
	return kernel->ring ? kernel->bpf.ring_buffer__epoll_fd(kernel->ring) : -1;
}
