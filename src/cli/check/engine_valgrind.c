/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See engine_valgrind.h. Each process under Valgrind writes an XML file of its own into a folder of
 * ours, named by its pid (--xml-file with %p), which is read again as it grows. A pipe or socket
 * would carry one document, which processes that the program starts would mix theirs into, and what
 * comes through it would have to be kept besides. A file that is cut off, because its process was
 * killed, has all errors up to then.
 */
#include "cli/check/engine_valgrind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/check/check_folder.h"
#include "cli/check/engine_errors.h"
#include "cli/options/leak_options.h"
#include "cli/setup/program_end.h"
#include "cli/terminal/message.h"
#include "process/program.h"

#define VALGRIND "valgrind"
#define LOOK_NS 200000000 /* how often files are looked at */
#define LOG_BYTES_MAX (1u << 20)

DEFINE_VEC(engine_words, char *)

struct engine {
	const struct check_engine_request *request;
	struct check_folder folder; /* of the XML files */
	struct engine_words words;
	struct engine_errors *errors;
	pid_t pid;
	int status;
	sigset_t held, before;
};

static void engine_deinit(struct engine *engine)
{
	engine_errors_destroy(engine->errors);
	for (size_t i = 0; i < engine->words.len; i++)
		free(engine->words.data[i]);
	engine_words_deinit(&engine->words);
	check_folder_remove(&engine->folder);
}

/* --- the command line ------------------------------------------------------------------------- */

