/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/serve/serve_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/util.h"

#define READ_BYTES ((size_t)256 << 10)

/* The process that was forked: as if a shell had started it, but that it ends with the server. */
static void child_prepare(const int ends[2], pid_t parent)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	sigset_t none;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(ERROR_INTERNAL);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		signal(numbers[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(ends[0], 1) < 0 || dup2(ends[1], 2) < 0)
		_exit(ERROR_INTERNAL);
	close_range(3, ~0u, 0);
}

static void child_run(char *const *words, int (*run)(void *ctx), void *ctx)
{
	if (words && !run) {
		execv("/proc/self/exe", words);
		_exit(ERROR_INTERNAL);
	}
	int code = run(words ? (void *)words : ctx);
	fflush(NULL);
	_exit(code);
}

struct error *serve_child_start(
	struct serve_child *child, char *const *words, int (*run)(void *ctx), void *ctx)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1};
	buf_init(&child->out[0]);
	buf_init(&child->out[1]);
	child->pipes[0] = child->pipes[1] = -1;
	pid_t parent = getpid();
	if (pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0)
		child->pid = fork();
	else
		child->pid = -1;
	int why = errno;
	if (child->pid == 0) {
		child_prepare((const int[2]){out[1], err[1]}, parent);
		child_run(words, run, ctx);
	}
	if (out[1] >= 0)
		close(out[1]);
	if (err[1] >= 0)
		close(err[1]);
	child->pipes[0] = out[0];
	child->pipes[1] = err[0];
	if (child->pid < 0) {
		child->pid = 0;
		return error_errno(ERROR_ENVIRONMENT, why, "cannot start a process");
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	return NULL;
}

/* Keeps what fits. */
static void child_keep(struct serve_child *child, int which, const char *data, size_t len)
{
	struct buf *kept = &child->out[which];
	size_t most = child->most[which];
	bool fits = kept->len + len <= most;
	if (kept->failed)
		serve_child_kill(child, true);
	else if (fits || which)
		buf_bytes(kept, data, fits ? len : most - kept->len);
	else if (!child->is_large) {
		child->is_large = true;
		serve_child_kill(child, true);
	}
}

/* Reads one pipe as far as it goes; at its end closes it. */
static void child_read_pipe(struct serve_child *child, int which)
{
	_cleanup_free_ char *data = malloc(READ_BYTES);
	ssize_t len;
	if (!data || child->pipes[which] < 0)
		return;
	do {
		len = read(child->pipes[which], data, READ_BYTES);
		if (len > 0)
			child_keep(child, which, data, (size_t)len);
	} while (len > 0 || (len < 0 && errno == EINTR));
	if (len < 0 && errno == EAGAIN)
		return;
	close(child->pipes[which]);
	child->pipes[which] = -1;
}

bool serve_child_read(struct serve_child *child)
{
	child_read_pipe(child, 0);
	child_read_pipe(child, 1);
	return child->pipes[0] < 0 && child->pipes[1] < 0;
}

int serve_child_wait(struct serve_child *child)
{
	int status = 0;
	if (child->pid)
		child_wait(child->pid, &status, 0);
	child->pid = 0;
	return status;
}

void serve_child_kill(struct serve_child *child, bool at_once)
{
	if (child->pid)
		kill(child->pid, at_once ? SIGKILL : SIGTERM);
}

void serve_child_deinit(struct serve_child *child)
{
	if (child->pid) {
		serve_child_kill(child, true);
		serve_child_wait(child);
	}
	for (int i = 0; i < 2; i++) {
		if (child->pipes[i] >= 0)
			close(child->pipes[i]);
		buf_deinit(&child->out[i]);
	}
}
