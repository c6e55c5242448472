/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/subject.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "capture/shared_memory.h"
#include "process/living.h"
#include "process/maps.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Numbers tried for one name before giving up. */
#define NAMES_MAX 10000
/* The machine's own PID namespace (linux/proc_ns.h: PROC_PID_INIT_INO). */
#define FIRST_NAMESPACE 0xeffffffcu

struct subject *subject_create(pid_t pid)
{
	struct subject *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->pid = pid;
	s->watch = HOLD_NO_WATCH;
	s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (s->pidfd < 0) {
		free(s);
		return NULL;
	}
	return s;
}

void subject_destroy(struct subject *subject)
{
	if (!subject)
		return;
	leak_job_cancel(subject->leaks);
	hold_watch_end(&subject->watch);
	judge_cancel(subject->judge);
	recorder_destroy(subject->recorder);
	close(subject->pidfd);
	free(subject);
}

bool subject_has_ended(const struct subject *subject)
{
	struct pollfd ended = {.fd = subject->pidfd, .events = POLLIN};
	return poll(&ended, 1, 0) == 1;
}

bool subject_is_same_image(const struct subject *subject)
{
	struct process_maps maps;
	struct error *error = subject->recorder ? process_maps_read(subject->pid, &maps) : NULL;
	if (!subject->recorder || error) {
		error_destroy(error);
		return false;
	}
	bool same = false;
	for (size_t i = 0; i < maps.maps.len && !same; i++) {
		const struct process_map *map = &maps.maps.data[i];
		same = map->inode && map->inode == subject->rings_inode &&
		       strstr(map->path, SHARED_MEMORY_PREFIX);
	}
	process_maps_deinit(&maps);
	return same;
}

/* Whether a line of /proc/PID/status has all ids of a process be this one. */
static bool ids_are(const char *status, const char *name, unsigned id)
{
	unsigned real, effective, saved;
	const char *line = strstr(status, name);
	return line && sscanf(line + strlen(name), "%u %u %u", &real, &effective, &saved) == 3 &&
	       real == id && effective == id && saved == id;
}

/* Whether the kernel tells us how that process ended: as it would let us trace it (ptrace(2)). Of
 * who has ended, no file's owner says so: they are all root's. */
static bool may_know_exit(pid_t pid)
{
	if (geteuid() == 0)
		return true;
	char *status;
	size_t bytes;
	struct error *error = process_read(pid, "status", 16384, &status, &bytes);
	if (error) {
		error_destroy(error);
		return false;
	}
	bool may = ids_are(status, "\nUid:", geteuid()) && ids_are(status, "\nGid:", getegid());
	free(status);
	return may;
}

/* Whether a process has, by its /proc/PID/stat: it waits for its parent to ask (Z), or that has
 * just asked (X). */
static bool has_ended(const char *stat)
{
	const char *state = strrchr(stat, ')');
	return state && (!strncmp(state, ") Z", 3) || !strncmp(state, ") X", 3));
}

/* The last field of /proc/PID/stat (proc(5): exit_code), as waitpid(2) gives it. The kernel shows 0
 * to those who may not see it. */
static bool exit_code_read(pid_t pid, int *ret)
{
	char *text;
	size_t bytes;
	struct error *error = process_read(pid, "stat", 4096, &text, &bytes);
	if (error) {
		error_destroy(error);
		return false;
	}
	const char *last = strrchr(text, ' ');
	bool known = has_ended(text) && last > strrchr(text, ')') && may_know_exit(pid);
	if (known)
		*ret = atoi(last);
	free(text);
	return known;
}

/* linux/pidfd.h of Linux 6.15: PIDFD_GET_INFO. It knows the exit code once the parent has asked for
 * it. */
