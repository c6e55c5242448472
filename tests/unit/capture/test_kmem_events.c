/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the kernel's tracepoints (capture/watch/kmem_events.h), and names of its functions
 * (process/kernel_symbols.h). */
#include "capture/watch/kmem_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "lib/tap.h"
#include "process/kernel_symbols.h"

static const char format[] = "name: kmalloc\n"
			     "ID: 658\n"
			     "format:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:unsigned long xptr;\toffset:8;\tsize:8;\tsigned:0;\n"
			     "\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"
			     "\tfield:size_t bytes_alloc;\toffset:32;\tsize:8;\tsigned:0;\n"
			     "\tfield:unsigned int order;\toffset:40;\tsize:4;\tsigned:0;\n"
			     "\tfield:void *near;\toffset:48;\tsize:8;\tsigned:0;\n"
			     "\nprint fmt: \"ptr=%p\", REC->ptr\n";

CASE(fields, "fields are found by their whole names")
{
	unsigned at = 0, bytes = 0;
	CHECK(kmem_format_field(format, "ptr", &at, &bytes) && at == 16 && bytes == 8);
	CHECK(kmem_format_field(format, "bytes_alloc", &at, &bytes) && at == 32 && bytes == 8);
	CHECK(kmem_format_field(format, "order", &at, &bytes) && at == 40 && bytes == 4);
	CHECK(kmem_format_field(format, "near", &at, &bytes) && at == 48);
	CHECK(!kmem_format_field(format, "alloc", &at, &bytes));
	CHECK(!kmem_format_field(format, "pfn", &at, &bytes));
	CHECK(!kmem_format_field("", "ptr", &at, &bytes));
	CHECK(!kmem_format_field("\tfield:void * ptr", "ptr", &at, &bytes));
}

/* An object, a page and memory of each processor of the same number are three blocks. */
CASE(keys, "blocks of different kinds have different keys")
{
	static const uint64_t per_cpu[] = {0x60ffd1c02040ull, 0xffffe8ffffc01040ull, 1};
	CHECK(kmem_key_address(KMEM_KEY(KMEM_OBJECT, 0xffff888100a0b000ull)) ==
		0xffff888100a0b000ull);
	CHECK(kmem_key_address(KMEM_KEY(KMEM_PAGES, 0x123456)) == 0x123456);
	for (size_t i = 0; i < ARRAY_SIZE(per_cpu); i++)
		CHECK(kmem_key_address(KMEM_KEY(KMEM_PERCPU, per_cpu[i])) == per_cpu[i]);
	CHECK(KMEM_KEY(KMEM_PAGES, 0x123456ull) != KMEM_KEY(KMEM_PERCPU, 0x123456ull));
	CHECK(KMEM_KEY(KMEM_OBJECT, 0xffffe8ffffc01040ull) !=
		KMEM_KEY(KMEM_PERCPU, 0xffffe8ffffc01040ull));
}

CASE(cookie, "a cookie has all that was put into it")
{
	uint64_t cookie = KMEM_COOKIE(KMEM_PERCPU, 1, 9, 4088, 56);
	CHECK(KMEM_COOKIE_KIND(cookie) == KMEM_PERCPU && KMEM_COOKIE_IS_FREE(cookie));
	CHECK(KMEM_COOKIE_FUNCTION(cookie) == 9);
	CHECK(KMEM_COOKIE_ADDRESS(cookie) == 4088 && KMEM_COOKIE_SIZE(cookie) == 56);
	CHECK(!KMEM_COOKIE_IS_FREE(KMEM_COOKIE(KMEM_PERCPU, 0, 9, 4088, 56)));
}

static void symbols_check(const char *text, void (*check)(const struct kernel_symbols *symbols))
{
	char path[] = "/tmp/heapwise-kallsyms-XXXXXX";
	struct kernel_symbols *symbols;
	int fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	CHECK_OK(kernel_symbols_read(path, &symbols));
	unlink(path);
	check(symbols);
	kernel_symbols_destroy(symbols);
}

static void names_check(const struct kernel_symbols *symbols)
{
	struct kernel_symbol found;
	CHECK(!kernel_symbols_are_hidden(symbols));
	/* A call that does not return is the last of its function. */
	CHECK(kernel_symbols_find(symbols, 0xffffffff81001000, &found));
	CHECK(!strcmp(found.name, "_text") && found.offset == 0x1000 && !found.module);
	CHECK(kernel_symbols_find(symbols, 0xffffffff81001001, &found));
	CHECK(!strcmp(found.name, "first") && found.offset == 1);
	CHECK(kernel_symbols_find(symbols, 0xffffffffc0000010, &found));
	CHECK(!strcmp(found.name, "mod_fn") && !strcmp(found.module, "ext4"));
	CHECK(!kernel_symbols_find(symbols, 0xffffffff82000010, &found)); /* data */
	CHECK(!kernel_symbols_find(symbols, 0xffffffffd0000000, &found)); /* far from all */
	CHECK(!kernel_symbols_find(symbols, 0x1000, &found));             /* before all */
}

static void hidden_check(const struct kernel_symbols *symbols)
{
	struct kernel_symbol found;
	CHECK(kernel_symbols_are_hidden(symbols));
	CHECK(!kernel_symbols_find(symbols, 0xffffffff81001001, &found));
}

CASE(missing, "a list that is not there is an error")
{
	struct kernel_symbols *symbols;
	struct error *error = kernel_symbols_read("/nonexistent/kallsyms", &symbols);
	CHECK(error != NULL);
	error_destroy(error);
}

CASE(names, "functions are found by return addresses")
{
	symbols_check("ffffffffc0000000 t mod_fn\t[ext4]\n"
		      "ffffffff81000000 T _text\n"
		      "ffffffff81000000 T _stext\n"
		      "ffffffff81001000 t first\n"
		      "ffffffff81001000 T second\n"
		      "not a line\n"
		      "ffffffff82000000 D data\n",
		names_check);
}

CASE(hidden, "a list without addresses is hidden")
{
	symbols_check("0000000000000000 T _text\n0000000000000000 t first\n", hidden_check);
}

TAP_MAIN
