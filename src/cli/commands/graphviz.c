/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/commands/graphviz.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/util.h"
#include "cli/setup/context.h"
#include "cli/terminal/output.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/progress.h"
#include "query/inputs.h"
#include "views/callgraph.h"

extern char **environ;

const char *graphviz_format(const char *path)
{
	static const char *const formats[] = {"dot", "svg", "pdf", "png", "gif"};
	const char *end = strrchr(path, '.');
	for (size_t i = 0; end && i < ARRAY_SIZE(formats); i++)
		if (strcasecmp(end + 1, formats[i]) == 0)
			return formats[i];
	return NULL;
}

/* dot, reading from `in` and writing to `out`. */
static struct error *graphviz_start(const char *format, int in, int out, pid_t *ret)
{
	char type[16];
	snprintf(type, sizeof(type), "-T%s", format);
	char *arguments[] = {(char *)"dot", type, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	int err = posix_spawnp(ret, "dot", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return err ? error_errno(ERROR_ENVIRONMENT, err, "cannot start Graphviz' dot") : NULL;
}

static struct error *wait_for(pid_t pid, const char *path)
{
	int status;
	if (child_wait(pid, &status, 0) < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "cannot wait for dot");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return NULL;
	return error_create(ERROR_ENVIRONMENT,
		"Graphviz' dot could not draw %s (%s %d); -o FILE.dot keeps what it was given",
		path, WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static struct error *graphviz_draw_draw(
	const char *format, const char *path, int out, const struct text *graph)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return error_errno(ERROR_ENVIRONMENT, errno, "cannot make a pipe to dot");
	signal(SIGPIPE, SIG_IGN);
	pid_t pid;
	struct error *error = graphviz_start(format, ends[0], out, &pid);
	close(ends[0]);
	if (error) {
		close(ends[1]);
		return error;
	}
	progress_begin("drawing %s", path);
	/* That it stopped reading, its status says better. */
	error_destroy(write_all(ends[1], "dot", graph->data, graph->len));
	close(ends[1]);
	error = wait_for(pid, path);
	progress_end();
	return error;
}

/* Writes the picture in `drawn` to `out`, for browsers. */
static struct error *graphviz_add_script(int drawn, int out, const char *path)
{
	_cleanup_(text_deinit) struct text svg, whole;
	text_init(&svg);
	text_init(&whole);
	char piece[1 << 16];
	off_t at = 0;
	for (ssize_t got; (got = pread(drawn, piece, sizeof(piece), at)) != 0; at += got) {
		if (got < 0)
			return error_errno(ERROR_ENVIRONMENT, errno, "cannot read what dot drew");
		text_add_n(&svg, piece, (size_t)got);
	}
	callgraph_add_script(svg.data ? svg.data : "", svg.len, &whole);
	if (svg.failed || whole.failed)
		return error_no_memory();
	return write_all(out, path, whole.data, whole.len);
}

/* As SVG it is drawn into memory first. */
static struct error *graphviz_draw_svg(const char *path, int out, const struct text *graph)
{
	_cleanup_close_ int drawn = memfd_create("graph", MFD_CLOEXEC);
	if (drawn < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "cannot make a file in memory");
	struct error *error = graphviz_draw_draw("svg", path, drawn, graph);
	return error ? error : graphviz_add_script(drawn, out, path);
}

struct error *graphviz_draw(const char *format, const char *path, const struct text *graph)
{
	if (!program_in_path("dot"))
		return error_create(ERROR_ENVIRONMENT,
			"drawing %s takes Graphviz' program dot, which is not in PATH (Debian: apt "
			"install "
			"graphviz); -o FILE.dot does without",
			path);
	_cleanup_(output_file_cleanup) struct output_file file = OUTPUT_FILE_NONE;
	struct error *error = output_file_open(path, OUTPUT_MODE, &file);
	if (!error)
		error = inputs_check(cli_context(), &file);
	if (!error)
		error = strcmp(format, "svg") == 0
				? graphviz_draw_svg(path, file.fd, graph)
				: graphviz_draw_draw(format, path, file.fd, graph);
	return error ? error : output_file_commit(&file);
}
