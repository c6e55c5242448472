/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise dump: what a recorded process has live now, and all its sums, while it runs on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/number.h"
#include "base/output_file.h"
#include "base/text.h"
#include "capture/ask.h"
#include "cli/attach/attach_go.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"
#include "views/export.h"

enum { OPT_DUMP_FORMAT = 256, OPT_DUMP_SECONDS, OPT_DUMP_METRIC };

#define FORMAT_HTML "html"
#define SECONDS_MAX 86400u

#define DUMP_MODE 0600
#define COPY_BYTES ((size_t)1 << 20)
#define NUMBERS_MAX 10000

static const struct option_spec option_specs[] = {
	{'o', "output", "FILE",
		"write to FILE; - is stdout (default: heapwise.PROGRAM.PID.mNNNN.dump in the "
		"current directory, with .pb.gz, .html or .FORMAT for other formats)"},
	{OPT_DUMP_FORMAT, "format", "FORMAT",
		"hpw (default), which all commands read, html (a page for browsers), or a format "
		"of 'heapwise export'"},
	{OPT_DUMP_SECONDS, "seconds", "N",
		"write what changes in N seconds; needs a format for differences, such as pprof"},
	{OPT_DUMP_METRIC, "metric", "METRIC", "as of 'heapwise export', for its formats"},
	{'f', "force", NULL, "replace FILE if it exists"},
	{'q', "quiet", NULL, "do not name the file that was written"}, {0}};

struct request {
	const char *output, *format, *metric;
	bool force, quiet;
	uint64_t seconds; /* 0: the state is written, not a difference */
	pid_t pid;
};

static struct error *copy_dump(int from, int to, const char *name)
{
	_cleanup_free_ char *part = malloc(COPY_BYTES);
	if (!part)
		return error_no_memory();
	ssize_t n;
	while ((n = read(from, part, COPY_BYTES)) > 0) {
		struct error *error = write_all(to, name, part, (size_t)n);
		if (error)
			return error;
	}
	return n ? error_errno(ERROR_ENVIRONMENT, errno, "can't read the dump") : NULL;
}

/* How the names of files of that format end. `format`: NULL for heapwise's own. */
static const char *name_end(const char *format)
{
	return !format ? "dump" : !strcmp(format, "pprof") ? "pb.gz" : format;
}

/*
 * Sets *ret to the next name that no file has. The m, for a dump that was requested (%r of
 * --dump-file), keeps it apart from the names of `heapwise run --dump-every` and the like: their
 * dumps replace files.
 */
static struct error *free_name(pid_t pid, const char *format, char **ret)
{
	char command[64] = "", path[64];
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	if (file && fgets(command, sizeof(command), file))
		command[strcspn(command, "\n/")] = 0;
	for (int i = 1; i < NUMBERS_MAX; i++) {
		char *name = NULL;
		if (asprintf(&name, "heapwise.%s.%d.m%04d.%s", command, (int)pid, i,
			    name_end(format)) < 0)
			return error_no_memory();
		if (access(name, F_OK)) {
			*ret = name;
			return NULL;
		}
		free(name);
	}
	return error_create(ERROR_ENVIRONMENT,
		"heapwise.%s.%d.m0001.%s to m%d.%s all exist already; use -o FILE for another "
		"name",
		command, (int)pid, name_end(format), NUMBERS_MAX - 1, name_end(format));
}

static struct error *write_dump(const struct request *request, int dump, const char *name)
{
	if (!strcmp(name, "-"))
		return copy_dump(dump, STDOUT_FILENO, "stdout");
	_cleanup_(output_file_cleanup) struct output_file file = OUTPUT_FILE_NONE;
	struct error *error = output_file_open(name, DUMP_MODE, &file);
	if (!error && file.exists && S_ISREG(file.there.st_mode) && !request->force)
		error = error_create(ERROR_ENVIRONMENT,
			"%s already exists; use -f to replace it, or -o FILE for another name",
			name);
	if (!error)
		error = copy_dump(dump, file.fd, name);
	return error ? error : output_file_commit(&file);
}

