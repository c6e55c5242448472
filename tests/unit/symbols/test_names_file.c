/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kept names: the file as anybody may write it, and the folder that files come and go in. */
#include "symbols/names/names_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "lib/tap.h"
#include "symbols/names/names_store.h"
#include "symbols/names/names_writer.h"
#include "symbols/symbols.h"

#define KEY "module 4:/bin 1 2 3\n"

static const char one[] = "one", two[] = "two", place[] = "/src/a.c", longer[] = "_ZN3one3twoEv";

static const struct symbol first[] = {
	{.function = one, .raw_name = one, .file = place, .line = 7, .inlined = true},
	{.function = two, .raw_name = longer, .linkage_name = longer, .file = place, .line = 9},
};
static const struct symbol second[] = {{.function = two, .raw_name = longer}};
static const struct symbol unknown[] = {{.function = NULL}};

static void check_symbol(const struct names_file *file, const struct names_symbol *found,
	const struct symbol *wanted)
{
	const struct {
		uint32_t number;
		const char *string;
	} parts[] = {
		{found->function, wanted->function},
		{found->raw_name, wanted->raw_name},
		{found->linkage_name, wanted->linkage_name},
		{found->file, wanted->file},
	};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		CHECK(!parts[i].number == !parts[i].string);
		if (parts[i].number)
			CHECK_STR(names_file_string(file, parts[i].number), parts[i].string);
	}
	CHECK_U64(found->line, wanted->line);
}

static void check_answer(const struct names_file *file, uint64_t address,
	const struct symbol *wanted, size_t wanted_count)
{
	size_t count;
	const struct names_symbol *found = names_file_find(file, address, &count);
	CHECK(found);
	CHECK_U64(count, wanted_count);
	for (size_t i = 0; i < count; i++)
		check_symbol(file, &found[i], &wanted[i]);
}

static void write_some(struct buf *buf)
{
	const struct names_header as = {.state = SYMBOLS_DWARF, .separate = 1};
	struct names_answer_vec answers;
	names_answer_vec_init(&answers);
	CHECK(names_answer_vec_push(&answers, (struct names_answer){0x5000, unknown, 1}));
	CHECK(names_answer_vec_push(&answers, (struct names_answer){0x1000, first, 2}));
	CHECK(names_answer_vec_push(&answers, (struct names_answer){0x4000, second, 1}));
	names_answers_sort(&answers);
	buf_init(buf);
	CHECK(names_write(buf, &as, KEY, strlen(KEY), &answers));
	names_answer_vec_deinit(&answers);
}

CASE(round_trip, "what was written is found, and nothing else")
{
	_cleanup_(buf_deinit) struct buf buf;
	write_some(&buf);
	struct names_file file;
	CHECK(names_file_parse(&file, buf.data, buf.len));
	CHECK_U64(file.header->state, SYMBOLS_DWARF);
	CHECK_U64(file.header->separate, 1);
	CHECK_U64(file.header->strings, 4);
	check_answer(&file, 0x1000, first, 2);
	check_answer(&file, 0x4000, second, 1);
	check_answer(&file, 0x5000, unknown, 1);
	size_t count;
	CHECK(!names_file_find(&file, 0xfff, &count));
	CHECK(!names_file_find(&file, 0x1001, &count));
	CHECK(!names_file_find(&file, UINT64_MAX, &count));
	CHECK(names_file_has_key(&file, KEY, strlen(KEY)));
	CHECK(!names_file_has_key(&file, KEY, strlen(KEY) - 1));
	CHECK(!names_file_has_key(&file, "module 4:/bin 1 2 4\n", strlen(KEY)));
}

CASE(no_answers, "a file without answers is one")
{
	const struct names_header as = {.state = SYMBOLS_SYMTAB};
	const struct names_answer_vec answers = {.len = 0};
	_cleanup_(buf_deinit) struct buf buf;
	buf_init(&buf);
	CHECK(names_write(&buf, &as, "", 0, &answers));
	struct names_file file;
	size_t count;
	CHECK(names_file_parse(&file, buf.data, buf.len));
	CHECK(!names_file_find(&file, 0, &count));
}

