/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/tracked_process.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "capture/shared_memory.h"
#include "process/maps.h"
#include "process/proc_info.h"

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
#define STATUS_BYTES 16384
/* The kernel's names of tasks (linux/sched.h: TASK_COMM_LEN), without the NUL. */
#define COMM_BYTES 15
#define UID_LINE "\nUid:"

struct tracked_process *tracked_process_create(pid_t pid)
{
	struct tracked_process *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->pid = pid;
	s->watch = NO_DEATH_WATCH;
	s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (s->pidfd < 0) {
		free(s);
		return NULL;
	}
	return s;
}

void tracked_process_destroy(struct tracked_process *process)
{
	if (!process)
		return;
	leak_job_cancel(process->leaks);
	for (unsigned i = 0; i < DUMP_JOBS_MAX; i++)
		dump_job_cancel(&process->dumps.jobs[i]);
	dump_files_deinit(&process->dumps.files);
	free(process->dumps.own_files);
	free(process->dumps.folder);
	free(process->dumps.folder_of_other);
	death_watch_end(&process->watch);
	leak_verdict_cancel(process->verdict_child);
	recorder_destroy(process->recorder);
	close(process->pidfd);
	free(process);
}

bool tracked_process_has_ended(const struct tracked_process *process)
{
	struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
	return poll(&ended, 1, 0) == 1;
}

bool tracked_process_is_same_image(const struct tracked_process *process)
{
	struct process_maps maps;
	struct error *error = process->recorder ? process_maps_read(process->pid, &maps) : NULL;
	if (!process->recorder || error) {
		error_destroy(error);
		return false;
	}
	bool same = false;
	for (size_t i = 0; i < maps.maps.len && !same; i++) {
		const struct process_map *map = &maps.maps.data[i];
		same = map->inode && map->inode == process->rings_inode &&
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

bool tracked_process_is_of_other(const struct tracked_process *process)
{
	unsigned real, effective;
	char *status;
	size_t bytes;
	struct error *error = process_read(process->pid, "status", STATUS_BYTES, &status, &bytes);
	if (error) {
		error_destroy(error);
		return true;
	}
	const char *line = strstr(status, UID_LINE);
	bool is_ours = line && sscanf(line + strlen(UID_LINE), "%u %u", &real, &effective) == 2 &&
		       effective == geteuid();
	free(status);
	return !is_ours;
}

/* Returns whether the kernel shows how that process ended, which it does if this process may trace
 * it (ptrace(2)). The owner of an ended process's files does not show that: they all belong to
 * root. */
static bool may_know_exit(pid_t pid)
{
	if (geteuid() == 0)
		return true;
	char *status;
	size_t bytes;
	struct error *error = process_read(pid, "status", STATUS_BYTES, &status, &bytes);
	if (error) {
		error_destroy(error);
		return false;
	}
	bool may = ids_are(status, UID_LINE, geteuid()) && ids_are(status, "\nGid:", getegid());
	free(status);
	return may;
}

/* Whether a process has, by its /proc/PID/stat: it waits for its parent to ask (Z), or that has
 * just asked (X). */
static bool stat_has_ended(const char *stat)
{
	const char *state = strrchr(stat, ')');
	return state && (!strncmp(state, ") Z", 3) || !strncmp(state, ") X", 3));
}

/* The last field of /proc/PID/stat (proc(5): exit_code), as waitpid(2) gives it. The kernel shows 0
 * to callers that may not see it. */
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
	bool known = stat_has_ended(text) && last > strrchr(text, ')') && may_know_exit(pid);
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

bool tracked_process_ending_is_to_come(const struct tracked_process *process)
{
	struct pidfd_info_v0 info = {.mask = INFO_EXIT};
	char *text;
	size_t bytes;
	if (ioctl(process->pidfd, GET_INFO, &info) && errno != ESRCH)
		return false; /* an older kernel */
	struct error *error = process_read(process->pid, "stat", 4096, &text, &bytes);
	if (error) {
		/* Since then the parent may have asked: the kernel notes the code before it takes
		 * the process away. */
		int status;
		error_destroy(error);
		return exit_code_ask(process->pidfd, &status);
	}
	bool waits = stat_has_ended(text);
	free(text);
	return waits;
}

enum hpw_exit_kind tracked_process_ending(
	const struct tracked_process *process, uint32_t *ret_value)
{
	int status;
	*ret_value = 0;
	/* The parent may ask while we do: then the second time helps, or a later one
	 * (tracked_process_ending_is_to_come()). */
	if (!exit_code_ask(process->pidfd, &status) && !exit_code_read(process->pid, &status) &&
		!exit_code_ask(process->pidfd, &status))
		return HPW_EXIT_UNKNOWN;
	bool killed = WIFSIGNALED(status);
	*ret_value = (uint32_t)(killed ? WTERMSIG(status) : WEXITSTATUS(status));
	return killed ? HPW_EXIT_SIGNAL : HPW_EXIT_STATUS;
}

void tracked_process_program(pid_t pid, char *ret, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)process_first_live_thread(pid));
	ssize_t n = readlink(path, ret, bytes - 1);
	ret[n > 0 ? n : 0] = 0;
}

