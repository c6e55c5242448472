/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/java/java_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/recording_file.h"
#include "cli/java/java_library.h"
#include "cli/setup/recording_end.h"
#include "cli/terminal/message.h"
#include "process/elf_imports.h"
#include "process/java_attach.h"

#define TOOL_OPTIONS "JAVA_TOOL_OPTIONS"
#define SHOWN_MOST 4u
#define OPTIONS_FILE_BYTES_MAX ((size_t)1 << 20)
/* The agent's room for a path, less a PID. */
#define PATH_MOST 1000u

/* ---- Whether it is Java ---------------------------------------------------------------------- */

static const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool image_is_java(const char *image)
{
	_cleanup_free_ char *real = realpath(image, NULL);
	return real && !strcmp(path_last(real), "java") && elf_mentions_name(real, "JLI_Launch");
}

/* Options of a JVM that writes an archive of classes, and ends if it has an agent (17 and later).
 */
static const char *option_against(const char *text)
{
	static const char *const options[] = {"-Xshare:dump", "-XX:ArchiveClassesAtExit",
		"-XX:+RecordDynamicDumpInfo", "-XX:+AutoCreateSharedArchive", "-XX:AOTMode=record",
		"-XX:AOTMode=create", "-XX:AOTCacheOutput"};
	for (size_t i = 0; text && i < ARRAY_SIZE(options); i++)
		if (strstr(text, options[i]))
			return options[i];
	return NULL;
}

/* Such an option in a file of options. One that can't be read, or is longer, the JVM will judge. */
static const char *file_against(const char *path)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t len;
	struct stat st;
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return NULL;
	struct error *error = read_file(path, OPTIONS_FILE_BYTES_MAX, &data, &len);
	const char *against = error ? NULL : option_against((const char *)data);
	error_destroy(error);
	return against;
}

static const char *word_against(const char *word)
{
	static const char options_file[] = "-XX:VMOptionsFile=";
	if (*word == '@')
		return file_against(word + 1);
	if (!strncmp(word, options_file, sizeof(options_file) - 1))
		return file_against(word + sizeof(options_file) - 1);
	return *word == '-' ? option_against(word) : NULL;
}

/* Of the command line up to the program's own words, and of the variables that JVMs read. */
static const char *line_against(const struct buf *line)
{
	static const char *const variables[] = {"JDK_JAVA_OPTIONS", TOOL_OPTIONS, "_JAVA_OPTIONS"};
	const char *word = (const char *)line->data, *end = word + line->len;
	const char *main = java_main_word(word, line->len), *against = NULL;
	for (; word < (main ? main : end) && !against; word += strlen(word) + 1)
		against = word_against(word);
	for (size_t i = 0; i < ARRAY_SIZE(variables) && !against; i++)
		against = option_against(getenv(variables[i]));
	return against;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* "x.hpw" becomes "x.%p.pb", and "x.%p.hpw" the same; %% stays for recording_name_make(). */
static void pattern_add(struct text *text, const char *file)
{
	size_t len = strlen(file);
	bool has_pid = false;
	len -= len > 4 && !strcmp(file + len - 4, ".hpw") ? 4 : 0;
	for (size_t i = 0; i < len; i++) {
		bool is_pid = file[i] == '%' && file[i + 1] == 'p';
		text_add(text, is_pid ? "%" : "");
		text_add_char(text, file[i]);
		if (file[i] == '%' && i + 1 < len)
			text_add_char(text, file[++i]);
		has_pid |= is_pid;
	}
	text_add(text, has_pid ? ".pb" : ".%%p.pb");
}

static struct error *pattern_make(const struct launch_options *launch, char **ret)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	pattern_add(&text, launch->file ? launch->file : "heapwise.%n.%p.hpw");
	if (text.failed)
		return error_no_memory();
	const struct recording_name name = {.pattern = text.data, .program = launch->argv[0]};
	return recording_name_make(&name, ret);
}

