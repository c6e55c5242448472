/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/kmem_events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Records of events are no longer. */
#define RECORD_MAX 4096u
/* A description of an event is some hundred bytes long. */
#define FORMAT_MAX 16384u

struct kmem_event {
	const char *group, *name;
	const char *address, *size; /* fields; size NULL: it is a free */
	enum kmem_kind kind;
	bool is_optional; /* later kernels have one event for both */
};

/* The frees first. A site's function is a number in this table. */
static const struct kmem_event events[] = {
	{"kmem", "kfree", "ptr", NULL, KMEM_OBJECT, false},
	{"kmem", "kmem_cache_free", "ptr", NULL, KMEM_OBJECT, false},
	{"kmem", "mm_page_free", "pfn", NULL, KMEM_PAGES, false},
	{"kmem", "kmalloc", "ptr", "bytes_alloc", KMEM_OBJECT, false},
	{"kmem", "kmalloc_node", "ptr", "bytes_alloc", KMEM_OBJECT, true},
	{"kmem", "kmem_cache_alloc", "ptr", "bytes_alloc", KMEM_OBJECT, false},
	{"kmem", "kmem_cache_alloc_node", "ptr", "bytes_alloc", KMEM_OBJECT, true},
	{"kmem", "mm_page_alloc", "pfn", "order", KMEM_PAGES, false},
	{"percpu", "percpu_free_percpu", "ptr", NULL, KMEM_PERCPU, false},
	{"percpu", "percpu_alloc_percpu", "ptr", "size", KMEM_PERCPU, false},
};

const char *kmem_event_name(unsigned function)
{
	return function < ARRAY_SIZE(events) ? events[function].name : NULL;
}

uint64_t kmem_key_address(uint64_t key)
{
	const uint64_t above = ~0ull << KMEM_KEY_BITS;
	uint64_t kind = key >> KMEM_KEY_BITS, low = key & ~above;
	if (kind == 3)
		return key;
	return kind == 0 && low >> (KMEM_KEY_BITS - 1) ? low | above : low;
}

/* Whether a declaration, as "const void * ptr" or "char comm[16]", is that of a field. */
static bool field_is(const char *declared, size_t len, const char *name)
{
	size_t name_len = strlen(name);
	return len > name_len && !memcmp(declared + len - name_len, name, name_len) &&
	       strchr(" *", declared[len - name_len - 1]);
}

/* Lines are "\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;". */
bool kmem_format_field(const char *format, const char *name, unsigned *ret_at, unsigned *ret_bytes)
{
	static const char start[] = "field:";
	const char *line = format;
	while ((line = strstr(line, start))) {
		const char *declared = line + strlen(start);
		size_t len = strcspn(declared, ";\n");
		line = declared + len;
		if (field_is(declared, len, name))
			return sscanf(line, "; offset:%u; size:%u;", ret_at, ret_bytes) == 2;
	}
	return false;
}

/* Where tracefs is. */

static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* A mount of our own, which is in no tree: nobody else sees it, and it goes with the descriptor. */
static int tracefs_mount(void)
{
	int settings = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), mount = -1;
	if (settings < 0)
		return -1;
	if (!syscall(SYS_fsconfig, settings, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = (int)syscall(SYS_fsmount, settings, FSMOUNT_CLOEXEC, 0);
	int err = errno;
	close(settings);
	errno = err;
	return mount;
}

static struct error *tracefs_refused(int err, bool is_there)
{
	if (err == EPERM || err == EACCES)
		return error_create(ERROR_ENVIRONMENT,
			"can't read the kernel's list of tracepoints (tracefs, %s): it takes root "
			"(CAP_SYS_ADMIN)%s",
			is_there ? "mounted, but not readable" : "not mounted",
			is_there ? ", or a mount that this user can read" : "");
	return error_errno(ERROR_ENVIRONMENT, err,
		"can't read the kernel's list of tracepoints (tracefs: mount -t tracefs nodev "
		"/sys/kernel/tracing)");
}

/* One that is mounted is used first. */
static struct error *tracefs_open(int *ret)
{
	bool is_there = false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int folder = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (folder >= 0 && !faccessat(folder, "events", R_OK | X_OK, AT_EACCESS)) {
			*ret = folder;
			return NULL;
		}
		is_there |= errno == EACCES;
		if (folder >= 0)
			close(folder);
	}
	*ret = tracefs_mount();
	return *ret < 0 ? tracefs_refused(errno, is_there) : NULL;
}