/* Gives a dump a name that another program of this process can open. */
static bool name_dump(int dump, char *ret, size_t bytes)
{
	int kept = fcntl(dump, F_DUPFD, 3);
	snprintf(ret, bytes, "/proc/self/fd/%d", kept);
	return kept >= 0;
}

/* By `heapwise export` or `html`, in this process. `base`: -1, or the dump before. Returns the exit
 * code. */
static int convert_dump(const struct request *request, int base, int dump, const char *name)
{
	char from[64], before[64];
	bool is_page = !strcmp(request->format, FORMAT_HTML);
	const char *words[16] = {"heapwise", is_page ? "html" : "export", "-o", name};
	size_t n = 4;
	if (!is_page) {
		words[n++] = "--format";
		words[n++] = request->format;
	}
	if (request->metric) {
		words[n++] = "--metric";
		words[n++] = request->metric;
	}
	if (!name_dump(dump, from, sizeof(from)) ||
		(base >= 0 && !name_dump(base, before, sizeof(before))))
		return message_error(
			error_errno(ERROR_ENVIRONMENT, errno, "can't keep the dump open"));
	if (base >= 0) {
		words[n++] = "--base";
		words[n++] = before;
	}
	words[n++] = from;
	const struct command *command = is_page ? &command_html : &command_export;
	return command->run(command, (int)n - 1, (char **)words + 1);
}

/* Waits so long, whatever signals come, unless the process ends before. */
static struct error *wait_seconds(pid_t pid, uint64_t seconds)
{
	_cleanup_close_ int process = (int)syscall(SYS_pidfd_open, pid, 0);
	struct timespec end, now;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	bool ended = process < 0 && errno == ESRCH;
	while (!ended && !clock_gettime(CLOCK_MONOTONIC, &now)) {
		int64_t left_ms = (end.tv_sec - now.tv_sec) * INT64_C(1000) +
				  (end.tv_nsec - now.tv_nsec) / 1000000;
		struct pollfd one = {.fd = process, .events = POLLIN};
		if (left_ms <= 0)
			return NULL;
		ended = poll(&one, 1, (int)left_ms) > 0;
	}
	return error_create(ERROR_INPUT,
		"process %d has ended before %" PRIu64 " seconds were over", (int)pid, seconds);
}

/* Gives the file of the recording that a process is recorded into now. */
static struct error *find_recording(pid_t pid, char ret[static HW_REPLY_FILE])
{
	struct hw_reply reply;
	struct error *error = ask_for(pid, HW_ASK_STATUS, "", &reply);
	if (!error)
		memcpy(ret, reply.file, HW_REPLY_FILE);
	return error;
}

/* Takes the dump that a difference begins with and, when its time is over, the one that it ends
 * with; ERROR_INPUT if they are not of one recording. */
static struct error *take_two_dumps(
	const struct request *request, int *ret_before, int *ret_dump, struct hw_reply *ret)
{
	char began[HW_REPLY_FILE], ended[HW_REPLY_FILE];
	struct error *error = find_recording(request->pid, began);
	if (!error)
		error = ask_for_dump(request->pid, ret, ret_before);
	if (!error)
		error = wait_seconds(request->pid, request->seconds);
	if (!error)
		error = ask_for_dump(request->pid, ret, ret_dump);
	if (!error)
		error = find_recording(request->pid, ended);
	if (!error && strcmp(began, ended))
		error = error_create(ERROR_INPUT,
			"process %d went on in another recording meanwhile (its mode was changed, "
			"or "
			"it executed another program): there is no difference; try again",
			(int)request->pid);
	return error;
}

/* Names the file. `is_written`: false if a converter is still to write it. */
static int cmd_dump_show(const char *name, const struct hw_reply *reply, bool is_written)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, is_written ? "" : "writing ");
	text_add_shown(&text, name, SIZE_MAX);
	text_add(&text, ": after ");
	text_add_duration_ns(&text, reply->time_ns);
	if (text.failed)
		return message_error(error_no_memory());
	message("%s", text.data);
	return 0;
}

