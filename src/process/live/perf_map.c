/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process/proc_info.h"

#define NS_PER_SECOND 1000000000ull
/* Starts of processes are known in ticks of 10 ms, and times of files in those of the kernel. */
#define CLOCKS_DIFFER_NS 50000000ull
#define STATUS_BYTES_MAX ((size_t)64 << 10)

/* The effective user, which files are made by; false: not known. */
static bool user_find(pid_t pid, uid_t *ret)
{
	char *status = NULL;
	size_t bytes;
	struct error *error = process_read(pid, "status", STATUS_BYTES_MAX, &status, &bytes);
	const char *line = error ? NULL : strstr(status, "\nUid:");
	unsigned real, effective = 0;
	bool found = line && sscanf(line, "\nUid: %u %u", &real, &effective) == 2;
	*ret = effective;
	free(status);
	error_destroy(error);
	return found;
}

bool perf_map_place_open(pid_t pid, pid_t inner_pid, struct perf_map_place *ret)
{
	char path[64];
	struct timespec now;
	*ret = PERF_MAP_PLACE_NONE;
	uid_t user;
	uint64_t age = process_age_ns(pid);
	if (age <= 1 || !user_find(pid, &user))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(path, sizeof(path),
		"/proc/%d/root"
		"/tmp",
		(int)pid);
	int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return false;
	uint64_t now_ns = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
	*ret = (struct perf_map_place){.folder = folder,
		.pid = inner_pid,
		.user = user,
		.began_ns = now_ns > age ? now_ns - age : 0};
	return true;
}

void perf_map_place_close(struct perf_map_place *place)
{
	if (place->folder >= 0)
		close(place->folder);
	*place = PERF_MAP_PLACE_NONE;
}

static enum perf_map_state file_judge(const struct stat *status, const struct perf_map_place *place)
{
	if (!S_ISREG(status->st_mode))
		return PERF_MAP_ODD;
	if (status->st_uid != place->user && status->st_uid != 0)
		return PERF_MAP_STRANGER;
	uint64_t written_ns = (uint64_t)status->st_mtim.tv_sec * NS_PER_SECOND +
			      (uint64_t)status->st_mtim.tv_nsec;
	return written_ns + CLOCKS_DIFFER_NS < place->began_ns ? PERF_MAP_STALE : PERF_MAP_READ;
}

enum perf_map_state perf_map_open(const struct perf_map_place *place, FILE **ret)
{
	char name[64];
	struct stat status;
	*ret = NULL;
	if (place->folder < 0)
		return PERF_MAP_CLOSED;
	snprintf(name, sizeof(name), "perf-%d.map", (int)place->pid);
	/* Never a link, and no wait for the other end of a pipe. */
	int fd = openat(place->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT                    ? PERF_MAP_MISSING
		       : errno == ELOOP || errno == ENXIO ? PERF_MAP_ODD
							  : PERF_MAP_CLOSED;
	enum perf_map_state state =
		fstat(fd, &status) ? PERF_MAP_CLOSED : file_judge(&status, place);
	if (state == PERF_MAP_READ && !(*ret = fdopen(fd, "r")))
		state = PERF_MAP_CLOSED;
	if (!*ret)
		close(fd);
	return state;
}

/* A line without its end; false: it is none. */
static bool line_parse(const char *text, size_t len, struct perf_map_line *ret)
{
	char *end;
	ret->start = strtoull(text, &end, 16);
	if (end == text || *end != ' ')
		return false;
	const char *second = end + 1;
	ret->bytes = strtoull(second, &end, 16);
	if (end == second || *end != ' ' || end >= text + len)
		return false;
	ret->name = end + 1;
	ret->name_bytes = (size_t)(text + len - ret->name);
	if (ret->name_bytes > PERF_MAP_NAME_BYTES_MAX)
		ret->name_bytes = PERF_MAP_NAME_BYTES_MAX;
	return ret->name_bytes && ret->bytes;
}

/* Up to the end of a line or `size` - 1 bytes, NULs too; ended by a NUL. Returns how many. */
static size_t text_read(FILE *map, char *text, size_t size)
{
	size_t len = 0;
	for (int c; len + 1 < size && (c = getc_unlocked(map)) != EOF;) {
		text[len++] = (char)c;
		if (c == '\n')
			break;
	}
	text[len] = '\0';
	return len;
}

/* Of a line too long to be one the end is passed over. */
enum perf_map_state perf_map_each(
	FILE *map, bool (*take)(void *context, const struct perf_map_line *line), void *context)
{
	char text[PERF_MAP_NAME_BYTES_MAX + 64];
	struct perf_map_line line = {.offset = 0};
	uint64_t seen = 0;
	bool whole = true;
	for (size_t bytes; (bytes = text_read(map, text, sizeof(text)));) {
		bool begins = whole;
		if (seen >= PERF_MAP_BYTES_MAX)
			return PERF_MAP_CUT;
		line.offset = seen;
		seen += bytes;
		whole = text[bytes - 1] == '\n';
		text[bytes - whole] = '\0';
		if (begins && line_parse(text, strlen(text), &line) && !take(context, &line))
			return PERF_MAP_CUT;
	}
	return PERF_MAP_READ;
}

void perf_map_words(enum perf_map_state state, pid_t pid, char ret[static PERF_MAP_WORDS_BYTES])
{
	static const char *const words[PERF_MAP_STATES] = {
		[PERF_MAP_READ] = "its names are those of %s",
		[PERF_MAP_CUT] = "its names are those of a part of %s, which is too large to be "
				 "read whole",
		[PERF_MAP_MISSING] = "it has no names, as the program lists none in %s "
				     "(node --perf-basic-prof, python3.12 -X perf, "
				     "DOTNET_PerfMapEnabled=1, jcmd PID Compiler.perfmap)",
		[PERF_MAP_STALE] = "it has no names: %s is older than the process, so it is of "
				   "another one with this number",
		[PERF_MAP_STRANGER] = "it has no names: %s belongs to neither the process's user "
				      "nor root, and is not trusted",
		[PERF_MAP_ODD] = "it has no names: %s is no plain file",
		[PERF_MAP_CLOSED] = "it has no names: %s can't be opened",
	};
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	*ret = '\0';
	if ((unsigned)state < PERF_MAP_STATES && words[state])
		snprintf(ret, PERF_MAP_WORDS_BYTES, words[state], path);
}
