/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a JVM writes about its memory, and what only looks like it. */
#include "base/cleanup.h"
#include "lib/tap.h"
#include "sources/java_text.h"

#define HEAD                                                                                       \
	" num     #instances         #bytes  class name (module)\n"                                \
	"-------------------------------------------------------\n"
#define ROWS                                                                                       \
	"   1:          1475         907000  [Ljava.lang.Object; (java.base@17.0.15)\n"            \
	"   2:          9042         428048  [B (java.base@17.0.15)\n"                             \
	"   3:             3         500000  [[[I (java.base@17.0.15)\n"                           \
	"   4:            10            240  com.example.Order\n"
#define HISTOGRAM HEAD ROWS "Total         10530        1835288\n"

#define NATIVE                                                                                     \
	"\nNative Memory Tracking:\n\n(Omitting categories weighting less than 1KB)\n\n"           \
	"Total: reserved=1857921KB, committed=96709KB\n       malloc: 14045KB #37041\n\n"          \
	"-                 Java Heap (reserved=262144KB, committed=16384KB)\n"                     \
	"                            (mmap: reserved=262144KB, committed=16384KB)\n \n"            \
	"-                    Thread (reserved=20568KB, committed=20000KB)\n"                      \
	"                            (thread #20)\n"

static struct error *histogram_read(const char *text, struct java_memory *memory)
{
	java_memory_init(memory);
	return java_histogram_parse(strdup(text), memory);
}

static struct error *native_read(const char *text, struct java_memory *memory)
{
	java_memory_init(memory);
	return java_native_parse(strdup(text), memory);
}

CASE(histogram, "classes come by bytes, with names as in Java, and exact sums")
{
	_cleanup_(java_memory_deinit) struct java_memory memory;
	CHECK_OK(histogram_read(HISTOGRAM, &memory));
	CHECK_U64(memory.classes.len, 4);
	CHECK_STR(memory.classes.data[0].name, "java.lang.Object[]");
	CHECK_STR(memory.classes.data[0].module, "java.base@17.0.15");
	CHECK_U64(memory.classes.data[0].instances, 1475);
	CHECK_STR(memory.classes.data[1].name, "int[][][]");
	CHECK_STR(memory.classes.data[2].name, "byte[]");
	CHECK_STR(memory.classes.data[3].name, "com.example.Order");
	CHECK(!memory.classes.data[3].module);
	CHECK_U64(memory.instances, 10530);
	CHECK_U64(memory.bytes, 1835288);
	CHECK_U64(memory.left_out, 0);
}

CASE(histogram_lines, "lines that nobody knows are counted, not passed over")
{
	_cleanup_(java_memory_deinit) struct java_memory memory;
	CHECK_OK(histogram_read(
		HEAD "hello\n" ROWS "Total         10530        1835288\r\n", &memory));
	CHECK_U64(memory.left_out, 1);
}

static void check_histogram_refused(const char *text, const char *part)
{
	_cleanup_(java_memory_deinit) struct java_memory memory;
	CHECK_ERROR(histogram_read(text, &memory), ERROR_INPUT, part);
}

CASE(histogram_refused, "what is cut off, or does not add up, is refused")
{
	check_histogram_refused("", "no class histogram");
	check_histogram_refused("Unable to inspect\n", "Unable to inspect");
	check_histogram_refused(HEAD ROWS, "cut off");
	check_histogram_refused(HEAD ROWS "Total 10530 1835289\n", "1835289");
	check_histogram_refused(HEAD ROWS "Total 10531 1835288\n", "1835288");
	check_histogram_refused("1: 1 18446744073709551615 a\n2: 1 1 b\nTotal 2 0\n", "2^64");
	check_histogram_refused("1: 1 18446744073709551616 a\nTotal 1 0\n", "no class histogram");
}

CASE(histogram_names, "arrays of any depth keep to the memory of their line")
{
	const char *const names[] = {"[", "[[", "[L;", "[La;", "[[[[[[[[[[[[[[[[[[[[[[[[I", "[V",
		"[[[[[[[[[[[[[[[[[[[[[[[[La;", "L;", "[Lq", "("};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_(java_memory_deinit) struct java_memory memory;
		char text[200];
		snprintf(text, sizeof(text), "1: 2 16 %s\nTotal 2 16\n", names[i]);
		CHECK_OK(histogram_read(text, &memory));
		CHECK(*memory.classes.data[0].name);
	}
}

CASE(histogram_ends, "a name that is nothing but brackets may be the end of the text")
{
	check_histogram_refused("1: 2 16 [", "cut off");
	check_histogram_refused("1: 2 16 [[[ (a)", "cut off");
}

CASE(native, "uses of native memory come by what is committed")
{
	_cleanup_(java_memory_deinit) struct java_memory memory;
	CHECK_OK(native_read(NATIVE, &memory));
	CHECK_U64(memory.reserved_bytes, 1857921ull << 10);
	CHECK_U64(memory.committed_bytes, 96709ull << 10);
	CHECK_U64(memory.uses.len, 2);
	CHECK_STR(memory.uses.data[0].name, "Thread");
	CHECK_U64(memory.uses.data[0].committed_bytes, 20000ull << 10);
	CHECK_STR(memory.uses.data[1].name, "Java Heap");
	CHECK_U64(memory.uses.data[1].reserved_bytes, 262144ull << 10);
}

CASE(native_refused, "a JVM that does not track its memory says so; other text is none")
{
	_cleanup_(java_memory_deinit) struct java_memory off, other, large;
	CHECK_ERROR(native_read("Native memory tracking is not enabled\n", &off), ERROR_INPUT,
		"-XX:NativeMemoryTracking=summary");
	CHECK_ERROR(native_read("- x (reserved=1KB, committed=1KB)\n", &other), ERROR_INPUT,
		"no summary");
	CHECK_ERROR(native_read("Total: reserved=18446744073709551615KB, committed=1KB\n", &large),
		ERROR_INPUT, "no summary");
}

/* Cut anywhere, and with any byte changed, it is read or refused. */
static void check_hostile(
	const char *text, struct error *(*parse)(char *text, struct java_memory *memory))
{
	size_t len = strlen(text);
	for (size_t i = 0; i < 2 * len; i++) {
		_cleanup_(java_memory_deinit) struct java_memory memory;
		char *copy = strndup(text, i < len ? i : len);
		java_memory_init(&memory);
		if (i >= len)
			copy[i - len] = (char)(i * 37 % 255 + 1);
		struct error *error = parse(copy, &memory);
		CHECK(!error || error->code == ERROR_INPUT);
		error_destroy(error);
	}
}

CASE(hostile, "damaged answers are read or refused")
{
	check_hostile(HISTOGRAM, java_histogram_parse);
	check_hostile(NATIVE, java_native_parse);
}

TAP_MAIN
