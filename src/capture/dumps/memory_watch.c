/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/dumps/memory_watch.h"

#include "base/cleanup.h"
#include "format/status.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS 10000000u
/* Pressure changes more slowly. */
#define STALL_LOOK_NS 1000000000u
/* Tasks that wait for memory this part of the time are short of it. */
#define STALL_PART 10u
#define TEXT_BYTES 4096
/* A limit that is none is about so large in cgroup v1. */
#define V1_UNSET ((uint64_t)1 << 60)
#define PERCENT 100u
/* At so much of its limit a cgroup is short of memory: the kernel may kill at the next allocation.
 */
#define FULL_PERCENT 95u

#define CGROUP_TOP "/sys/fs/cgroup"
#define CGROUP_V1_TOP "/sys/fs/cgroup/memory"

/* Returns the length; 0: it can't be read. */
static size_t read_text(const char *path, char ret[static TEXT_BYTES])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, TEXT_BYTES - 1);
	ret[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

static uint64_t resident_bytes(pid_t pid)
{
	char path[64], text[TEXT_BYTES];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	size_t len = read_text(path, text);
	uint64_t all = hw_status_bytes(text, len, "\nVmRSS:");
	uint64_t shared = hw_status_bytes(text, len, "\nRssShmem:");
	return all > shared ? all - shared : 0;
}

/* The number in a file; false: there is none ("max", too). */
static bool read_number(const char *folder, const char *name, uint64_t *ret)
{
	char path[PATH_MAX + 64], text[TEXT_BYTES], *end;
	int bytes = snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (bytes < 0 || (size_t)bytes >= sizeof(path) || !read_text(path, text))
		return false;
	*ret = strtoull(text, &end, 10);
	return end != text && *ret < V1_UNSET;
}

/* The limit of one cgroup, if it is smaller in relation to what is used. */
static void take_limit(const char *folder, const char *limit_name, const char *used_name,
	uint64_t *used, uint64_t *limit)
{
	uint64_t most, now;
	if (!read_number(folder, limit_name, &most) || !most ||
		!read_number(folder, used_name, &now))
		return;
	if (!*limit || (double)now / (double)most > (double)*used / (double)*limit) {
		*used = now;
		*limit = most;
	}
}

/* The number after `key` at the start of a line. */
static bool find_count(const char *text, const char *key, uint64_t *ret)
{
	const char *at = strstr(text, key);
	if (!at)
		return false;
	*ret = strtoull(at + strlen(key), NULL, 10);
	return true;
}

/* Pages of files, which the kernel drops before it kills. */
static uint64_t droppable_bytes(const char *folder, bool is_v1)
{
	char path[PATH_MAX + 64], text[TEXT_BYTES];
	uint64_t active = 0, inactive = 0;
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	if (read_text(path, text)) {
		find_count(text, is_v1 ? "\ntotal_active_file " : "\nactive_file ", &active);
		find_count(text, is_v1 ? "\ntotal_inactive_file " : "\ninactive_file ", &inactive);
	}
	return active + inactive;
}

static bool is_folder_full(const char *folder, bool is_v1)
{
	uint64_t most, now;
	if (!read_number(folder, is_v1 ? "memory.limit_in_bytes" : "memory.max", &most) || !most ||
		!read_number(folder, is_v1 ? "memory.usage_in_bytes" : "memory.current", &now))
		return false;
	uint64_t full = most / PERCENT * FULL_PERCENT;
	return now >= full && now - full >= droppable_bytes(folder, is_v1);
}

bool memory_cgroup_is_full(const char *top, const char *path, bool is_v1)
{
	char folder[PATH_MAX];
	size_t top_len = strlen(top);
	if ((size_t)snprintf(folder, sizeof(folder), "%s%s", top, path) >= sizeof(folder))
		return false;
	for (char *slash; strlen(folder) >= top_len; *slash = 0) {
		if (is_folder_full(folder, is_v1))
			return true;
		slash = strrchr(folder, '/');
		if (!slash)
			break;
	}
	return false;
}

bool memory_cgroup_use(
	const char *top, const char *path, bool is_v1, uint64_t *ret_used, uint64_t *ret_limit)
{
	char folder[PATH_MAX];
	size_t top_len = strlen(top);
	uint64_t used = 0, limit = 0;
	if ((size_t)snprintf(folder, sizeof(folder), "%s%s", top, path) >= sizeof(folder))
		return false;
	for (char *slash; strlen(folder) >= top_len; *slash = 0) {
		if (is_v1) {
			take_limit(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", &used,
				&limit);
		} else {
			take_limit(folder, "memory.max", "memory.current", &used, &limit);
			take_limit(folder, "memory.high", "memory.current", &used, &limit);
		}
		slash = strrchr(folder, '/');
		if (!slash)
			break;
	}
	*ret_used = used;
	*ret_limit = limit;
	return limit;
}

/* The process's cgroup: of v2 the line "0::PATH", of v1 "N:…memory…:PATH". */
static bool find_cgroup(pid_t pid, bool *ret_v1, char ret[static PATH_MAX])
{
	char path[64], text[TEXT_BYTES];
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	read_text(path, text);
	bool found = false;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		char *controllers = strchr(line, ':');
		char *at = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!at)
			continue;
		*at++ = 0;
		bool is_v1 = strstr(controllers + 1, "memory") != NULL;
		if (!is_v1 && controllers[1])
			continue;
		snprintf(ret, PATH_MAX, "%s", !strcmp(at, "/") ? "" : at);
		*ret_v1 = is_v1;
		found = true;
		if (is_v1)
			break;
	}
	return found;
}