CASE(damaged, "a file with any bit changed, cut short anywhere or continued is none")
{
	_cleanup_(buf_deinit) struct buf buf;
	write_some(&buf);
	struct names_file file;
	for (size_t i = 0; i < 8 * buf.len; i++) {
		buf.data[i / 8] ^= (uint8_t)(1u << i % 8);
		CHECK(!names_file_parse(&file, buf.data, buf.len));
		buf.data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	for (size_t len = 0; len < buf.len; len++) {
		/* In a block of its size, where a sanitizer sees what is read behind it. */
		_cleanup_free_ uint8_t *cut = malloc(len + 1);
		memcpy(cut, buf.data, len);
		CHECK(!names_file_parse(&file, cut, len));
	}
	CHECK(names_file_parse(&file, buf.data, buf.len));
	CHECK(buf_u8(&buf, 0));
	CHECK(!names_file_parse(&file, buf.data, buf.len));
}

/* Reads all that a file may be asked for; returns how much text there was. */
static size_t read_all(const struct names_file *file)
{
	size_t len = 0, count;
	for (uint32_t i = 0; i < file->header->addresses; i++) {
		const struct names_symbol *found =
			names_file_find(file, file->addresses[i], &count);
		CHECK(found && count);
		for (size_t j = 0; j < count; j++)
			if (found[j].function)
				len += strlen(names_file_string(file, found[j].function));
	}
	for (uint32_t i = 1; i <= file->header->strings; i++)
		len += strlen(names_file_string(file, i));
	return len;
}

CASE(hostile, "a file with any byte changed and its checksum made right leads nowhere outside")
{
	static const uint8_t changes[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff};
	_cleanup_(buf_deinit) struct buf buf;
	write_some(&buf);
	size_t taken = 0, refused = 0;
	for (size_t i = sizeof(uint64_t) * 2; i < buf.len; i++)
		for (size_t j = 0; j < ARRAY_SIZE(changes); j++) {
			_cleanup_free_ uint8_t *data = malloc(buf.len);
			memcpy(data, buf.data, buf.len);
			data[i] ^= changes[j];
			uint64_t checksum = names_file_checksum(data, buf.len);
			memcpy(data + 8, &checksum, sizeof(checksum));
			struct names_file file;
			if (names_file_parse(&file, data, buf.len)) {
				taken += read_all(&file) > 0;
			} else {
				refused++;
			}
		}
	/* Letters of names may be any; counts, order and bounds may not. */
	CHECK(taken > 0 && refused > 0);
}

static char folder[PATH_MAX];

static void remove_folder(void)
{
	_cleanup_(text_deinit) struct text command;
	text_init(&command);
	text_printf(&command, "rm -rf '%s'", folder);
	if (system(command.data) != 0)
		perror(folder);
}

static const char *in_folder(const char *name)
{
	static char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/heapwise-test-names-XXXXXX");
	CHECK(mkdtemp(folder));
	atexit(remove_folder);
}

static bool can_read(const char *name, const char *wanted)
{
	uint8_t *data = NULL;
	size_t len;
	if (!names_store_read(folder, name, &data, &len))
		return false;
	bool same = len == strlen(wanted) && memcmp(data, wanted, len) == 0;
	free(data);
	CHECK(same);
	return true;
}

CASE(store, "a file is read back, replaced, and only its owner may read it")
{
	make_folder();
	CHECK(!can_read("a.names", ""));
	names_store_write(folder, "a.names", "hello", 5);
	CHECK(can_read("a.names", "hello"));
	names_store_write(folder, "a.names", "good bye", 8);
	CHECK(can_read("a.names", "good bye"));
	struct stat status;
	CHECK(stat(in_folder("a.names"), &status) == 0);
	CHECK_U64(status.st_mode & 07777, 0600);
	CHECK_U64(status.st_nlink, 1);
}

CASE(store_made, "the folder is made for its owner alone; where none can be, nothing happens")
{
	make_folder();
	strcat(folder, "/inner");
	names_store_write(folder, "a.names", "hello", 5);
	CHECK(can_read("a.names", "hello"));
	struct stat status;
	CHECK(stat(folder, &status) == 0);
	CHECK_U64(status.st_mode & 07777, 0700);
	*strrchr(folder, '/') = '\0';
	names_store_write("/proc/self/nothing", "a.names", "hello", 5);
	names_store_trim("/proc/self/nothing", 0, 0);
}

CASE(store_foreign, "what others could have written, links, pipes and folders are not read")
{
	make_folder();
	names_store_write(folder, "a.names", "hello", 5);
	CHECK(chmod(in_folder("a.names"), 0620) == 0);
	CHECK(!can_read("a.names", "hello"));
	CHECK(chmod(in_folder("a.names"), 0644) == 0);
	CHECK(can_read("a.names", "hello"));
	CHECK(symlink("a.names", in_folder("link.names")) == 0);
	CHECK(!can_read("link.names", "hello"));
	CHECK(mkfifo(in_folder("pipe.names"), 0600) == 0);
	CHECK(!can_read("pipe.names", ""));
	CHECK(mkdir(in_folder("folder.names"), 0700) == 0);
	CHECK(!can_read("folder.names", ""));
	int fd = open(in_folder("long.names"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)NAMES_FILE_MAX + 1) == 0 && close(fd) == 0);
	CHECK(!can_read("long.names", ""));
	CHECK(chmod(folder, 0777) == 0);
	CHECK(!can_read("a.names", "hello"));
	names_store_write(folder, "b.names", "hello", 5);
	CHECK(chmod(folder, 0700) == 0);
	CHECK(access(in_folder("b.names"), F_OK) != 0);
}

