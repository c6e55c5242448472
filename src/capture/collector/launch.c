/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Three processes: this one waits; the program, forked first so that its PID can be part of the
 * file's name, held back on a pipe until the collector, forked second, is ready.
 */
#include "capture/launch.h"

#include "base/child.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/check_settings.h"
#include "capture/collector/collector.h"
#include "capture/daemonize.h"
#include "capture/recording_file.h"
#include "capture/session.h"
#include "process/proc_info.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
	struct rlimit old_files;
	pid_t self, target, collector;
	int go;     /* write end: one byte lets the target go */
	int failed; /* read end: errno if exec failed */
	int control;
	struct recording_file file;
	struct root_file *root_file; /* shared with the collector; MAP_FAILED: not to be had */
	struct foreign_descriptors apart;
};

/* The target's environment: ours, with the runtime in front of LD_PRELOAD and the session's name.
 */
static char **environment_make(const struct launcher *l)
{
	size_t count = 0, n = 0;
	while (environ[count])
		count++;
	char **env = calloc(count + 5, sizeof(*env));
	if (!env)
		return NULL;
	const char *preload = getenv("LD_PRELOAD");
	bool others = preload && *preload;
	const char *beside = l->options->beside;
	if (asprintf(&env[n], "LD_PRELOAD=%s%s%s%s%s", l->options->runtime, beside ? ":" : "",
		    beside ? beside : "", others ? ":" : "", others ? preload : "") < 0 ||
		asprintf(&env[n + 1], HW_SESSION_ENV "=%s", l->session.path) < 0)
		return NULL; /* the process is about to give up */
	n += 2;
	if (l->options->check && asprintf(&env[n++], HW_CHECK_ENV "=%s", l->options->check) < 0)
		return NULL;
	if (l->options->mode.mappings != MODE_MAPPINGS_OFF)
		env[n++] = (char *)HW_MAPPINGS_ENV "=1";
	for (size_t i = 0; i < count; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) &&
			strncmp(environ[i], HW_SESSION_ENV "=", strlen(HW_SESSION_ENV) + 1) &&
			strncmp(environ[i], HW_CHECK_ENV "=", strlen(HW_CHECK_ENV) + 1))
			env[n++] = environ[i];
	}
	return env;
}

/* What execvp(3) does with a file that the kernel does not know: a script without #!. */
#define SHELL "/bin/sh"

static char **shell_argv_make(const struct launcher *l)
{
	size_t count = 1;
	while (l->options->argv[count])
		count++;
	char **argv = calloc(count + 2, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = (char *)SHELL;
	argv[1] = (char *)l->options->program;
	for (size_t i = 1; i < count; i++)
		argv[i + 1] = l->options->argv[i];
	return argv;
}

static void target_main(struct launcher *l, char **env, char **shell_argv, int go, int failed)
{
	sigaction(SIGCHLD, &l->old_child, NULL);
	sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
	setrlimit(RLIMIT_NOFILE, &l->old_files);
	char byte;
	ssize_t n;
	while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		_exit(125);
	close(go);
	if (l->options->check)
		check_settings_name_process(env[2]);
	execve(l->options->program, l->options->argv, env);
	if (errno == ENOEXEC)
		execve(SHELL, shell_argv, env);
	int why = errno;
	(void)!write(failed, &why, sizeof(why));
	_exit(why == ENOENT ? 127 : 126);
}

static struct error *target_fork(struct launcher *l)
{
	int go[2], failed[2];
	char **env = environment_make(l);
	_cleanup_free_ char **shell_argv = shell_argv_make(l);
	if (!env || !shell_argv)
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
		target_main(l, env, shell_argv, go[0], failed[1]);
	}
	int why = errno;
	close(go[0]);
	close(failed[1]);
	free(env[0]);
	free(env[1]);
	if (l->options->check)
		free(env[2]);
	free(env);
	return l->target < 0 ? error_errno(ERROR_ENVIRONMENT, why, "can't start a process") : NULL;
}

static struct error *file_open(struct launcher *l)
{
	const struct recording_name name = {.pattern = l->options->file,
		.program = l->options->argv[0],
		.pid = l->target,
		.overwrite = l->options->overwrite};
	return recording_file_open(&name, &l->file);
}