/* Why the agent can't have these words; NULL: it can. Those of a variable are split at blanks. */
static const char *why_unfit(const char *library, const char *pattern, bool is_variable)
{
	const char *pid = strstr(pattern, "%p");
	if (strchr(library, '='))
		return "the agent's path has a '='";
	if (strchr(pattern, ','))
		return "the recording's path has a comma";
	if (strlen(pattern) > PATH_MOST)
		return "the recording's path is too long";
	if (!pid || strchr(pid, '/'))
		return "the PID is in a folder's name";
	if (is_variable && (strpbrk(library, " \t\n'\"") || strpbrk(pattern, " \t\n'\"")))
		return "a path has a blank or a quote";
	return NULL;
}

/* The program's name for the profile, or nothing. Behind an @argfile it may be in that file. */
static void program_add(struct text *words, const struct buf *line)
{
	const char *text = (const char *)line->data, *main = java_main_word(text, line->len);
	for (const char *word = text; main && word < main; word += strlen(word) + 1)
		if (*word == '@')
			return;
	_cleanup_free_ char *name = java_main_name(text, line->len);
	if (name && strlen(name) < 200 && !strpbrk(name, ", \t\n"))
		text_printf(words, ",program=%s", name);
}

/* ---- Before the program ---------------------------------------------------------------------- */

static void words_add(struct text *words, const struct java_run *run, const char *library)
{
	text_printf(words, "-agentpath:%s=start,live,exit=%s", library, run->pattern);
}

static char *argument_make(struct java_run *run, const char *library, const struct buf *line)
{
	struct text words;
	char folder[] = "/tmp/heapwise-java-XXXXXX";
	text_init(&words);
	words_add(&words, run, library);
	program_add(&words, line);
	if (mkdtemp(folder)) {
		run->folder = strdup(folder);
		text_printf(&words, ",reply=%s/reply", folder);
	}
	return text_steal(&words);
}

/* The words with NULs between them, as in /proc/PID/cmdline. */
static struct error *line_make(char *const *argv, struct buf *ret)
{
	for (; *argv; argv++)
		if (!buf_bytes(ret, *argv, strlen(*argv) + 1))
			return error_no_memory();
	return NULL;
}

/* After the other options, as an agent of the user comes first then, and has the sampling if it
 * wants that. */
static struct error *argument_insert(struct java_run *run, const char *library,
	const struct buf *line, struct launch_options *launch)
{
	size_t count = 0;
	while (launch->argv[count])
		count++;
	run->argument = argument_make(run, library, line);
	run->argv = calloc(count + 2, sizeof(*run->argv));
	if (!run->argv || !run->argument)
		return error_no_memory();
	size_t place = java_options_count((const char *)line->data, line->len);
	memcpy(run->argv, launch->argv, place * sizeof(*run->argv));
	run->argv[place] = run->argument;
	memcpy(run->argv + place + 1, launch->argv + place, (count - place) * sizeof(*run->argv));
	launch->argv = run->argv;
	return NULL;
}

static struct error *variable_set(const struct java_run *run, const char *library)
{
	_cleanup_(text_deinit) struct text words;
	const char *before = getenv(TOOL_OPTIONS);
	text_init(&words);
	text_printf(&words, "%s%s", before ? before : "", before && *before ? " " : "");
	words_add(&words, run, library);
	if (words.failed || setenv(TOOL_OPTIONS, words.data, 1))
		return error_no_memory();
	return NULL;
}

struct error *java_run_prepare(
	struct java_run *run, const char *image, struct launch_options *launch)
{
	_cleanup_free_ char *library = NULL;
	run->is_java = !run->off && image_is_java(image);
	if (!run->is_java && !run->children)
		return NULL;
	_cleanup_(buf_deinit) struct buf line;
	buf_init(&line);
	struct error *error = line_make(launch->argv, &line);
	const char *against = error ? NULL : line_against(&line);
	if (against) {
		message("Java objects are not recorded: %s takes no agent", against);
		return NULL;
	}
	if (!error)
		error = java_library_find(&library);
	if (!error)
		error = pattern_make(launch, &run->pattern);
	if (error)
		return error;
	const char *why = why_unfit(library, run->pattern, run->children);
	if (why) {
		message("Java objects are not recorded: %s", why);
		free(run->pattern);
		run->pattern = NULL;
		return NULL;
	}
	clock_gettime(CLOCK_REALTIME, &run->begun);
	if (run->is_java)
		error = argument_insert(run, library, &line, launch);
	return !error && run->children ? variable_set(run, library) : error;
}

