/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a fuzz harness over given inputs without libFuzzer: the seeds replay as an ordinary test,
 * with any compiler.
 *
 *     replay_NAME FILE-OR-FOLDER...
 *
 * The name of an input is printed before it runs, so that the last line tells which one crashed.
 * Every input is handed over in a block of exactly its size, where a sanitizer or Valgrind sees a
 * read beyond its end. No input at all is a failure: a test that checks nothing must not pass.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *what, const char *path)
{
	fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
	exit(1);
}

static unsigned long replay_file(const char *path, size_t size)
{
	printf("%s\n", path);
	fflush(stdout);
	FILE *file = fopen(path, "rb");
	if (!file)
		die("cannot open", path);
	uint8_t *data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, file) != size)
		die("cannot read", path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Returns the number of inputs run. Folders are walked in order of names. */
static unsigned long replay(const char *path)
{
	struct stat status;
	if (stat(path, &status) != 0)
		die("cannot read", path);
	if (!S_ISDIR(status.st_mode))
		return replay_file(path, (size_t)status.st_size);

	struct dirent **entries;
	int count = scandir(path, &entries, is_visible, alphasort);
	if (count < 0)
		die("cannot list", path);
	unsigned long inputs = 0;
	for (int i = 0; i < count; i++) {
		char *inner;
		if (asprintf(&inner, "%s/%s", path, entries[i]->d_name) < 0)
			die("no memory for", path);
		inputs += replay(inner);
		free(inner);
		free(entries[i]);
	}
	free(entries);
	return inputs;
}

int main(int argc, char **argv)
{
	unsigned long inputs = 0;
	for (int i = 1; i < argc; i++)
		inputs += replay(argv[i]);
	printf("%lu inputs\n", inputs);
	return inputs ? 0 : 1;
}
