/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Three processes: this one waits; the program, forked first so that its PID can be part of the
 * file's name, held back on a pipe until the collector, forked second, is ready.
 */
#include "capture/launch.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/collector.h"
#include "capture/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct launcher {
	const struct launch_options *options;
	struct session session;
	struct clock_pair began;
	sigset_t old_mask;
	struct sigaction old_child;
	pid_t target, collector;
	int go;     /* write end: one byte lets the target go */
	int failed; /* read end: errno if exec failed */
	int control;
	int file;
	char *file_name;
};

/* The target's environment: ours, with the runtime in front of LD_PRELOAD and the session's name.
 */
static char **environment_make(const struct launcher *l)
{
	size_t count = 0, n = 0;
	while (environ[count])
		count++;
	char **env = calloc(count + 3, sizeof(*env));
	if (!env)
		return NULL;
	const char *preload = getenv("LD_PRELOAD");
	bool others = preload && *preload;
	if (asprintf(&env[n], "LD_PRELOAD=%s%s%s", l->options->runtime, others ? ":" : "",
		    others ? preload : "") < 0 ||
		asprintf(&env[n + 1], HW_SESSION_ENV "=%s", l->session.path) < 0)
		return NULL; /* the process is about to give up */
	n += 2;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) &&
			strncmp(environ[i], HW_SESSION_ENV "=", strlen(HW_SESSION_ENV) + 1))
			env[n++] = environ[i];
	}
	return env;
}

static void target_main(struct launcher *l, char **env, int go, int failed)
{
	sigaction(SIGCHLD, &l->old_child, NULL);
	sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
	char byte;
	ssize_t n;
	while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		_exit(125);
	close(go);
	execve(l->options->program, l->options->argv, env);
	int why = errno;
	(void)!write(failed, &why, sizeof(why));
	_exit(why == ENOENT ? 127 : 126);
}

static struct error *target_fork(struct launcher *l)
{
	int go[2], failed[2];
	char **env = environment_make(l);
	if (!env)
		return error_no_memory();
	if (pipe2(go, O_CLOEXEC))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create a pipe");
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create a pipe");
	}
	l->go = go[1];
	l->failed = failed[0];
	l->target = fork();
	if (!l->target) {
		close(go[1]);
		close(failed[0]);
		target_main(l, env, go[0], failed[1]);
	}
	int why = errno;
	close(go[0]);
	close(failed[1]);
	free(env[0]);
	free(env[1]);
	free(env);
	return l->target < 0 ? error_errno(ERROR_ENVIRONMENT, why, "can't start a process") : NULL;
}

static struct error *file_name_make(struct launcher *l)
{
	const char *pattern = l->options->file ? l->options->file : "heapwise.%n.%p.hpw";
	const char *name = strrchr(l->options->argv[0], '/');
	name = name ? name + 1 : l->options->argv[0];
	char host[256] = "localhost";
	gethostname(host, sizeof(host) - 1);
	struct text t;
	text_init(&t);
	if (*pattern != '/') {
		_cleanup_free_ char *folder = getcwd(NULL, 0);
		if (!folder) {
			text_deinit(&t);
			return error_errno(
				ERROR_ENVIRONMENT, errno, "can't tell the current folder");
		}
		text_printf(&t, "%s/", strcmp(folder, "/") ? folder : "");
	}
	for (const char *p = pattern; *p; p++) {
		if (*p != '%') {
			text_add_char(&t, *p);
			continue;
		}
		p++;
		if (*p == 'p')
			text_printf(&t, "%d", (int)l->target);
		else if (*p == 'n')
			text_add(&t, name);
		else if (*p == 'h')
			text_add(&t, host);
		else if (*p == '%')
			text_add_char(&t, '%');
		else {
			text_deinit(&t);
			return error_create(ERROR_USAGE,
				"-o %s: unknown %%%c; there are %%n (program), %%p (PID), %%h "
				"(host) and %%%%",
				pattern, *p ? *p : ' ');
		}
	}
	l->file_name = text_steal(&t);
	return l->file_name ? NULL : error_no_memory();
}

