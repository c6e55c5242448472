/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of code as programs write them, and as they should not. */
#include "capture/recorder/code_names.h"

#include "base/text.h"
#include "lib/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* The test's folder stands for the program's /tmp. */
static void note(struct place *place, uint64_t address)
{
	struct perf_map_place *at = &place->names.place;
	if (at->folder < 0) {
		CHECK(perf_map_place_open(getpid(), PID, at));
		close(at->folder);
		at->folder = open(place->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	code_names_note(&place->names, getpid(), PID, address);
}

static void read_names(struct place *place)
{
	code_names_read(&place->names, getpid(), PID, 0);
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

CASE(ranges, "an address has the name of the range that its call is in")
{
	static const char text[] = "1000 10 before\n2000 20 one\n2000 20 one\n2020 10 after\n";
	struct place place;
	place_open(&place);
	note(&place, 0x2020); /* returns to behind the last byte of its function */
	note(&place, 0x2001);
	note(&place, 0x2000);
	note(&place, 0x2001);
	note(&place, 0x2021);
	write_list(&place, text, sizeof(text) - 1);
	read_names(&place);
	CHECK_U64(place.names.rows.len, 3);
	check_row(&place, 0, 0x2001, "one");
	check_row(&place, 1, 0x2020, "one");
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
	read_names(&place);
	CHECK_U64(place.names.rows.len, 1);
	check_row(&place, 0, 0x1001, "good");
	place_close(&place);
}

static bool take_one(void *context, const struct perf_map_line *line)
{
	(void)line;
	return ++*(unsigned *)context < 2;
}

CASE(enough, "a list whose reader has enough before its end was not read whole")
{
	char text[] = "1000 10 a\n2000 10 b\n3000 10 c\n";
	unsigned taken = 0;
	FILE *list = fmemopen(text, sizeof(text) - 1, "r");
	CHECK(list != NULL);
	CHECK_U64(perf_map_each(list, take_one, &taken), PERF_MAP_CUT);
	CHECK_U64(taken, 2);
	taken = 0;
	CHECK(!fseek(list, 20, SEEK_SET)); /* the last line */
	CHECK_U64(perf_map_each(list, take_one, &taken), PERF_MAP_READ);
	fclose(list);
}

/* Notes as many addresses as there are lines, all with names of 1,000 bytes. */
static void names_of_a_kilobyte(struct place *place, size_t count)
{
	struct text text;
	text_init(&text);
	for (size_t i = 0; i < count; i++) {
		text_printf(&text, "%zx 10 %01000zu\n", (i + 1) * 16, i);
		note(place, (i + 1) * 16 + 1);
	}
	CHECK(!text.failed);
	write_list(place, text.data, text.len);
	text_deinit(&text);
	read_names(place);
}

CASE(many_bytes, "where names have no room, the list does not count as read whole")
{
	const size_t most = CODE_NAMES_BYTES_MAX / 1000;
	struct place place;
	place_open(&place);
	names_of_a_kilobyte(&place, most);
	CHECK_U64(place.names.rows.len, most);
	CHECK_U64(place.names.state, PERF_MAP_READ);
	place_close(&place);
	place_open(&place);
	names_of_a_kilobyte(&place, most + 1);
	CHECK_U64(place.names.rows.len, most);
	CHECK_U64(place.names.state, PERF_MAP_CUT);
	place_close(&place);
}

CASE(holes, "NULs count as bytes of a list: one with a large hole is cut")
{
	static const char first[] = "1000 10 first\n", last[] = "\n1000 10 last\n";
	struct place place;
	place_open(&place);
	note(&place, 0x1001);
	write_list(&place, first, sizeof(first) - 1);
	int fd = open(place.list, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0 && pwrite(fd, last, sizeof(last) - 1, (off_t)PERF_MAP_BYTES_MAX) ==
				 (ssize_t)sizeof(last) - 1);
	close(fd);
	read_names(&place);
	CHECK_U64(place.names.state, PERF_MAP_CUT);
	check_row(&place, 0, 0x1001, "first");
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
	read_names(&place);
	CHECK_U64(place.names.rows.len, 2);
	CHECK_U64(place.names.rows.data[0].name_len, PERF_MAP_NAME_BYTES_MAX);
	check_row(&place, 1, 0x3001, "next");
	place_close(&place);
	text_deinit(&text);
}

static void add_line(const struct place *place, const char *line)
{
	int fd = open(place->list, O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK(fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line));
	close(fd);
}

CASE(replaced, "of what was listed before a stack the last counts; what came later is said as well")
{
	static const char text[] = "1000 10 oldest\n1000 10 old\n";
	struct place place;
	place_open(&place);
	note(&place, 0x3001); /* before there is a list */
	write_list(&place, text, sizeof(text) - 1);
	note(&place, 0x1001);
	note(&place, 0x1008);
	add_line(&place, "1000 4 new\n1000 4 newest\n3000 2 late\n3000 2 late\n");
	note(&place, 0x1001);
	note(&place, 0x1003);
	read_names(&place);
	CHECK_U64(place.names.state, PERF_MAP_READ);
	CHECK_U64(place.names.rows.len, 4);
	check_row(&place, 0, 0x1001, "old (later new)");
	check_row(&place, 1, 0x1003, "newest");
	check_row(&place, 2, 0x1008, "old");
	check_row(&place, 3, 0x3001, "late");
	place_close(&place);
}

CASE(rewritten, "of a list that was replaced all lines came later")
{
	static const char text[] = "1000 10 gone\n", other[] = "1000 10 one\n1000 10 two\n";
	struct place place;
	place_open(&place);
	write_list(&place, text, sizeof(text) - 1);
	note(&place, 0x1001);
	CHECK(!unlink(place.list));
	write_list(&place, other, sizeof(other) - 1);
	read_names(&place);
	check_row(&place, 0, 0x1001, "one (later two)");
	place_close(&place);
}

CASE(emptied, "of a list that was emptied meanwhile all lines came later")
{
	static const char text[] = "1000 10 a name that is long enough for two lines\n",
			  other[] = "1000 10 one\n1000 10 two\n";
	struct place place;
	place_open(&place);
	write_list(&place, text, sizeof(text) - 1);
	note(&place, 0x1001);
	write_list(&place, other, sizeof(other) - 1);
	read_names(&place);
	check_row(&place, 0, 0x1001, "one (later two)");
	place_close(&place);
}

CASE(ended,
	"of a process that ended before it was looked at the list is complete, and the machine's")
{
	struct place place;
	char line[64];
	pid_t child = fork();
	if (!child)
		_exit(0);
	CHECK(waitpid(child, NULL, 0) == child);
	place_open(&place);
	snprintf(place.list, sizeof(place.list), "/tmp/perf-%d.map", (int)child);
	snprintf(line, sizeof(line), "1000 10 one\n1000 10 two\n");
	write_list(&place, line, strlen(line));
	code_names_note(&place.names, child, child, 0x1001);
	code_names_read(&place.names, child, child, 0);
	CHECK_U64(place.names.rows.len, 1);
	check_row(&place, 0, 0x1001, "two");
	place_close(&place);
}

/* Reads the list, as it is now, for a process of this user and with this start. */
static enum perf_map_state state_of(struct place *place, uid_t user, uint64_t began_ns)
{
	note(place, 0x1001);
	place->names.place.user = user;
	place->names.place.began_ns = began_ns;
	read_names(place);
	CHECK_U64(place->names.rows.len, place->names.state == PERF_MAP_READ);
	for (size_t i = 0; i < place->names.rows.len; i++)
		free(place->names.rows.data[i].name);
	code_name_vec_clear(&place->names.rows);
	return place->names.state;
}

CASE(believed, "a list that is older than the process, or of another user, is not read; root's is")
{
	static const char text[] = "1000 10 name\n";
	struct place place;
	struct stat status;
	place_open(&place);
	write_list(&place, text, sizeof(text) - 1);
	CHECK(!stat(place.list, &status));
	uint64_t written_ns =
		(uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
	CHECK_U64(state_of(&place, geteuid(), written_ns), PERF_MAP_READ);
	CHECK_U64(state_of(&place, geteuid(), written_ns + 1000000000u), PERF_MAP_STALE);
	CHECK_U64(state_of(&place, geteuid() + 1, written_ns),
		geteuid() ? PERF_MAP_STRANGER : PERF_MAP_READ);
	if (geteuid() == 0) {
		CHECK(!chown(place.list, 12345, 12345));
		CHECK_U64(state_of(&place, 12346, written_ns), PERF_MAP_STRANGER);
		CHECK_U64(state_of(&place, 12345, written_ns), PERF_MAP_READ);
	}
	place_close(&place);
}

CASE(words, "what became of a list is a sentence that names it")
{
	char words[PERF_MAP_WORDS_BYTES];
	for (int state = 0; state < PERF_MAP_STATES; state++) {
		perf_map_words((enum perf_map_state)state, PID, words);
		CHECK(state == PERF_MAP_UNSOUGHT ? !*words
						 : strstr(words, "/tmp/perf-4711.map") != NULL);
	}
	perf_map_words((enum perf_map_state)99, PID, words);
	CHECK_STR(words, "");
}

CASE(strangers, "a list that is a link or a pipe is not read, and none is no error")
{
	struct place place;
	place_open(&place);
	note(&place, 0x1001);
	CHECK(!symlink("/etc/passwd", place.list));
	read_names(&place);
	CHECK_U64(place.names.rows.len, 0);
	CHECK_U64(place.names.state, PERF_MAP_ODD);
	unlink(place.list);
	note(&place, 0x1001);
	CHECK(!mkfifo(place.list, 0600));
	read_names(&place);
	CHECK_U64(place.names.rows.len, 0);
	unlink(place.list);
	note(&place, 0x1001);
	read_names(&place);
	CHECK_U64(place.names.rows.len, 0);
	place_close(&place);
}

TAP_MAIN