void tracked_process_command(pid_t pid, char ret[static TRACKED_COMMAND_MAX])
{
	char exe[4096];
	tracked_process_program(pid, exe, sizeof(exe));
	snprintf(ret, TRACKED_COMMAND_MAX, "%.*s", TRACKED_COMMAND_MAX - 1, path_last_part(exe));
}

/* Reads the beginning of a file of /proc. */
static bool read_beginning(pid_t pid, const char *file, char *ret, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, bytes - 1);
	ret[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* The kernel has the name of the file that was executed, cut; the first word of the command has it
 * whole, unless it was another one. */
void tracked_process_started_as(pid_t pid, char ret[static TRACKED_COMMAND_MAX])
{
	char executed[32], first[4096];
	tracked_process_command(pid, ret);
	if (!read_beginning(pid, "comm", executed, sizeof(executed)) ||
		!read_beginning(pid, "cmdline", first, sizeof(first)))
		return;
	executed[strcspn(executed, "\n")] = 0;
	const char *name = path_last_part(first);
	size_t bytes = strlen(executed);
	if (bytes && !strncmp(name, executed, bytes) && (!name[bytes] || bytes == COMM_BYTES) &&
		strlen(name) < TRACKED_COMMAND_MAX)
		memcpy(ret, name, strlen(name) + 1);
}

int tracked_process_file_create(struct tracked_process *process, const char *root_file)
{
	size_t stem = strlen(root_file);
	const char *extension = stem > 4 && !strcmp(root_file + stem - 4, ".hpw") ? ".hpw" : "";
	stem -= strlen(extension);
	for (uint32_t n = process->images; n < process->images + NAMES_MAX; n++) {
		char number[16] = "";
		if (n)
			snprintf(number, sizeof(number), ".%u", n);
		snprintf(process->file, sizeof(process->file), "%.*s.%d%s%s", (int)stem, root_file,
			(int)process->pid, number, extension);
		int fd = open(
			process->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

int tracked_process_part_create(struct tracked_process *process)
{
	char number[16] = "", name[TRACKED_FILE_MAX];
	const char *file = process->file;
	size_t stem = strlen(file);
	const char *extension = stem > 4 && !strcmp(file + stem - 4, ".hpw") ? ".hpw" : "";
	stem -= strlen(extension);
	if (process->part > 1)
		stem -= (size_t)snprintf(number, sizeof(number), ".%u", process->part);
	for (uint32_t part = process->part + 1; part < process->part + NAMES_MAX; part++) {
		snprintf(name, sizeof(name), "%.*s.%u%s", (int)stem, file, part, extension);
		int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd >= 0) {
			process->part = part;
			memcpy(process->file, name, sizeof(name));
		}
		return fd;
	}
	return -1;
}

bool tracked_process_takes_collector_along(const struct session_caller *caller, bool is_program)
{
	struct stat own;
	if (caller->hello.pid != caller->pid)
		return false;
	return caller->pid == 1 ||
	       (is_program && !stat("/proc/self/ns/pid", &own) && own.st_ino != FIRST_NAMESPACE);
}

struct error *tracked_process_record(struct tracked_process *process, struct session_caller *caller,
	const struct recording_settings *settings, const char *parent_file, int file)
{
	const struct leak_check *leaks = &settings->leak_check;
	process->takes_along = tracked_process_takes_collector_along(
		caller, process->is_root && !process->has_launcher);
	process->searched = false;
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
		.tsc_hz = settings->tsc_hz,
		.mode = settings->mode,
		.attached_ns = settings->attached_ns,
		.older = settings->older,
		.awaited = process->takes_along || leaks->at_exit || leaks->at_main_end ||
			   settings->dumps_at_exit || settings->mode.mappings != MODE_MAPPINGS_OFF,
		.awaited_at_main_end = leaks->at_main_end,
		.as_lsan = leaks->as_lsan,
		.heap_check = leaks->heap_check,
		.clears = leaks->clears,
		.dump_signal = settings->dump_signal,
		.lsan_functions = lsan_program_is(&leaks->program, caller->pid)
					  ? leaks->program.functions
					  : NULL,
		.began = clock_pair_now(),
		.write_queue = settings->write_queue,
		.file = file,
		.file_name = process->file};
	struct error *error = recorder_create(&start, &process->recorder);
	tracked_process_command(process->pid, process->command);
	tracked_process_started_as(process->pid, process->started_as);
	tracked_process_program(process->pid, process->program, sizeof(process->program));
	if (error) {
		unlink(process->file); /* there is nothing in it */
		return error;
	}
	if (!session_answer(caller, process->recorder->memory)) {
		recorder_destroy(steal_ptr(process->recorder));
		unlink(process->file);
		return NULL;
	}
	struct stat st;
	process->rings_inode = fstat(process->recorder->memory, &st) ? 0 : st.st_ino;
	process->images++;
	process->part = 1;
	close(process->recorder->memory);
	process->recorder->memory = -1;
	return NULL;
}