static struct error *file_open(struct launcher *l)
{
	struct error *error = file_name_make(l);
	if (error)
		return error;
	struct stat st;
	if (l->options->overwrite && !lstat(l->file_name, &st) && !S_ISREG(st.st_mode))
		return error_create(ERROR_ENVIRONMENT,
			"%s is not a regular file: -f replaces recordings only", l->file_name);
	if (l->options->overwrite && unlink(l->file_name) && errno != ENOENT)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't replace %s", l->file_name);
	l->file = open(l->file_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (l->file < 0 && errno == EEXIST)
		return error_create(ERROR_ENVIRONMENT,
			"%s exists already; -f replaces it, -o FILE takes another name",
			l->file_name);
	if (l->file < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create %s", l->file_name);
	return NULL;
}

/* The collector: away from the terminal and its signals, nothing of ours left open. */
static int collector_main(struct launcher *l, int control)
{
	setsid();
	prctl(PR_SET_NAME, "heapwise-collect");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	close(l->go);
	close(l->failed);
	close(l->control);
	signal(SIGCHLD, SIG_DFL);
	static const int deaf[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE, SIGXFSZ};
	for (unsigned i = 0; i < sizeof(deaf) / sizeof(deaf[0]); i++)
		signal(deaf[i], SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	struct collector_start start = {.session = l->session,
		.control = control,
		.root = l->target,
		.file = l->file,
		.file_name = l->file_name,
		.began = l->began};
	return collector_run(&start);
}

static struct error *collector_fork(struct launcher *l)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create a socket pair");
	l->control = pair[0];
	l->collector = fork();
	if (!l->collector)
		_exit(collector_main(l, pair[1]));
	int why = errno;
	close(pair[1]);
	return l->collector < 0 ? error_errno(ERROR_ENVIRONMENT, why, "can't start the collector")
				: NULL;
}

/* A terminal sends its signals to the whole group, the target included; what a process sends is
 * meant for the target alone. */
static void pass_on(const struct launcher *l, const siginfo_t *info)
{
	if (info->si_signo == SIGCONT || info->si_code <= 0)
		kill(l->target, info->si_signo);
}

static void wait_for_target(const struct launcher *l, const sigset_t *watched, int *ret_status)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(l->target, &status, WNOHANG | WUNTRACED);
		if (pid == l->target && WIFSTOPPED(status)) {
			raise(SIGSTOP);
			continue;
		}
		if (pid == l->target || (pid < 0 && errno == ECHILD)) {
			*ret_status = pid < 0 ? 0 : status;
			return;
		}
		siginfo_t info;
		if (sigwaitinfo(watched, &info) > 0 && info.si_signo != SIGCHLD)
			pass_on(l, &info);
	}
}

#define STOPPED_CHECK_MS 2000

/* State T in /proc/PID/stat (proc(5)): stopped by a signal. */
static bool is_stopped(pid_t pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = 0;
	const char *after = strrchr(text, ')');
	return after && after[1] == ' ' && after[2] == 'T';
}

static void collect_totals(struct launcher *l, int status, struct launch_result *ret)
{
	struct collector_ended ended = {HPW_EXIT_STATUS, (uint32_t)WEXITSTATUS(status)};
	if (WIFSIGNALED(status))
		ended = (struct collector_ended){HPW_EXIT_SIGNAL, (uint32_t)WTERMSIG(status)};
	(void)!send(l->control, &ended, sizeof(ended), MSG_NOSIGNAL);
	struct pollfd answer = {.fd = l->control, .events = POLLIN};
	while (poll(&answer, 1, STOPPED_CHECK_MS) <= 0) {
		/* Somebody has stopped the collector: it will finish the file when it is let go on.
		 */
		if (is_stopped(l->collector))
			return;
	}
	ret->have_totals = recv(l->control, &ret->totals, sizeof(ret->totals), 0) ==
			   (ssize_t)sizeof(ret->totals);
	while (waitpid(l->collector, NULL, 0) < 0 && errno == EINTR)
		;
}

static void watch_signals(struct launcher *l, sigset_t *ret)
{
	static const int watched[] = {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
		SIGALRM, SIGTSTP, SIGCONT, SIGWINCH, SIGPIPE, SIGIO, SIGURG, SIGVTALRM, SIGPROF};
	sigemptyset(ret);
	for (unsigned i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		sigaddset(ret, watched[i]);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		sigaddset(ret, i);
	sigprocmask(SIG_BLOCK, ret, &l->old_mask);
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigaction(SIGCHLD, &usual, &l->old_child);
}

/* Nothing has been started that matters: takes everything back. */
static struct error *give_up(struct launcher *l, struct error *error)
{
	if (l->go >= 0)
		close(l->go); /* the target sees the end of the pipe and leaves */
	if (l->target > 0)
		waitpid(l->target, NULL, 0);
	if (l->file >= 0) {
		close(l->file);
		unlink(l->file_name);
	}
	session_remove(&l->session);
	free(l->file_name);
	return error;
}

struct error *launch(const struct launch_options *options, struct launch_result *ret)
{
	struct launcher l = {.options = options,
		.began = clock_pair_now(),
		.go = -1,
		.failed = -1,
		.control = -1,
		.file = -1};
	memset(ret, 0, sizeof(*ret));
	sigset_t watched;
	struct error *error = session_create(&l.session);
	if (error)
		return error;
	watch_signals(&l, &watched);
	if ((error = target_fork(&l)) || (error = file_open(&l)) || (error = collector_fork(&l)))
		return give_up(&l, error);
	close(l.file);
	close(l.session.socket);
	(void)!write(l.go, "", 1);
	close(l.go);
	int why = 0;
	if (read(l.failed, &why, sizeof(why)) == (ssize_t)sizeof(why))
		ret->exec_errno = why;
	close(l.failed);
	wait_for_target(&l, &watched, &ret->status);
	collect_totals(&l, ret->status, ret);
	close(l.control);
	if (ret->exec_errno)
		unlink(l.file_name);
	ret->file = l.file_name;
	/* What came too late to be passed on was meant for the program, not for us. */
	const struct timespec none = {0, 0};
	while (sigtimedwait(&watched, NULL, &none) > 0)
		;
	sigaction(SIGCHLD, &l.old_child, NULL);
	sigprocmask(SIG_SETMASK, &l.old_mask, NULL);
	return NULL;
}
