/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/io.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "lib/tap.h"

static char folder[] = "/tmp/heapwise-test-io-XXXXXX";
static char path[PATH_MAX];

static void remove_all(void)
{
	unlink(path);
	rmdir(folder);
}

/* A file of its own for the case, gone at its end. */
static void make_file(const char *data, size_t len)
{
	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	atexit(remove_all);
	_cleanup_close_ int fd = open(path, O_CREAT | O_WRONLY, 0600);
	CHECK_OK(write_all(fd, path, data, len));
}

CASE(io_reads, "a file comes back whole, with a NUL behind it")
{
	make_file("line\n\0tail", 10);
	_cleanup_free_ uint8_t *data = NULL;
	size_t len;
	CHECK_OK(read_file(path, 10, &data, &len));
	CHECK_U64(len, 10);
	CHECK_MEM(data, "line\n\0tail", 11);
	uint8_t *more = NULL;
	CHECK_ERROR(read_file(path, 9, &more, &len), ERROR_INPUT, "longer than 9 bytes");
	CHECK(!more);
}

CASE(io_proc, "files without a size are read to their end")
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t len;
	CHECK_OK(read_file("/proc/self/maps", SIZE_MAX, &data, &len));
	CHECK(len > 100 && strstr((char *)data, "test_io"));
}

CASE(io_stored, "what could wait, or end early, is no file to be read again")
{
	make_file("0123", 4);
	_cleanup_free_ uint8_t *data = NULL;
	uint8_t *none = NULL;
	size_t len;
	CHECK_OK(read_stored_file(path, 4, &data, &len));
	CHECK_MEM(data, "0123", 5);
	CHECK_ERROR(read_stored_file(path, 3, &none, &len), ERROR_INPUT, "longer than 3 bytes");
	CHECK_ERROR(read_stored_file(folder, 9, &none, &len), ERROR_INPUT, "is a directory");
	CHECK_ERROR(read_stored_file("/dev/zero", 9, &none, &len), ERROR_INPUT, "longer than");
	CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	CHECK_ERROR(read_stored_file(path, 9, &none, &len), ERROR_INPUT, "is a pipe");
	CHECK(!none);
}

CASE(io_maps, "a mapped file shows its bytes, also none")
{
	make_file("0123", 4);
	_cleanup_(file_map_deinit) struct file_map map = {0};
	CHECK_OK(file_map_open(path, &map));
	CHECK_U64(map.len, 4);
	CHECK_MEM(map.data, "0123", 4);
	file_map_deinit(&map);
	CHECK(truncate(path, 0) == 0);
	CHECK_OK(file_map_open(path, &map));
	CHECK(!map.data && map.len == 0);
}

CASE(io_refuses, "what is no file is refused at once, with its name")
{
	struct file_map map = {0};
	uint8_t *data;
	size_t len;
	CHECK_ERROR(file_map_open("/nowhere/x", &map), ERROR_INPUT,
		"cannot open /nowhere/x: No such file or directory");
	CHECK_ERROR(file_map_open("/proc", &map), ERROR_INPUT, "/proc is a directory");
	CHECK_ERROR(file_map_open("/dev/zero", &map), ERROR_INPUT, "not a regular file");
	CHECK_ERROR(read_file("/dev/zero", 1 << 20, &data, &len), ERROR_INPUT, "longer than");
	CHECK_ERROR(read_file("/proc", 1, &data, &len), ERROR_INPUT, "Is a directory");
	make_file("", 0);
	CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	CHECK_ERROR(file_map_open(path, &map), ERROR_INPUT, "not a regular file");
}

CASE(io_full, "a write that fails names what was written")
{
	_cleanup_close_ int fd = open("/dev/full", O_WRONLY);
	CHECK_ERROR(write_all(fd, "out.hpw", "x", 1), ERROR_ENVIRONMENT,
		"cannot write out.hpw: No space left on device");
	CHECK_OK(write_all(fd, "nothing", "", 0));
}

TAP_MAIN