/* Reads a file of an event into `ret`, a string. Returns an errno value, 0 on success. */
static int event_file_read(
	int tracefs, const struct kmem_event *event, const char *file, char *ret, size_t room)
{
	char path[128];
	snprintf(path, sizeof(path), "events/%s/%s/%s", event->group, event->name, file);
	int fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	size_t len = 0;
	ssize_t got = 0;
	while (len + 1 < room && (got = read(fd, ret + len, room - 1 - len)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		len += got > 0 ? (size_t)got : 0;
	}
	int err = got < 0 ? errno : 0;
	close(fd);
	ret[len] = 0;
	return err;
}

static struct error *event_odd(const struct kmem_event *event, const char *field)
{
	return error_create(ERROR_ENVIRONMENT,
		"the tracepoint %s:%s of this kernel has no '%s' that is understood", event->group,
		event->name, field);
}

/* Makes the cookie from the description of the event. */
static struct error *event_describe(
	const struct kmem_event *event, const char *format, unsigned function, uint64_t *ret_cookie)
{
	unsigned address_at, size_at = 0, bytes;
	if (!kmem_format_field(format, event->address, &address_at, &bytes) || bytes != 8 ||
		address_at > RECORD_MAX - 8)
		return event_odd(event, event->address);
	unsigned expected = event->kind == KMEM_PAGES ? 4 : 8;
	if (event->size && (!kmem_format_field(format, event->size, &size_at, &bytes) ||
				   bytes != expected || size_at > RECORD_MAX - 8))
		return event_odd(event, event->size);
	*ret_cookie = KMEM_COOKIE(event->kind, !event->size, function, address_at, size_at);
	return NULL;
}

/* *ret_attached: false of one that is optional and not there. */
static struct error *event_attach(
	struct watch_kernel *kernel, int tracefs, unsigned function, bool *ret_attached)
{
	const struct kmem_event *event = &events[function];
	char format[FORMAT_MAX], id[32], name[64];
	uint64_t cookie = 0;
	unsigned number;
	snprintf(name, sizeof(name), "%s:%s", event->group, event->name);
	*ret_attached = false;
	int err = event_file_read(tracefs, event, "format", format, sizeof(format));
	if (err == ENOENT && event->is_optional)
		return NULL;
	if (!err)
		err = event_file_read(tracefs, event, "id", id, sizeof(id));
	if (err == EACCES || err == EPERM)
		return tracefs_refused(err, true);
	if (err)
		return error_errno(ERROR_ENVIRONMENT, err,
			"the kernel has no tracepoint %s, without which its allocations can't be "
			"followed",
			name);
	struct error *error = event_describe(event, format, function, &cookie);
	if (error)
		return error;
	if (sscanf(id, "%u", &number) != 1)
		return event_odd(event, "id");
	*ret_attached = true;
	return watch_kernel_follow_tracepoint(kernel, number, name, cookie);
}

struct error *kmem_events_attach(struct watch_kernel *kernel, bool percpu, size_t *ret_events)
{
	int tracefs;
	*ret_events = 0;
	struct error *error = tracefs_open(&tracefs);
	if (error)
		return error;
	for (unsigned i = 0; i < ARRAY_SIZE(events) && !error; i++) {
		bool is_attached = false;
		if ((events[i].kind == KMEM_PERCPU) == percpu)
			error = event_attach(kernel, tracefs, i, &is_attached);
		*ret_events += is_attached;
	}
	close(tracefs);
	return error;
}