struct pidfd_info_v0 {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
static_assert(sizeof(struct pidfd_info_v0) == 64, "the kernel's");
#define GET_INFO _IOWR(0xFF, 11, struct pidfd_info_v0)
#define INFO_EXIT (1u << 3)

static bool exit_code_ask(int pidfd, int *ret)
{
	struct pidfd_info_v0 info = {.mask = INFO_EXIT};
	if (ioctl(pidfd, GET_INFO, &info) || !(info.mask & INFO_EXIT))
		return false;
	*ret = info.exit_code;
	return true;
}

bool subject_ending_is_to_come(const struct subject *subject)
{
	struct pidfd_info_v0 info = {.mask = INFO_EXIT};
	char *text;
	size_t bytes;
	if (ioctl(subject->pidfd, GET_INFO, &info) && errno != ESRCH)
		return false; /* an older kernel */
	struct error *error = process_read(subject->pid, "stat", 4096, &text, &bytes);
	if (error) {
		/* Since then the parent may have asked: the kernel notes the code before it takes
		 * the process away. */
		int status;
		error_destroy(error);
		return exit_code_ask(subject->pidfd, &status);
	}
	bool waits = has_ended(text);
	free(text);
	return waits;
}

enum hpw_exit_kind subject_ending(const struct subject *subject, uint32_t *ret_value)
{
	int status;
	*ret_value = 0;
	/* The parent may ask while we do: then the second time helps, or a later one
	 * (subject_ending_is_to_come()). */
	if (!exit_code_ask(subject->pidfd, &status) && !exit_code_read(subject->pid, &status) &&
		!exit_code_ask(subject->pidfd, &status))
		return HPW_EXIT_UNKNOWN;
	bool killed = WIFSIGNALED(status);
	*ret_value = (uint32_t)(killed ? WTERMSIG(status) : WEXITSTATUS(status));
	return killed ? HPW_EXIT_SIGNAL : HPW_EXIT_STATUS;
}

void subject_program(pid_t pid, char *ret, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, ret, bytes - 1);
	ret[n > 0 ? n : 0] = 0;
}

void subject_command(pid_t pid, char ret[static SUBJECT_COMMAND_MAX])
{
	char exe[4096];
	subject_program(pid, exe, sizeof(exe));
	snprintf(ret, SUBJECT_COMMAND_MAX, "%.*s", SUBJECT_COMMAND_MAX - 1, path_last_part(exe));
}

int subject_file_create(struct subject *subject, const char *root_file)
{
	size_t stem = strlen(root_file);
	const char *extension = stem > 4 && !strcmp(root_file + stem - 4, ".hpw") ? ".hpw" : "";
	stem -= strlen(extension);
	for (uint32_t n = subject->images; n < subject->images + NAMES_MAX; n++) {
		char number[16] = "";
		if (n)
			snprintf(number, sizeof(number), ".%u", n);
		snprintf(subject->file, sizeof(subject->file), "%.*s.%d%s%s", (int)stem, root_file,
			(int)subject->pid, number, extension);
		int fd = open(
			subject->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

bool subject_takes_collector_along(const struct session_caller *caller, bool is_program)
{
	struct stat own;
	if (caller->hello.pid != caller->pid)
		return false;
	return caller->pid == 1 ||
	       (is_program && !stat("/proc/self/ns/pid", &own) && own.st_ino != FIRST_NAMESPACE);
}

struct error *subject_record(struct subject *subject, struct session_caller *caller,
	const struct subject_wishes *wishes, const char *parent_file, int file)
{
	const struct leak_check *leaks = &wishes->leak_check;
	subject->takes_along =
		subject_takes_collector_along(caller, subject->is_root && !subject->has_launcher);
	subject->searched = false;
	char memory_name[HW_SESSION_BYTES];
	session_mapping(caller->session ? caller->session : "", memory_name);
	const struct recorder_start start = {.memory_name = memory_name,
		.pid = caller->pid,
		.outer_ppid = caller->ppid,
		.target_pid = caller->hello.pid,
		.ppid = caller->hello.ppid,
		.forked = caller->hello.reason == HW_HELLO_FORK,
		.forked_at = caller->hello.forked_at,
		.parent_file = parent_file,
		.tsc_hz = wishes->tsc_hz,
		.mode = wishes->mode,
		.awaited = subject->takes_along || leaks->at_exit || leaks->at_main_end,
		.awaited_at_main_end = leaks->at_main_end,
		.as_lsan = leaks->as_lsan,
		.clears = leaks->clears,
		.lsan_functions = lsan_program_is(&leaks->program, caller->pid)
					  ? leaks->program.functions
					  : NULL,
		.began = clock_pair_now(),
		.file = file,
		.file_name = subject->file};
	struct error *error = recorder_create(&start, &subject->recorder);
	subject_command(subject->pid, subject->command);
	if (error) {
		unlink(subject->file); /* there is nothing in it */
		return error;
	}
	if (!session_answer(caller, subject->recorder->memory)) {
		recorder_destroy(steal_ptr(subject->recorder));
		unlink(subject->file);
		return subject_has_ended(subject)
			       ? NULL
			       : error_create(ERROR_ENVIRONMENT,
					 "process %d did not wait for the collector's answer",
					 (int)subject->pid);
	}
	struct stat st;
	subject->rings_inode = fstat(subject->recorder->memory, &st) ? 0 : st.st_ino;
	subject->images++;
	close(subject->recorder->memory);
	subject->recorder->memory = -1;
	return NULL;
}
