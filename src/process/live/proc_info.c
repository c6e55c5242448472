/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/proc_info.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "process/clock.h"

#define MAPS_MAX ((size_t)64 << 20)
#define STATUS_MAX ((size_t)64 << 10)
#define ENVIRON_MAX ((size_t)8 << 20)

struct error *process_read(pid_t pid, const char *name, size_t max, char **ret, size_t *ret_len)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	uint8_t *data = NULL;
	struct error *error = read_file(path, max, &data, ret_len);
	if (!error)
		*ret = (char *)data;
	return error;
}

static bool same_namespace(pid_t pid, const char *name)
{
	char theirs[64], ours[64];
	struct stat a, b;
	snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", (int)pid, name);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", name);
	return stat(theirs, &a) || stat(ours, &b) || (a.st_ino == b.st_ino && a.st_dev == b.st_dev);
}

/* The number after "Name:" in /proc/PID/status. */
static int status_field(const char *status, const char *name)
{
	const char *line = strstr(status, name);
	return line ? atoi(line + strlen(name)) : 0;
}

static bool is_secure(const char *auxv, size_t bytes)
{
	for (size_t i = 0; i + 16 <= bytes; i += 16) {
		uint64_t entry[2];
		memcpy(entry, auxv + i, sizeof(entry));
		if (entry[0] == AT_SECURE)
			return entry[1];
	}
	return false;
}

static void blanks_for_nuls(char *text, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++) {
		if (!text[i])
			text[i] = ' ';
	}
}

static struct error *read_exe(struct proc_info *info)
{
	char path[64], exe[PATH_MAX];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)info->pid);
	ssize_t n = readlink(path, exe, sizeof(exe) - 1);
	if (n < 0 && errno == ENOENT)
		return error_create(ERROR_INPUT,
			"process %d has no program: it has ended, or is a kernel thread",
			(int)info->pid);
	if (n < 0)
		return error_errno(ERROR_INPUT, errno,
			geteuid() == 0
				? "process %d can't be inspected even as root (CAP_SYS_PTRACE is "
				  "missing, or it is in another user namespace); %s"
				: "process %d belongs to another user: run this as that user or as "
				  "root; %s",
			(int)info->pid, path);
	exe[n] = '\0';
	info->exe = strdup(exe);
	return info->exe ? NULL : error_no_memory();
}

struct error *proc_info_read(pid_t pid, struct proc_info *ret)
{
	*ret = (struct proc_info){.pid = pid};
	_cleanup_free_ char *status = NULL, *auxv = NULL;
	size_t len, auxv_bytes = 0;
	struct error *error = process_read(pid, "status", ENVIRON_MAX, &status, &len);
	if (error) {
		error_destroy(error);
		return error_create(ERROR_INPUT, "no such process: %d", (int)pid);
	}
	if ((error = read_exe(ret)) ||
		(error = process_read(pid, "maps", MAPS_MAX, &ret->maps, &len)))
		return error;
	if ((error = process_read(pid, "environ", ENVIRON_MAX, &ret->environ, &ret->environ_bytes)))
		return error;
	if ((error = process_read(pid, "cmdline", ENVIRON_MAX, &ret->command, &len)))
		return error;
	blanks_for_nuls(ret->command, len);
	if ((error = process_read(pid, "auxv", ENVIRON_MAX, &auxv, &auxv_bytes)))
		return error;
	ret->secure = is_secure(auxv, auxv_bytes);
	ret->seccomp = status_field(status, "\nSeccomp:");
	ret->other_pids = !same_namespace(pid, "pid");
	ret->other_mounts = !same_namespace(pid, "mnt");
	return NULL;
}

/* What follows the name in /proc/PID/stat, from its state on (proc(5)); NULL: it is not there. */
static const char *stat_read(pid_t pid, char *text, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, bytes - 1);
	if (n <= 0)
		return NULL;
	text[n] = 0;
	const char *after = strrchr(text, ')');
	return after && after[1] == ' ' ? after + 2 : NULL;
}

bool process_is_stopped(pid_t pid)
{
	char text[512];
	const char *state = stat_read(pid, text, sizeof(text));
	return state && (*state == 'T' || *state == 't');
}

pid_t process_inner_pid(pid_t pid)
{
	char *text;
	size_t bytes;
	struct error *error = process_read(pid, "status", STATUS_MAX, &text, &bytes);
	if (error) {
		error_destroy(error);
		return pid;
	}
	const char *line = strstr(text, "\nNSpid:");
	const char *end = line ? strchrnul(line + 1, '\n') : NULL;
	while (end && end > line && end[-1] != '\t' && end[-1] != ' ')
		end--;
	int inner = end ? atoi(end) : 0;
	free(text);
	return inner > 0 ? inner : pid;
}

pid_t process_tracer(pid_t pid)
{
	static const char name[] = "\nTracerPid:";
	_cleanup_free_ char *status = NULL;
	size_t bytes;
	struct error *error = process_read(pid, "status", STATUS_MAX, &status, &bytes);
	const char *line = error ? NULL : strstr(status, name);
	error_destroy(error);
	return line ? (pid_t)strtol(line + strlen(name), NULL, 10) : 0;
}

pid_t process_parent(pid_t pid)
{
	char text[512];
	const char *state = stat_read(pid, text, sizeof(text));
	return state && *state ? atoi(state + 1) : 0;
}

/* Fields from state (3) to starttime (22). */
#define FIELDS_TO_START 19

uint64_t process_start_ticks(pid_t pid)
{
	char text[512];
	const char *at = stat_read(pid, text, sizeof(text));
	if (at && (*at == 'Z' || *at == 'X'))
		return 0;
	for (int i = 0; at && i < FIELDS_TO_START; i++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t process_age_ns(pid_t pid)
{
	struct timespec now;
	uint64_t ticks = process_start_ticks(pid);
	uint64_t started = ticks * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
	clock_gettime(CLOCK_BOOTTIME, &now);
	uint64_t since = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
	return ticks && since > started ? since - started : 1;
}

/* Its inode (linux/proc_ns.h: PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE 0xeffffffcu

bool process_is_in_first_namespace(void)
{
	struct stat info;
	return stat("/proc/self/ns/pid", &info) == 0 && info.st_ino == FIRST_PID_NAMESPACE;
}

pid_t process_first_live_thread(pid_t pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	pid_t found = 0;
	for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		const char *state = tid > 0 ? stat_read(tid, text, sizeof(text)) : NULL;
		if (state && *state != 'Z' && *state != 'X')
			found = tid;
	}
	if (folder)
		closedir(folder);
	return found ? found : pid;
}

void proc_info_deinit(struct proc_info *info)
{
	free(info->exe);
	free(info->command);
	free(info->maps);
	free(info->environ);
	*info = (struct proc_info){.pid = 0};
}

const char *proc_info_getenv(const struct proc_info *info, const char *name)
{
	size_t n = strlen(name);
	const char *end = info->environ + info->environ_bytes;
	for (const char *at = info->environ; at < end; at += strlen(at) + 1) {
		if (!strncmp(at, name, n) && at[n] == '=')
			return at + n + 1;
	}
	return NULL;
}
