/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/util.h"
#include "capture/check_settings.h"

#define READ_BYTES ((size_t)64 << 10)
#define AFTER_END_NS 1000000000u
#define HASH_START 0xcbf29ce484222325u

void trial_init(struct trial *trial)
{
	*trial = (struct trial){.hash = {HASH_START, HASH_START}};
	for (int i = 0; i < TRIAL_STREAMS; i++)
		buf_init(&trial->kept[i]);
}

void trial_deinit(struct trial *trial)
{
	for (int i = 0; i < TRIAL_STREAMS; i++)
		buf_deinit(&trial->kept[i]);
}

static uint64_t trial_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The environment of the program: ours, with `settings` and the library. Freed with its first
 * entry, which is the only one that is not borrowed. */
static char **environment_create(const struct trial_program *program, const char *settings)
{
	size_t count = 0, n = 0, name = strcspn(settings, "=") + 1;
	while (environ[count])
		count++;
	char **env = calloc(count + 4, sizeof(*env));
	const char *others = getenv("LD_PRELOAD");
	bool more = others && *others;
	if (!env)
		return NULL;
	if (asprintf(&env[0], "LD_PRELOAD=%s%s%s", program->preload, more ? ":" : "",
		    more ? others : "") < 0) {
		free(env);
		return NULL;
	}
	env[++n] = (char *)settings;
	/* As many variables as a recorded program has. */
	env[++n] = (char *)HW_SESSION_ENV "=";
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], settings, name) &&
			strncmp(environ[i], HW_SESSION_ENV "=", strlen(HW_SESSION_ENV) + 1))
			env[++n] = environ[i];
	return env;
}

static void environment_destroy(char **env)
{
	if (env)
		free(env[0]);
	free(env);
}

int trial_open_input(int input)
{
	char path[64];
	if (input < 0)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", input);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void child_go(
	const struct trial_program *program, const int ends[TRIAL_STREAMS], int failed, char **env)
{
	sigset_t none;
	int input = trial_open_input(program->input);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (input < 0 || dup2(input, 0) < 0 || dup2(ends[TRIAL_OUT], 1) < 0 ||
		dup2(ends[TRIAL_ERR], 2) < 0 ||
		(program->shared >= 0 && fcntl(program->shared, F_SETFD, 0)))
		_exit(ERROR_INTERNAL);
	check_settings_name_process(env[1]);
	/* Refused in some containers; then addresses differ from run to run. */
	personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	execve(program->file, program->argv, env);
	int why = errno;
	(void)!write(failed, &why, sizeof(why));
	_exit(ERROR_INTERNAL);
}

/* FNV-1a: the same however the bytes are divided into reads. */
static uint64_t hash_more(uint64_t hash, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ data[i]) * 0x100000001b3u;
	return hash;
}

static void keep_bytes(struct trial *trial, int stream, const uint8_t *data, size_t len)
{
	size_t room = TRIAL_KEPT_MOST - trial->kept[stream].len;
	size_t kept = len < room ? len : room;
	trial->bytes[stream] += len;
	if (kept && !buf_bytes(&trial->kept[stream], data, kept))
		return;
	trial->hash[stream] = hash_more(trial->hash[stream], data + kept, len - kept);
}

/* Reads what there is. Returns false at the end of the stream. */
static bool read_stream(struct trial *trial, int stream, int fd)
{
	uint8_t data[READ_BYTES];
	ssize_t got = read(fd, data, sizeof(data));
	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	if (got > 0)
		keep_bytes(trial, stream, data, (size_t)got);
	return got > 0;
}

struct running {
	pid_t pid;
	int fds[TRIAL_STREAMS + 1]; /* streams, and the process itself */
	uint64_t began, ends_by;    /* 0: never */
};

static int wait_ms(const struct running *running)
{
	if (!running->ends_by)
		return -1;
	uint64_t now = trial_now();
	return now >= running->ends_by ? 0 : (int)((running->ends_by - now) / 1000000u) + 1;
}

/* The process has ended: other processes that have its streams get a moment more. */
static void note_end(struct running *running)
{
	close(running->fds[TRIAL_STREAMS]);
	running->fds[TRIAL_STREAMS] = -1;
	running->ends_by = trial_now() + AFTER_END_NS;
}

