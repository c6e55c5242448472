/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of code as programs write them, and as they should not. */
#include "capture/recorder/code_names.h"

#include "base/text.h"
#include "lib/tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PID = 4711 };

struct place {
	char folder[64], list[96];
	struct code_names names;
};

static void place_open(struct place *place)
{
	snprintf(place->folder, sizeof(place->folder), "/tmp/heapwise-test-XXXXXX");
	CHECK(mkdtemp(place->folder));
	snprintf(place->list, sizeof(place->list), "%s/perf-%d.map", place->folder, PID);
	code_names_init(&place->names);
}

static void place_close(struct place *place)
{
	code_names_deinit(&place->names);
	unlink(place->list);
	CHECK(!rmdir(place->folder));
}

static void note(struct place *place, uint64_t address)
{
	code_names_note(&place->names, getpid(), address);
	close(place->names.folder); /* the test's folder stands for the program's /tmp */
	place->names.folder = open(place->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void write_list(const struct place *place, const char *text, size_t len)
{
	int fd = open(place->list, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
}

static void check_row(const struct place *place, size_t i, uint64_t address, const char *name)
{
	CHECK(i < place->names.rows.len);
	CHECK_U64(place->names.rows.data[i].address, address);
	CHECK_STR(place->names.rows.data[i].name, name);
}

CASE(ranges, "an address has the name of the range that its call is in; the last line counts")
{
	static const char text[] = "1000 10 before\n2000 20 first one\n2000 20 second one\n"
				   "2020 10 after\n";
	struct place place;
	place_open(&place);
	note(&place, 0x2020); /* returns to behind the last byte of its function */
	note(&place, 0x2001);
	note(&place, 0x2000);
	note(&place, 0x2001);
	note(&place, 0x2021);
	write_list(&place, text, sizeof(text) - 1);
	code_names_read(&place.names, PID, PID);
	CHECK_U64(place.names.rows.len, 3);
	check_row(&place, 0, 0x2001, "second one");
	check_row(&place, 1, 0x2020, "second one");
	check_row(&place, 2, 0x2021, "after");
	place_close(&place);
}

CASE(no_lines, "what is no line of a list is passed over")
{
	static const char text[] =
		"\n\n1000\n1000 \n1000 zz name\nzz 10 name\n1000 0 empty\n"
		"1000 10 \n1000 10\0name\nffffffffffffffff ffffffffffffffff far\n"
		"1000 10 good";
	struct place place;
	place_open(&place);
	note(&place, 0x1001);
	write_list(&place, text, sizeof(text) - 1);
	code_names_read(&place.names, PID, PID);
	CHECK_U64(place.names.rows.len, 1);
	check_row(&place, 0, 0x1001, "good");
	place_close(&place);
}

CASE(long_lines, "a line without an end names with its beginning, once")
{
	struct text text;
	struct place place;
	text_init(&text);
	text_add(&text, "1000 10 ");
	for (int i = 0; i < 200000; i++)
		text_add(&text, "1000 10 ");
	text_add(&text, "\n3000 1 next\n");
	place_open(&place);
	note(&place, 0x1001);
	note(&place, 0x3001);
	write_list(&place, text.data, text.len);
	code_names_read(&place.names, PID, PID);
	CHECK_U64(place.names.rows.len, 2);
	CHECK_U64(place.names.rows.data[0].name_len, CODE_NAME_BYTES_MAX);
	check_row(&place, 1, 0x3001, "next");
	place_close(&place);
	text_deinit(&text);
}

CASE(strangers, "a list that is a link or a pipe is not read, and none is no error")
{
	struct place place;
	place_open(&place);
	note(&place, 0x1001);
	CHECK(!symlink("/etc/passwd", place.list));
	code_names_read(&place.names, PID, PID);
	CHECK_U64(place.names.rows.len, 0);
	unlink(place.list);
	note(&place, 0x1001);
	CHECK(!mkfifo(place.list, 0600));
	code_names_read(&place.names, PID, PID);
	CHECK_U64(place.names.rows.len, 0);
	unlink(place.list);
	note(&place, 0x1001);
	code_names_read(&place.names, PID, PID);
	CHECK_U64(place.names.rows.len, 0);
	place_close(&place);
}

TAP_MAIN