static void use_at(const char *name, time_t seconds)
{
	const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	CHECK(utimensat(AT_FDCWD, in_folder(name), times, 0) == 0);
}

CASE(store_trim, "what was not used for longest goes first; files of others stay")
{
	make_folder();
	time_t now = time(NULL);
	static const char *const names[] = {"a.names", "b.names", "c.names", "d.names"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		names_store_write(folder, names[i], "12345678", 8);
		use_at(names[i], now - 10000 - (time_t)i);
	}
	names_store_write(folder, "theirs", "12345678", 8);
	names_store_write(folder, ".new-left", "12345678", 8);
	use_at(".new-left", now - 100000);
	names_store_write(folder, ".new-writing", "12345678", 8);
	/* Reading is using. */
	CHECK(can_read("d.names", "12345678"));
	names_store_trim(folder, 24, 10);
	CHECK(access(in_folder("c.names"), F_OK) != 0);
	CHECK(can_read("a.names", "12345678") && can_read("b.names", "12345678"));
	use_at("a.names", now - 10000);
	use_at("b.names", now - 10000);
	names_store_trim(folder, 1000, 1);
	CHECK(access(in_folder("a.names"), F_OK) != 0 && access(in_folder("b.names"), F_OK) != 0);
	names_store_trim(folder, 8, 10);
	CHECK(can_read("d.names", "12345678"));
	CHECK(access(in_folder("theirs"), F_OK) == 0);
	CHECK(access(in_folder(".new-left"), F_OK) != 0);
	CHECK(access(in_folder(".new-writing"), F_OK) == 0);
	names_store_trim(folder, 7, 10);
	CHECK(access(in_folder("d.names"), F_OK) != 0);
}

#define WRITERS 4
#define WRITES 100
#define BLOCK 100000u

static _Noreturn void keep_writing(char letter)
{
	static char block[BLOCK];
	memset(block, letter, sizeof(block));
	for (int i = 0; i < WRITES; i++)
		names_store_write(folder, "a.names", block, sizeof(block) - (size_t)letter);
	_exit(0);
}

/* One writer's file from its first to its last byte. */
static void check_whole(void)
{
	uint8_t *data;
	size_t len;
	if (!names_store_read(folder, "a.names", &data, &len))
		return;
	CHECK(len > 0);
	CHECK_U64(len, BLOCK - data[0]);
	for (size_t i = 1; i < len; i++)
		CHECK(data[i] == data[0]);
	free(data);
}

CASE(store_at_once,
	"several that write one file at once leave one of theirs, and readers see whole ones")
{
	make_folder();
	for (int i = 0; i < WRITERS; i++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (child == 0)
			keep_writing((char)('a' + i));
	}
	int status, ended = 0;
	while (ended < WRITERS) {
		check_whole();
		pid_t child = waitpid(-1, &status, WNOHANG);
		CHECK(child >= 0);
		CHECK(child == 0 || status == 0);
		ended += child > 0;
	}
	check_whole();
	CHECK(access(in_folder("a.names"), F_OK) == 0);
	names_store_trim(folder, UINT64_MAX, SIZE_MAX);
	CHECK(unlink(in_folder("a.names")) == 0);
	/* Nothing half written is left beside it. */
	CHECK(rmdir(folder) == 0);
	CHECK(mkdir(folder, 0700) == 0);
}

TAP_MAIN