static void trial_follow(struct running *running, struct trial *trial)
{
	for (;;) {
		struct pollfd polled[TRIAL_STREAMS + 1];
		bool open = false;
		for (size_t i = 0; i < ARRAY_SIZE(polled); i++) {
			polled[i] = (struct pollfd){.fd = running->fds[i], .events = POLLIN};
			open |= running->fds[i] >= 0;
		}
		if (!open)
			return;
		int ready = poll(polled, ARRAY_SIZE(polled), wait_ms(running));
		if (ready < 0 && errno != EINTR)
			return;
		if (ready == 0) {
			trial->timed_out |= running->fds[TRIAL_STREAMS] >= 0;
			kill(-running->pid, SIGKILL);
			kill(running->pid, SIGKILL);
			return;
		}
		for (int i = 0; ready > 0 && i < TRIAL_STREAMS; i++)
			if (polled[i].revents && !read_stream(trial, i, running->fds[i])) {
				close(running->fds[i]);
				running->fds[i] = -1;
			}
		if (ready > 0 && polled[TRIAL_STREAMS].revents)
			note_end(running);
	}
}

static void trial_finish(struct running *running, struct trial *trial)
{
	trial_follow(running, trial);
	child_wait(running->pid, &trial->status, 0);
	trial->ns = trial_now() - running->began;
	for (size_t i = 0; i < ARRAY_SIZE(running->fds); i++)
		if (running->fds[i] >= 0)
			close(running->fds[i]);
}

static void close_pair(int pair[2])
{
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
}

static struct error *trial_start(
	const struct trial_program *program, char **env, struct running *ret)
{
	int pipes[TRIAL_STREAMS + 1][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
	int why = 0;
	bool made = true;
	for (size_t i = 0; i < ARRAY_SIZE(pipes); i++)
		made = made && !pipe2(pipes[i], O_CLOEXEC);
	pid_t pid = made ? fork() : -1;
	if (!pid)
		child_go(program, (int[]){pipes[TRIAL_OUT][1], pipes[TRIAL_ERR][1]},
			pipes[TRIAL_STREAMS][1], env);
	if (pid < 0)
		why = errno;
	for (size_t i = 0; i < ARRAY_SIZE(pipes) && pid >= 0; i++) {
		close(pipes[i][1]);
		pipes[i][1] = -1;
	}
	if (pid > 0 && read(pipes[TRIAL_STREAMS][0], &why, sizeof(why)) == (ssize_t)sizeof(why))
		child_wait(pid, NULL, 0);
	if (why || pid < 0) {
		for (size_t i = 0; i < ARRAY_SIZE(pipes); i++)
			close_pair(pipes[i]);
		return error_errno(ERROR_ENVIRONMENT, why, "can't run %s", program->argv[0]);
	}
	close(pipes[TRIAL_STREAMS][0]);
	*ret = (struct running){.pid = pid,
		.fds = {pipes[TRIAL_OUT][0], pipes[TRIAL_ERR][0],
			(int)syscall(SYS_pidfd_open, pid, 0)},
		.began = trial_now()};
	ret->ends_by = program->most_ns ? ret->began + program->most_ns : 0;
	return NULL;
}

struct error *trial_run(
	const struct trial_program *program, const char *settings, struct trial *trial)
{
	struct running running = {.pid = 0};
	char **env = environment_create(program, settings);
	if (!env)
		return error_no_memory();
	struct error *error = trial_start(program, env, &running);
	environment_destroy(env);
	if (error)
		return error;
	trial_finish(&running, trial);
	for (int i = 0; i < TRIAL_STREAMS; i++)
		if (trial->kept[i].failed)
			return error_no_memory();
	return NULL;
}

struct error *trial_input(int *ret)
{
	uint8_t data[READ_BYTES];
	ssize_t got;
	*ret = -1;
	if (isatty(STDIN_FILENO) || fcntl(STDIN_FILENO, F_GETFD) < 0)
		return NULL;
	int fd = memfd_create("heapwise-input", MFD_CLOEXEC);
	if (fd < 0)
		return error_errno(
			ERROR_ENVIRONMENT, errno, "can't make a file for the standard input");
	while ((got = read(STDIN_FILENO, data, sizeof(data))) > 0 || (got < 0 && errno == EINTR)) {
		struct error *error =
			got > 0 ? write_all(fd, "the copy of standard input", data, (size_t)got)
				: NULL;
		if (error) {
			close(fd);
			return error;
		}
	}
	*ret = fd;
	return NULL;
}