/* Returns -1 if the options fit together, or an exit code. */
static int check_format(const struct command *command, struct request *request)
{
	const char *name = request->format;
	if (name && !strcmp(name, "hpw"))
		name = request->format = NULL;
	const struct export_format *format = name ? export_find(name) : NULL;
	bool is_page = name && !strcmp(name, FORMAT_HTML);
	if (name && !format && !is_page)
		return options_wrong(command,
			"invalid --format '%s': expected hpw, html or a format of 'heapwise "
			"export'",
			name);
	if (request->metric && !format)
		return options_wrong(command, "--metric needs a format of 'heapwise export'");
	if (request->seconds && !is_page && (!format || !format->differences))
		return options_wrong(command,
			"--seconds needs --format html or one that can show differences, such as "
			"pprof");
	return -1;
}

static int cmd_dump_parse(
	const struct command *command, int argc, char **argv, struct request *request)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	const char *seconds = NULL;
	int id;
	while ((id = options_next(&options)) > 0) {
		if (id == 'o')
			request->output = options.argument;
		else if (id == OPT_DUMP_FORMAT)
			request->format = options.argument;
		else if (id == OPT_DUMP_METRIC)
			request->metric = options.argument;
		else if (id == OPT_DUMP_SECONDS)
			seconds = options.argument;
		request->force |= id == 'f';
		request->quiet |= id == 'q';
	}
	if (id < 0)
		return options.exit_code;
	uint64_t pid;
	if (argc - options.operand != 1)
		return options_wrong(command, "expected a PID");
	if (!number_whole(argv[options.operand], &pid) || pid > INT_MAX)
		return options_wrong(command, "'%s' is not a PID (pgrep finds those of a program)",
			argv[options.operand]);
	request->pid = (pid_t)pid;
	if (seconds && (!number_whole(seconds, &request->seconds) || !request->seconds ||
			       request->seconds > SECONDS_MAX))
		return options_wrong(command,
			"invalid --seconds '%s': expected a whole number from 1 to 86400", seconds);
	return check_format(command, request);
}

static int cmd_dump_run(const struct command *command, int argc, char **argv)
{
	struct request request = {.output = NULL};
	int code = cmd_dump_parse(command, argc, argv, &request);
	if (code >= 0)
		return code;
	signal(SIGXFSZ, SIG_IGN); /* a limit is an error of write(2), which can be said */
	struct hw_reply reply;
	_cleanup_close_ int dump = -1;
	_cleanup_close_ int before = -1;
	struct error *error = request.seconds ? take_two_dumps(&request, &before, &dump, &reply)
					      : ask_for_dump(request.pid, &reply, &dump);
	if (error)
		return message_error(attach_go_explain(request.pid, error));
	_cleanup_free_ char *name = request.output ? strdup(request.output) : NULL;
	if (request.output && !name)
		error = error_no_memory();
	else if (!request.output)
		error = free_name(request.pid, request.format, &name);
	if (error)
		return message_error(error);
	bool quiet = request.quiet || !strcmp(name, "-");
	if (request.format && !quiet) /* converters do not name their file */
		cmd_dump_show(name, &reply, false);
	if (request.format)
		return convert_dump(&request, before, dump, name);
	error = write_dump(&request, dump, name);
	if (error)
		return message_error(error);
	return quiet ? 0 : cmd_dump_show(name, &reply, true);
}

const struct command command_dump = {
	.name = "dump",
	.synopsis = "PID [-o FILE] [--format FORMAT] [--seconds N]",
	.what = "Writes what a recorded process has live now, and all its sums so far.",
	.about = "The process runs on. A dump is a recording without single events: all commands "
		 "read it, and 'heapwise\n"
		 "diff' compares two of them. The process must have been started with 'heapwise "
		 "run', or with the\n"
		 "environment that 'heapwise env' prints. 'heapwise run --dump-growth' and "
		 "the like write dumps by\n"
		 "themselves.\n",
	.examples = "  heapwise dump 4711 -o now.dump\n"
		    "  heapwise dump $(pgrep -n redis-server)\n"
		    "  heapwise dump 4711 --format pprof -o now.pb.gz   then: go tool pprof "
		    "now.pb.gz\n",
	.options = option_specs,
	.no_files = true,
	.run = cmd_dump_run,
};
