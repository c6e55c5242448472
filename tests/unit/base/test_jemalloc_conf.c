/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/shims/jemalloc_conf.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "lib/tap.h"

static struct je_conf conf;

static void keep_line(void *context, const char *line)
{
	text_add(context, line);
}

/* Returns the messages; the caller frees them. */
static char *read_conf(const char *program, const char *environment)
{
	struct text said;
	text_init(&said);
	const struct je_conf_texts texts = {
		.text = {[JE_CONF_PROGRAM] = program, [JE_CONF_ENV] = environment}};
	je_conf_read(&texts, keep_line, &said, &conf);
	return text_steal(&said);
}

#define CHECK_SAYS(environment, messages)                                                          \
	do {                                                                                       \
		_cleanup_free_ char *said_ = read_conf(NULL, environment);                         \
		CHECK_STR(said_, messages);                                                        \
	} while (0)

CASE(conf_defaults, "without a word the profiler is off, with jemalloc's defaults")
{
	CHECK_SAYS(NULL, "");
	CHECK(!conf.prof && conf.prof_active && !conf.prof_final && !conf.prof_leak);
	CHECK(!conf.had_error);
	CHECK_U64(conf.lg_prof_sample, 19);
	CHECK(conf.lg_prof_interval == -1);
	CHECK_STR(conf.prof_prefix, "jeprof");
}

CASE(conf_order, "the environment comes after the program's variable, the last word counts")
{
	_cleanup_free_ char *said = read_conf(
		"prof:true,lg_prof_sample:0,prof_prefix:a/b", "prof_prefix:c,prof_prefix:d:e");
	CHECK_STR(said, "");
	CHECK(conf.prof);
	CHECK_U64(conf.lg_prof_sample, 0);
	CHECK_STR(conf.prof_prefix, "d:e");
}

CASE(conf_implied, "leak_error implies leak, which implies prof, without dumps on the way")
{
	CHECK_SAYS("prof_leak_error:true,lg_prof_interval:20,prof_gdump:true", "");
	CHECK(conf.prof && conf.prof_leak && conf.prof_leak_error);
	CHECK(!conf.prof_gdump && conf.lg_prof_interval == -1 && !conf.prof_final);
	CHECK_SAYS("prof:true,prof_leak:true,lg_prof_interval:20,prof_gdump:true", "");
	CHECK(conf.prof_gdump && conf.lg_prof_interval == 20);
}

CASE(conf_numbers, "numbers are read as strtoumax does, clipped or refused")
{
	CHECK_SAYS("lg_prof_sample:0x10", "");
	CHECK_U64(conf.lg_prof_sample, 16);
	CHECK_SAYS("lg_prof_sample:010", "");
	CHECK_U64(conf.lg_prof_sample, 8);
	CHECK_SAYS("lg_prof_sample:64", "");
	CHECK_U64(conf.lg_prof_sample, 63);
	CHECK_SAYS("lg_prof_sample:08", "<jemalloc>: Invalid conf value: lg_prof_sample:08\n");
	CHECK_SAYS("lg_prof_interval:64",
		"<jemalloc>: Out-of-range conf value: lg_prof_interval:64\n");
	CHECK(conf.lg_prof_interval == -1 && conf.had_error);
	CHECK_SAYS("lg_prof_sample:99999999999999999999",
		"<jemalloc>: Invalid conf value: lg_prof_sample:99999999999999999999\n");
}

CASE(conf_malformed, "what is malformed is said in jemalloc's words, and what is before it counts")
{
	CHECK_SAYS("prof:true,x-y:1,prof_final:true",
		"<jemalloc>: Malformed conf string\n<jemalloc>: Malformed conf string\n");
	CHECK(conf.prof && !conf.prof_final && conf.had_error);
	CHECK_SAYS("prof:true,prof_final",
		"<jemalloc>: Conf string ends with key\n<jemalloc>: Conf string ends with key\n");
	CHECK_SAYS("prof:true,", "<jemalloc>: Conf string ends with comma\n<jemalloc>: Conf string "
				 "ends with comma\n");
	CHECK_SAYS("prof:yes,nonsense:1,experimental_x:1",
		"<jemalloc>: Invalid conf value: prof:yes\n"
		"<jemalloc>: Invalid conf pair: nonsense:1\n"
		"<jemalloc>: Invalid conf pair: experimental_x:1\n");
	CHECK(!conf.prof);
}

CASE(conf_others, "options of the allocator are accepted, and only their form is looked at")
{
	CHECK_SAYS("narenas:2,tcache:false,dirty_decay_ms:-1,junk:alloc,narenas:default,thp:never,"
		   "metadata_thp:auto,background_thread:true,prof_stats:true,zero_realloc:free",
		"");
	CHECK(!conf.had_error);
	CHECK_SAYS("experimental_infallible_new:x",
		"<jemalloc>: Invalid conf value: experimental_infallible_new:x\n");
	CHECK(!conf.had_error);
}

CASE(conf_confirmed, "confirm_conf shows the texts and what was set, also of what stands before it")
{
	CHECK_SAYS("prof:true,confirm_conf:true,nonsense:1",
		"<jemalloc>: malloc_conf #1 (string specified via --with-malloc-conf): \"\"\n"
		"<jemalloc>: malloc_conf #2 (string pointed to by the global variable "
		"malloc_conf): "
		"\"\"\n"
		"<jemalloc>: malloc_conf #3 (\"name\" of the file referenced by the symbolic link "
		"named /etc/malloc.conf): \"\"\n"
		"<jemalloc>: malloc_conf #4 (value of the environment variable MALLOC_CONF): "
		"\"prof:true,confirm_conf:true,nonsense:1\"\n"
		"<jemalloc>: -- Set conf value: prof:true\n"
		"<jemalloc>: -- Set conf value: confirm_conf:true\n"
		"<jemalloc>: Invalid conf pair: nonsense:1\n"
		"<jemalloc>: malloc_conf #5 (string pointed to by the global variable "
		"malloc_conf_2_conf_harder): \"\"\n");
}

CASE(conf_long, "a prefix is cut where jemalloc cuts it, and a long line does no harm")
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, "prof_prefix:");
	for (int i = 0; i < 3000; i++)
		text_add(&text, "abcd");
	CHECK_SAYS(text.data, "");
	CHECK_U64(strlen(conf.prof_prefix), JE_PREFIX_BYTES - 1);
	text_add(&text, ",confirm_conf:true,x:");
	for (int i = 0; i < 3000; i++)
		text_add(&text, "efgh");
	_cleanup_free_ char *said = read_conf(NULL, text.data);
	CHECK(strstr(said, "<jemalloc>: Invalid conf pair: x:efgh"));
}

TAP_MAIN