static void add_word(struct engine *engine, struct error **error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add_word(struct engine *engine, struct error **error, const char *format, ...)
{
	va_list args;
	char *word;
	if (*error)
		return;
	va_start(args, format);
	int n = vasprintf(&word, format, args);
	va_end(args);
	if (n >= 0 && engine_words_push(&engine->words, word))
		return;
	if (n >= 0)
		free(word);
	*error = error_no_memory();
}

/* In names of files % begins what Valgrind replaces. */
static struct error *escape_percent(const char *folder, struct text *ret)
{
	for (const char *c = folder; *c; c++) {
		text_add_char(ret, *c);
		if (*c == '%')
			text_add_char(ret, *c);
	}
	return ret->failed ? error_no_memory() : NULL;
}

static const char *leak_check_of(const struct check_engine_request *request)
{
	const char *asked = request->leak_check ? request->leak_check : "no";
	return strcmp(asked, "yes") ? asked : "full";
}

static struct error *add_options(struct engine *engine)
{
	const struct check_engine_request *request = engine->request;
	_cleanup_(text_deinit) struct text folder;
	text_init(&folder);
	struct error *error = escape_percent(engine->folder.path, &folder);
	add_word(engine, &error, VALGRIND);
	add_word(engine, &error, "--tool=memcheck");
	add_word(engine, &error, "--xml=yes");
	add_word(engine, &error, "--xml-file=%s/%%p.xml", folder.data);
	/* What Valgrind itself has to say: the program's stderr stays the program's. */
	add_word(engine, &error, "--log-file=%s/%%p.log", folder.data);
	add_word(engine, &error, "--vgdb=no");
	/* A forked child would write into its parent's document. */
	add_word(engine, &error, "--child-silent-after-fork=yes");
	add_word(engine, &error, "--trace-children=%s", request->trace_children ? "yes" : "no");
	add_word(engine, &error, "--track-origins=%s", request->track_origins ? "yes" : "no");
	add_word(engine, &error, "--leak-check=%s", leak_check_of(request));
	add_word(engine, &error, "--num-callers=%u",
		request->num_callers ? request->num_callers : 24);
	add_word(engine, &error, "--error-limit=no");
	add_word(engine, &error, "--keep-debuginfo=yes");
	if (request->first) {
		add_word(engine, &error, "--exit-on-first-error=yes");
		add_word(engine, &error, "--error-exitcode=%d",
			request->error_exitcode == LEAK_NO_EXITCODE ? 1 : request->error_exitcode);
	}
	return error;
}

static struct error *add_program(struct engine *engine)
{
	struct error *error = NULL;
	for (char *const *word = engine->request->argv; *word; word++)
		add_word(engine, &error, "%s", *word);
	if (!error && !engine_words_push(&engine->words, NULL))
		error = error_no_memory();
	return error;
}

/* --- the process ------------------------------------------------------------------------------ */

/* What heapwise itself is recorded with is no business of the program's. */
static void clean_environment(void)
{
	static const char own[] = "HEAPWISE_";
	for (size_t i = 0; environ[i];) {
		const char *entry = environ[i];
		size_t len = strcspn(entry, "=");
		if (strncmp(entry, own, strlen(own)) != 0) {
			i++;
			continue;
		}
		char name[256];
		if (len >= sizeof(name)) {
			i++;
			continue;
		}
		memcpy(name, entry, len);
		name[len] = '\0';
		unsetenv(name);
	}
	const char *preload = getenv("LD_PRELOAD");
	if (preload && strstr(preload, "libheapwise-"))
		unsetenv("LD_PRELOAD");
}

static void engine_become(const struct engine *engine, int report)
{
	sigprocmask(SIG_SETMASK, &engine->before, NULL);
	clean_environment();
	execvp(VALGRIND, engine->words.data);
	int why = errno;
	ssize_t written = write(report, &why, sizeof(why));
	_exit(written < 0 ? EXIT_OURS : EXIT_NOT_FOUND);
}

static struct error *not_started(int why)
{
	if (why == ENOENT)
		return error_create(ERROR_ENVIRONMENT,
			"'valgrind' is not installed: --engine=valgrind needs it (Debian's package "
			"valgrind); without the option the program is checked natively");
	return error_create(ERROR_ENVIRONMENT, "cannot start valgrind: %s", strerror(why));
}

struct error *check_engine_missing(void)
{
	_cleanup_(program_deinit) struct program program;
	struct error *error = program_examine(VALGRIND, &program);
	if (!error && program.state == PROGRAM_NOT_FOUND)
		error = not_started(ENOENT);
	return error;
}

static void hold_signals(struct engine *engine)
{
	static const int held[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
	sigemptyset(&engine->held);
	for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++)
		sigaddset(&engine->held, held[i]);
	sigprocmask(SIG_BLOCK, &engine->held, &engine->before);
}

/* Starts Valgrind; a pipe that it closes tells that it runs. */
static struct error *engine_start(struct engine *engine)
{
	int pipes[2], why = 0;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return error_create(
			ERROR_ENVIRONMENT, "cannot start valgrind: %s", strerror(errno));
	hold_signals(engine);
	engine->pid = fork();
	if (engine->pid == 0)
		engine_become(engine, pipes[1]);
	int forked = engine->pid < 0 ? errno : 0;
	close(pipes[1]);
	ssize_t n = engine->pid > 0 ? read(pipes[0], &why, sizeof(why)) : 0;
	close(pipes[0]);
	if (engine->pid > 0 && n != (ssize_t)sizeof(why))
		return NULL;
	if (engine->pid > 0)
		waitpid(engine->pid, NULL, 0);
	return not_started(forked ? forked : why);
}

/* A signal for us from another process is meant for the program; those of the terminal it has
 * itself. */
static void pass_on(const struct engine *engine, const siginfo_t *info)
{
	if (info->si_signo != SIGCHLD && info->si_code <= 0)
		kill(engine->pid, info->si_signo);
}

static bool has_ended(struct engine *engine)
{
	return waitpid(engine->pid, &engine->status, WNOHANG) == engine->pid;
}

/* Waits for the program, showing what it does wrong. */
static struct error *engine_wait(struct engine *engine)
{
	static const struct timespec look = {.tv_nsec = LOOK_NS};
	struct error *error = NULL;
	while (!has_ended(engine)) {
		siginfo_t info;
		if (sigtimedwait(&engine->held, &info, &look) > 0)
			pass_on(engine, &info);
		else if (!error)
			error = engine_errors_look(engine->errors, false);
	}
	return error;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void message_lines(char *text)
{
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		/* "==1234== " */
		const char *body = strncmp(line, "==", 2) ? NULL : strstr(line + 2, "== ");
		if (body || strncmp(line, "==", 2) != 0)
			message("valgrind: %s", body ? body + 3 : line);
	}
}

/* Says what Valgrind itself had to say, such as why it can't run the program. */
static void describe_log(const struct engine *engine)
{
	char path[PATH_MAX + 32];
	_cleanup_free_ uint8_t *text = NULL;
	size_t len;
	snprintf(path, sizeof(path), "%s/%d.log", engine->folder.path, (int)engine->pid);
	struct error *error = read_file(path, LOG_BYTES_MAX, &text, &len);
	if (error)
		error_destroy(error);
	else
		message_lines((char *)text);
}

static int engine_conclude(struct engine *engine)
{
	const struct check_engine_request *request = engine->request;
	struct error *error = engine_errors_look(engine->errors, true);
	if (!error && !engine_errors_files(engine->errors)) {
		describe_log(engine);
		message("Valgrind has not run %s", request->argv[0]);
		return EXIT_OURS;
	}
	if (!error)
		error = engine_errors_end(engine->errors);
	if (error) {
		message_error(error);
		return EXIT_OURS;
	}
	if (WIFSIGNALED(engine->status))
		return -1;
	bool fails = engine_errors_count(engine->errors) > 0 &&
		     request->error_exitcode != LEAK_NO_EXITCODE;
	return fails ? request->error_exitcode : -1;
}

enum check_engine_reach check_engine_reach(
	const struct program *program, const char *name, struct text *ret)
{
	struct stat st;
	const char *image = program->image ? program->image : name;
	if (program->image && !stat(program->image, &st) && (st.st_mode & (S_ISUID | S_ISGID))) {
		text_printf(ret,
			"%s runs with other rights than its caller (set-user-ID): Valgrind can't "
			"execute it; check a copy without that bit",
			image);
		return CHECK_ENGINE_REFUSES;
	}
	if (program->state != PROGRAM_CANNOT_RECORD)
		return CHECK_ENGINE_SEES;
	if (program->sanitizer)
		text_printf(ret,
			"%s is built with %s, which may not run under Valgrind: run it as it is, "
			"and %s says what it finds, or build it without",
			image, program->sanitizer, program->sanitizer);
	else
		text_printf(ret,
			"%s: %s; memcheck then sees no heap blocks, so that only uses of "
			"uninitialised values and addresses outside all memory are found",
			image, program->why);
	return CHECK_ENGINE_SEES_LESS;
}

/* Programs that memcheck does not run, or of which it sees less. */
static int engine_examine(const struct check_engine_request *request)
{
	_cleanup_(program_deinit) struct program program;
	struct error *error = program_examine(request->argv[0], &program);
	if (error) {
		message_error(error);
		return EXIT_OURS;
	}
	if (program.state == PROGRAM_NOT_FOUND || program.state == PROGRAM_NOT_EXECUTABLE) {
		message("%s: %s", program.path ? program.path : request->argv[0], program.why);
		return program.state == PROGRAM_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	enum check_engine_reach reach = check_engine_reach(&program, request->argv[0], &text);
	if (reach == CHECK_ENGINE_REFUSES || (reach == CHECK_ENGINE_SEES_LESS && !request->quiet))
		message("%s", text.data ? text.data : "");
	return reach == CHECK_ENGINE_REFUSES ? EXIT_NOT_EXECUTABLE : 0;
}

static struct error *engine_prepare(struct engine *engine)
{
	const struct check_engine_request *request = engine->request;
	struct error *error = check_folder_create(&engine->folder);
	if (error)
		return error;
	const struct engine_errors_options options = {.folder = engine->folder.path,
		.output = request->output,
		.overwrite = request->overwrite,
		.suppressions = request->suppressions,
		.suppression_count = request->suppression_count,
		.gen_suppressions = request->gen_suppressions,
		.form = request->form,
		.json = request->json,
		.first = request->first,
		.leaks = strcmp(leak_check_of(request), "no") != 0,
		.log = request->log,
		.quiet = request->quiet};
	error = engine_errors_create(&options, &engine->errors);
	if (!error)
		error = add_options(engine);
	return error ? error : add_program(engine);
}

int check_engine_valgrind(const struct check_engine_request *request)
{
	int code = engine_examine(request), status;
	if (code)
		return code;
	{
		_cleanup_(engine_deinit) struct engine engine = {
			.request = request, .folder = CHECK_FOLDER_NONE};
		struct error *error = engine_prepare(&engine);
		if (!error)
			error = engine_start(&engine);
		if (error) {
			message_error(error);
			return EXIT_OURS;
		}
		engine_errors_first(engine.errors, engine.pid);
		error = engine_wait(&engine);
		code = error ? message_error(error), EXIT_OURS : engine_conclude(&engine);
		sigprocmask(SIG_SETMASK, &engine.before, NULL);
		status = engine.status;
	}
	if (code < 0 && request->returns && WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return code >= 0 ? code : program_end_like(status);
}
