/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of what is served: each file once, in an order that stays, and by no name where nothing
 * may be named. */
#include <fcntl.h>
#include <sys/stat.h>

#include "cli/serve/serve_files.h"
#include "lib/tap.h"

static char folder[] = "/tmp/serve-files-XXXXXX";

static char *path_make(const char *name)
{
	char *path;
	CHECK(asprintf(&path, "%s/%s", folder, name) >= 0);
	return path;
}

static void file_make(const char *name)
{
	char *path = path_make(name);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	free(path);
}

static void file_remove(const char *name)
{
	char *path = path_make(name);
	CHECK(unlink(path) == 0);
	free(path);
}

CASE(once, "files are there once, however they were named, and keep their numbers")
{
	struct serve_files files = {.len = 0};
	CHECK(mkdtemp(folder));
	file_make("b.hpw");
	file_make("a.hpw");
	file_make("none.txt");
	char *word = path_make("b.hpw");
	CHECK_OK(serve_files_add(&files, word));
	CHECK_OK(serve_files_add(&files, word));
	CHECK_OK(serve_files_add(&files, folder));
	for (int i = 0; i < 3; i++)
		CHECK_OK(serve_files_look(&files));
	CHECK_U64(files.len, 2);
	CHECK_STR(files.data[0].path, word);
	file_make("0.hpw");
	CHECK_OK(serve_files_look(&files));
	CHECK_U64(files.len, 3);
	CHECK(strstr(files.data[1].path, "/a.hpw") && strstr(files.data[2].path, "/0.hpw"));
	file_remove("b.hpw");
	CHECK_OK(serve_files_look(&files));
	CHECK_U64(files.len, 3);
	CHECK(!files.data[0].is_there && files.data[1].is_there);
	file_remove("a.hpw");
	file_remove("0.hpw");
	file_remove("none.txt");
	CHECK(rmdir(folder) == 0);
	free(word);
	serve_files_deinit(&files);
}

CASE(hidden, "messages name files by their numbers, and longer paths are not cut")
{
	struct serve_file data[] = {{.path = (char *)"/x/a.hpw", .name = (char *)"recording-1"},
		{.path = (char *)"/x/a.hpw.2", .name = (char *)"recording-2"},
		{.path = (char *)"12", .name = (char *)"recording-3", .is_process = true}};
	const struct serve_files files = {.data = data, .len = 3, .anonymize = true};
	struct text text;
	text_init(&text);
	serve_files_hide(&files, "/x/a.hpw.2: 12 bytes, not /x/a.hpw", &text);
	CHECK_STR(text.data, "recording-2: 12 bytes, not recording-1");
	text_clear(&text);
	serve_files_write(&files, false, &text);
	CHECK(strstr(text.data, "recording-2") && strstr(text.data, "\"12\"") &&
		!strstr(text.data, "/x/"));
	text_deinit(&text);
	CHECK_STR(serve_file_name(&data[2]), "12");
}

CASE(moments, "a moment of a file is refused, and the file that is to be given is said")
{
	struct serve_files files = {.len = 0};
	char word[] = "/proc/self/exe@peak", none[] = "/proc/self/nowhere@peak";
	CHECK_ERROR(serve_files_add(&files, word), ERROR_USAGE, "give it /proc/self/exe");
	CHECK_ERROR(serve_files_add(&files, none), ERROR_INPUT, "No such file");
	serve_files_deinit(&files);
}

TAP_MAIN