/* Of the machine: a process without a limit of its own comes to that. */
static uint32_t machine_percent(void)
{
	char text[TEXT_BYTES];
	text[0] = '\n';
	char rest[TEXT_BYTES];
	size_t len = read_text("/proc/meminfo", rest);
	len = len < TEXT_BYTES - 1 ? len : TEXT_BYTES - 2;
	memcpy(text + 1, rest, len);
	uint64_t all = hw_status_bytes(text, len + 1, "\nMemTotal:");
	uint64_t free_bytes = hw_status_bytes(text, len + 1, "\nMemAvailable:");
	return all && free_bytes < all ? (uint32_t)((all - free_bytes) * PERCENT / all) : 0;
}

static uint32_t used_percent(pid_t pid)
{
	char path[PATH_MAX];
	bool is_v1;
	uint64_t used, limit;
	if (find_cgroup(pid, &is_v1, path) &&
		memory_cgroup_use(is_v1 ? CGROUP_V1_TOP : CGROUP_TOP, path, is_v1, &used, &limit))
		return (uint32_t)((double)used * PERCENT / (double)limit);
	return machine_percent();
}

static bool read_limit_events(const char *path, bool is_v1, uint64_t *ret)
{
	char file[PATH_MAX + 64], text[TEXT_BYTES];
	uint64_t high = 0, max = 0;
	if (is_v1) {
		snprintf(file, sizeof(file), CGROUP_V1_TOP "%s", path);
		return read_number(file, "memory.failcnt", ret);
	}
	snprintf(file, sizeof(file), CGROUP_TOP "%s/memory.events", path);
	if (!read_text(file, text))
		return false;
	bool found = find_count(text, "high ", &high);
	found |= find_count(text, "max ", &max);
	*ret = high + max;
	return found;
}

/* Of the cgroup, or of the machine. */
static bool read_stalled(const char *path, bool is_v1, uint64_t *ret)
{
	char file[PATH_MAX + 64], text[TEXT_BYTES];
	snprintf(file, sizeof(file), CGROUP_TOP "%s/memory.pressure", path);
	if ((is_v1 || !read_text(file, text)) && !read_text("/proc/pressure/memory", text))
		return false;
	return find_count(text, "total=", ret);
}

/* Whether a limit was reached or tasks stalled since the last look at that. Counts are lower than
 * before if the process has been moved to another cgroup. */
static bool look_for_pressure(struct memory_watch *w, pid_t pid, uint64_t passed_ns)
{
	char path[PATH_MAX] = "";
	bool is_v1 = false, before = w->has_limit_events, before_stalled = w->has_stalled;
	uint64_t events = 0, stalled = 0;
	if (find_cgroup(pid, &is_v1, path))
		w->has_limit_events = read_limit_events(path, is_v1, &events);
	w->has_stalled = read_stalled(path, is_v1, &stalled);
	bool is_short = (before && w->has_limit_events && events > w->limit_events) ||
			(before_stalled && w->has_stalled && stalled > w->stalled_us &&
				(stalled - w->stalled_us) * 1000u > passed_ns / STALL_PART);
	w->limit_events = events;
	w->stalled_us = stalled;
	return is_short;
}

static bool is_full(pid_t pid)
{
	char path[PATH_MAX];
	bool is_v1;
	return find_cgroup(pid, &is_v1, path) &&
	       memory_cgroup_is_full(is_v1 ? CGROUP_V1_TOP : CGROUP_TOP, path, is_v1);
}

bool memory_watch_is_due(const struct memory_watch *watch, uint64_t now_ns)
{
	return now_ns - watch->looked_ns >= LOOK_NS;
}

struct memory_state memory_watch_look(
	struct memory_watch *watch, const struct dump_plan *plan, pid_t pid, uint64_t now_ns)
{
	struct memory_state ret = {.is_short = watch->is_short};
	if (plan->resident_bytes)
		ret.resident_bytes = resident_bytes(pid);
	if (plan->resident_percent)
		ret.used_percent = used_percent(pid);
	if (plan->pressure && now_ns - watch->pressure_ns >= STALL_LOOK_NS) {
		ret.is_short = look_for_pressure(watch, pid, now_ns - watch->pressure_ns);
		watch->is_short = ret.is_short;
		watch->pressure_ns = now_ns;
	}
	if (plan->pressure)
		ret.is_short |= is_full(pid);
	watch->looked_ns = now_ns;
	return ret;
}