static int collector_main(struct launcher *l, int control)
{
	const int kept[] = {control, l->file.fd, l->session.socket, l->session.abstract,
		l->session.lock, l->options->lifeline, l->options->errors};
	daemonize(&l->apart, kept, ARRAY_SIZE(kept));
	daemonize_close_streams(3);
	struct collector_start start = {.session = l->session,
		.control = control,
		.root_file = l->root_file == MAP_FAILED ? NULL : l->root_file,
		.launcher = l->self,
		.root = l->target,
		.file = l->file.fd,
		.file_name = l->file.name,
		.file_now = l->file.now,
		.children = l->options->children,
		.all_processes = l->options->all_processes,
		.mode = l->options->mode,
		.leak_check = l->options->leak_check,
		.dumps = l->options->dumps,
		.verdict = l->options->verdict,
		.verdict_context = l->options->verdict_context,
		.errors = l->options->errors,
		.began = l->began};
	return collector_run(&start);
}

static struct error *collector_fork(struct launcher *l)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create a socket pair");
	l->root_file = mmap(NULL, sizeof(*l->root_file), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	l->control = pair[0];
	l->self = getpid();
	l->collector = fork();
	if (!l->collector)
		_exit(collector_main(l, pair[1]));
	int why = errno;
	close(pair[1]);
	return l->collector < 0 ? error_errno(ERROR_ENVIRONMENT, why, "can't start the collector")
				: NULL;
}

/* The name of the program's latest recording; NULL: no memory. */
static char *last_file(const struct launcher *l)
{
	const struct root_file *shared = l->root_file;
	uint32_t current =
		shared == MAP_FAILED ? 0 : __atomic_load_n(&shared->current, __ATOMIC_ACQUIRE);
	return strdup(current ? shared->names[current - 1] : l->file.name);
}

/* A terminal sends its signals to the whole group, the target included; what a process sends is
 * meant for the target alone. */
static void pass_on(const struct launcher *l, const siginfo_t *info)
{
	if (info->si_signo == SIGCONT && info->si_pid == l->collector)
		return; /* see mirror_stop() and struct root_file */
	if (info->si_code <= 0 && info->si_pid == l->self)
		return; /* nobody reads our words any more */
	if (info->si_signo == SIGCONT || info->si_code <= 0)
		kill(l->target, info->si_signo);
}

/*
 * Stops like the program, for the process that waits for us. A shell lets both go on; should the
 * program alone go on, or be killed, the collector wakes us.
 */
static void mirror_stop(const struct launcher *l)
{
	static const struct collector_ended stops = {COLLECTOR_ROOT_STOPS, 0},
					    goes_on = {COLLECTOR_ROOT_GOES_ON, 0};
	(void)!send(l->control, &stops, sizeof(stops), MSG_NOSIGNAL | MSG_DONTWAIT);
	raise(SIGSTOP);
	(void)!send(l->control, &goes_on, sizeof(goes_on), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Says what is recorded of an interpreter in the program, if that is news. */
static void describe_python(const struct launcher *l, uint32_t *described)
{
	if (l->root_file == MAP_FAILED || !l->options->on_python)
		return;
	uint32_t notes = __atomic_load_n(&l->root_file->python, __ATOMIC_ACQUIRE);
	if (notes == *described)
		return;
	*described = notes;
	l->options->on_python(l->options->on_python_context, notes);
}

static void wait_for_target(
	const struct launcher *l, const sigset_t *watched, struct launch_result *ret)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(l->target, &status, WNOHANG | WUNTRACED);
		if (pid == l->target && WIFSTOPPED(status)) {
			mirror_stop(l);
			continue;
		}
		if (pid == l->target || (pid < 0 && errno == ECHILD)) {
			ret->status = pid < 0 ? 0 : status;
			return;
		}
		describe_python(l, &ret->python);
		siginfo_t info;
		if (sigwaitinfo(watched, &info) > 0 && info.si_signo != SIGCHLD)
			pass_on(l, &info);
	}
}

#define STOPPED_CHECK_MS 2000