/* ---- After it -------------------------------------------------------------------------------- */

/* The PID of a profile's name; 0: it is none. `name` and `pattern` are in the same folder. */
static int pid_of(const char *name, const char *pattern)
{
	int pid = 0;
	while (*pattern && *name) {
		int number, len = 0;
		if (pattern[0] != '%' || pattern[1] != 'p') {
			if (*pattern++ != *name++)
				return 0;
			continue;
		}
		if (sscanf(name, "%9d%n", &number, &len) != 1 || number <= 0 ||
			(pid && number != pid))
			return 0;
		pid = number;
		pattern += 2;
		name += len;
	}
	return *pattern || *name ? 0 : pid;
}

static bool is_of_run(const struct java_run *run, int folder, const char *name)
{
	struct stat st;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	/* Files have the kernel's clock of ticks, which may be a little behind. */
	return st.st_mtim.tv_sec > run->begun.tv_sec ||
	       (st.st_mtim.tv_sec == run->begun.tv_sec &&
		       st.st_mtim.tv_nsec + 20000000 >= run->begun.tv_nsec);
}

/* Says which profiles there are; returns how many. */
static size_t profiles_describe(const struct java_run *run, bool quiet)
{
	_cleanup_free_ char *folder = strdup(run->pattern);
	size_t count = 0;
	if (!folder)
		return 0;
	*strrchr(folder, '/') = '\0';
	DIR *dir = opendir(*folder ? folder : "/");
	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		int pid = pid_of(entry->d_name, path_last(run->pattern));
		if (!pid || !is_of_run(run, dirfd(dir), entry->d_name))
			continue;
		_cleanup_free_ char *path = NULL;
		if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
			path = NULL;
		if (count++ < SHOWN_MOST && path && !quiet)
			message("Java objects of JVM %d: %s (sampled; what came after its last "
				"garbage collection counts as live)",
				pid, recording_short_name(path));
	}
	if (dir)
		closedir(dir);
	if (count > SHOWN_MOST && !quiet)
		message("and of %zu more JVMs", count - SHOWN_MOST);
	return count;
}

/* What the agent answered; NULL: nothing. */
static char *answer_read(const struct java_run *run)
{
	_cleanup_free_ char *path = NULL;
	char text[4096];
	if (!run->folder || asprintf(&path, "%s/reply", run->folder) < 0) {
		path = NULL;
		return NULL;
	}
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return strdup(text);
}

static void folder_remove(struct java_run *run)
{
	_cleanup_free_ char *path = NULL;
	if (run->folder && asprintf(&path, "%s/reply", run->folder) < 0)
		path = NULL;
	if (path)
		unlink(path);
	if (run->folder)
		rmdir(run->folder);
	free(run->folder);
	run->folder = NULL;
}

static void profiles_report(const struct java_run *run, bool quiet)
{
	if (!run->pattern || profiles_describe(run, quiet) || !run->is_java)
		return;
	_cleanup_free_ char *answer = answer_read(run);
	const char *why = answer ? strchr(answer, '\n') : NULL;
	if (!answer)
		message("Java objects were not recorded: the JVM ended before the "
			"agent in it answered");
	else if (strncmp(answer, "ok\n", 3) != 0 && why)
		message("Java objects were not recorded: %.*s", (int)strcspn(why + 1, "\n"),
			why + 1);
	else
		message("the profile of Java objects is lost: the JVM ended without writing it");
}

/* Removes the folder here, as heapwise ends by the signal that the program ended by. */
void java_run_describe(struct java_run *run, bool quiet)
{
	profiles_report(run, quiet);
	folder_remove(run);
}

void java_run_deinit(struct java_run *run)
{
	folder_remove(run);
	free(run->pattern);
	free(run->argument);
	free(run->argv);
	*run = (struct java_run){.off = false};
}