static void collect_results(struct launcher *l, int status, struct launch_result *ret)
{
	struct collector_ended ended = {HPW_EXIT_STATUS, (uint32_t)WEXITSTATUS(status)};
	if (WIFSIGNALED(status))
		ended = (struct collector_ended){HPW_EXIT_SIGNAL, (uint32_t)WTERMSIG(status)};
	(void)!send(l->control, &ended, sizeof(ended), MSG_NOSIGNAL);
	struct pollfd answer = {.fd = l->control, .events = POLLIN};
	do {
		while (poll(&answer, 1, STOPPED_CHECK_MS) <= 0) {
			if (process_is_stopped(l->collector)) {
				ret->collector = LAUNCH_COLLECTOR_STOPPED;
				session_leave(&l->session);
				return;
			}
		}
	} while (launch_result_take(l->control, ret));
	if (ret->collector == LAUNCH_COLLECTOR_DIED)
		session_remove(&l->session);
	session_leave(&l->session);
	if (!ret->end.stays)
		child_wait(l->collector, NULL, 0);
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

/* A program may live with a few descriptors only; we need some ourselves. */
static void files_raise(struct launcher *l)
{
	if (getrlimit(RLIMIT_NOFILE, &l->old_files))
		return;
	struct rlimit raised = {l->old_files.rlim_max, l->old_files.rlim_max};
	setrlimit(RLIMIT_NOFILE, &raised);
}

/* Nothing has been started that matters: takes everything back. */
static struct error *abort_launch(struct launcher *l, struct error *error)
{
	if (l->go >= 0)
		close(l->go); /* the target sees the end of the pipe and leaves */
	if (l->target > 0)
		child_wait(l->target, NULL, 0);
	recording_file_discard(&l->file);
	session_remove(&l->session);
	return error;
}

uint64_t launch_shared_bytes(void)
{
	return HW_SHM_BYTES;
}

uint64_t launch_address_space(void)
{
	return HW_ADDRESS_SPACE_LEAST;
}

struct error *launch_limits_check(void)
{
	return daemonize_check_limits();
}

struct error *launch(const struct launch_options *options, struct launch_result *ret)
{
	struct launcher l = {.options = options,
		.session = {.socket = -1, .abstract = -1, .lock = -1},
		.began = clock_pair_now(),
		.go = -1,
		.failed = -1,
		.control = -1,
		.root_file = MAP_FAILED,
		.file = {.fd = -1}};
	daemonize_note_descriptors(&l.apart);
	memset(ret, 0, sizeof(*ret));
	ret->sampled = options->mode.sample_bytes;
	sigset_t watched;
	struct error *error = launch_limits_check();
	if (error)
		return error;
	files_raise(&l);
	watch_signals(&l, &watched);
	if ((error = session_create(NULL, &l.session)) || (error = target_fork(&l)) ||
		(error = file_open(&l)) || (error = collector_fork(&l)))
		return abort_launch(&l, error);
	close(l.file.fd);
	session_stop_listening(&l.session);
	if (options->on_start)
		options->on_start(options->on_start_context, l.target, l.session.path);
	(void)!write(l.go, "", 1);
	close(l.go);
	int why = 0;
	if (read(l.failed, &why, sizeof(why)) == (ssize_t)sizeof(why))
		ret->exec_errno = why;
	close(l.failed);
	wait_for_target(&l, &watched, ret);
	collect_results(&l, ret->status, ret);
	close(l.control);
	if (ret->exec_errno && ret->collector != LAUNCH_COLLECTOR_REPORTED)
		unlink(l.file.now);
	ret->last_file = last_file(&l);
	if (l.root_file != MAP_FAILED)
		munmap(l.root_file, sizeof(*l.root_file));
	ret->file = steal_ptr(l.file.name);
	recording_file_deinit(&l.file);
	/* What came too late to be passed on was meant for the program, not for us. */
	const struct timespec none = {0, 0};
	while (sigtimedwait(&watched, NULL, &none) > 0)
		;
	sigaction(SIGCHLD, &l.old_child, NULL);
	sigprocmask(SIG_SETMASK, &l.old_mask, NULL);
	return NULL;
}

/* A collector that ends before it has read all that it was sent resets the connection. That is
 * described once; what it has reported before can be read then. */
static ssize_t receive_whole(int control, void *message, size_t bytes)
{
	ssize_t n;
	do {
		n = recv(control, message, bytes, 0);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	return n;
}

bool launch_result_take(int control, struct launch_result *ret)
{
	union {
		uint32_t is_end;
		struct collector_recording recording;
		struct collector_end end;
	} message;
	ssize_t n = receive_whole(control, &message, sizeof(message));
	if (n == (ssize_t)sizeof(message.recording) && !message.is_end) {
		void *moved = realloc(
			ret->recordings, (ret->recording_count + 1) * sizeof(*ret->recordings));
		if (moved) {
			ret->recordings = moved;
			ret->recordings[ret->recording_count++] = message.recording;
		}
		return true;
	}
	ret->collector = LAUNCH_COLLECTOR_DIED;
	if (n == (ssize_t)sizeof(message.end) && message.is_end) {
		ret->collector = LAUNCH_COLLECTOR_REPORTED;
		ret->end = message.end;
	}
	return false;
}

void launch_result_deinit(struct launch_result *result)
{
	free(result->file);
	free(result->last_file);
	free(result->recordings);
	*result = (struct launch_result){.file = NULL};
}
