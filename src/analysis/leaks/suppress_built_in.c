/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the C and C++ libraries of Debian 12 (glibc 2.36, libstdc++ 6.0.30) keep by design, where a
 * program has done nothing wrong and can do nothing about it. An entry is here only because a
 * program shows it to Valgrind; tests/unit/analysis/test_suppress_built_in.c has these programs and
 * fails on an entry that none of them needs.
 *
 * They are given by functions that the libraries export, and by those that can be distinguished
 * from these (symbols/names/inner_names.h): the others have their names from debug files
 * (libc6-dbg), which Valgrind always has and users of ours do not, and answers may not depend on
 * that. An entry whose function also gives memory to its caller is of what others allocate that it
 * calls. No entry spans code of the program's: library_own.h shows it only the libraries' own
 * frames.
 */
#include <assert.h>
#include <string.h>

#include "analysis/leaks/suppress_impl.h"
#include "analysis/suppress.h"
#include "base/cleanup.h"
#include "base/util.h"

#define POSSIBLE (1u << SUPPRESS_POSSIBLE)
#define REACHABLE (1u << SUPPRESS_REACHABLE)
/* Nodes of tsearch() have their colour in the lowest bit of a pointer, which misses their start. */
#define IN_TREE (POSSIBLE | REACHABLE)

/* A bit beside the kinds: it has as much as there are libraries, locales, streams… */
#define LARGE (1u << SUPPRESS_KINDS)

/*
 * What a library keeps for itself is bounded: what grows with the program's work is
 * caused by the program, whichever library calls malloc (setenv in a loop). So much may one stack
 * have.
 */
#define OWN_BLOCKS_MOST 64u
#define OWN_BLOCKS_MOST_LARGE 4096u
#define OWN_BYTES_MOST 65536u
#define OWN_BYTES_MOST_LARGE (4u << 20)
/* So few are never too large: libstdc++'s reserve, a buffer as large as the file system wants it.
 */
#define OWN_BLOCKS_ANY_SIZE 4u

/* Ways to the allocation function, with the function outward of them to follow. */
#define ANY_WAY "fun:*alloc\n...\nfun:"
#define DIRECT "fun:malloc\nfun:"
/* A way that is not direct: what the function itself allocates is its caller's. */
#define BELOW "fun:*alloc\nobj:*/libc.so*\n...\nfun:"

static const struct built_in {
	enum suppress_origin origin;
	unsigned kinds;
	const char *name, *lines;
	const char *reason; /* of this one and those that follow without any */
} built_ins[] = {
	{SUPPRESS_FALSE_ALARM, IN_TREE, "late-tls-block",
		"fun:malloc\nobj:*/ld-linux*.so.?\n...\nfun:__tls_get_addr",
		"thread-local storage of libraries loaded at run time: its aligned part is "
		"used"},

	{SUPPRESS_LIBRARY_OWN, REACHABLE, "thread-storage", "fun:calloc\n...\nfun:_dl_allocate_tls",
		"tables of thread-local storage, of running threads and of stacks that libc keeps"},
	{SUPPRESS_LIBRARY_OWN, IN_TREE | LARGE, "late-thread-storage",
		"fun:*alloc\nobj:*/ld-linux*.so.?\n...\nfun:__tls_get_addr",
		"thread-local storage of libraries loaded at run time"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "exception-pool",
		"fun:malloc\nobj:*/libstdc++.so*\nobj:*/ld-linux*.so.?",
		"libstdc++'s emergency pool for exceptions"},
	/* Nothing else that the loader calls has operators of C++. */
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "allocator", "fun:_Znwm\nobj:*/ld-linux*.so.?",
		"start-up allocations of a malloc that replaces libc's"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "stdio-buffer", DIRECT "_IO_*file_doallocate",
		"stdio's file buffers"},
	{SUPPRESS_LIBRARY_OWN, IN_TREE, "environment", ANY_WAY "__add_to_environ",
		"the environment after changes to it"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "dlerror-result", BELOW "*dlopen*",
		"the last error message of dlopen() and related functions"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "dlerror-result-of-name", BELOW "*dlsym*", NULL},
	{SUPPRESS_LIBRARY_OWN, IN_TREE | LARGE, "loader",
		"fun:*alloc\nobj:*/ld-linux*.so.?\n...\nfun:_dl_catch_exception",
		"the loader's data on libraries loaded at run time"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE | LARGE, "setlocale", ANY_WAY "setlocale",
		"locales, and the names that lead to them"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE | LARGE, "locale-files", BELOW "*newlocale", NULL},
	{SUPPRESS_LIBRARY_OWN, IN_TREE, "iconv-module", BELOW "__gconv_open",
		"conversion tables of iconv() and of multibyte functions"},
	{SUPPRESS_LIBRARY_OWN, IN_TREE, "multibyte", ANY_WAY "*mb*towc*", NULL},
	{SUPPRESS_LIBRARY_OWN, IN_TREE, "multibyte-written", ANY_WAY "*wc*tomb*", NULL},
	{SUPPRESS_LIBRARY_OWN, IN_TREE, "multibyte-stream", ANY_WAY "_IO_fwide", NULL},
	{SUPPRESS_LIBRARY_OWN, IN_TREE, "gettext", ANY_WAY "__dcigettext", "translations"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "bindtextdomain", ANY_WAY "bindtextdomain", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "textdomain", ANY_WAY "textdomain", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "time-zone", ANY_WAY "tzset_internal", "time zones"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "nss-services", ANY_WAY "nss_database_*",
		"the name service configuration (users, groups, hosts)"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "nss-services-once", ANY_WAY "__nss_database_get", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "getpwnam", DIRECT "getpwnam",
		"results that libc functions keep until the next call"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "getpwuid", DIRECT "getpwuid", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "getgrnam", DIRECT "getgrnam", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "getgrgid", DIRECT "getgrgid", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "getservbyname", DIRECT "getservbyname", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "getprotobyname", DIRECT "getprotobyname", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "gethostbyname", DIRECT "gethostbyname", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "resolver", ANY_WAY "__resolv_context_get",
		"the resolver, and the addresses of this machine"},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "resolver-servers", DIRECT "__res_context_send", NULL},
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "own-addresses", "fun:malloc\n...\nfun:__check_pf", NULL},
	/* To Valgrind realloc of nothing is malloc; results are never of realloc. */
	{SUPPRESS_LIBRARY_OWN, REACHABLE, "own-addresses-grown",
		"fun:realloc\n...\nfun:getaddrinfo", NULL},
};

void suppress_built_in_text(struct text *text, enum suppress_origin origin)
{
	assert(origin == SUPPRESS_FALSE_ALARM || origin == SUPPRESS_LIBRARY_OWN);
	for (size_t i = 0; i < ARRAY_SIZE(built_ins); i++) {
		const struct built_in *entry = &built_ins[i];
		if (entry->origin != origin)
			continue;
		if (entry->reason)
			text_printf(text, "# %s\n", entry->reason);
		text_printf(text, "{\n%s\nMemcheck:Leak\nmatch-leak-kinds: ", entry->name);
		for (unsigned kind = 0; kind < SUPPRESS_KINDS; kind++)
			if (entry->kinds & 1u << kind)
				text_printf(
					text, "%s,", suppress_kind_name((enum suppress_kind)kind));
		text_printf(text, "\n%s\n}\n", entry->lines);
	}
}

const char *suppress_built_in_reason(const char *name)
{
	const char *reason = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(built_ins); i++) {
		reason = built_ins[i].reason ? built_ins[i].reason : reason;
		if (strcmp(built_ins[i].name, name) == 0)
			return reason;
	}
	return NULL;
}

bool suppress_built_in_is_bounded(
	const char *name, uint64_t blocks, uint64_t bytes, uint64_t recordings)
{
	bool large = false;
	for (size_t i = 0; i < ARRAY_SIZE(built_ins); i++)
		if (!strcmp(built_ins[i].name, name))
			large = built_ins[i].kinds & LARGE;
	uint64_t blocks_most = large ? OWN_BLOCKS_MOST_LARGE : OWN_BLOCKS_MOST;
	uint64_t bytes_most = large ? OWN_BYTES_MOST_LARGE : OWN_BYTES_MOST;
	return blocks <= OWN_BLOCKS_ANY_SIZE * recordings ||
	       (blocks <= blocks_most * recordings && bytes <= bytes_most * recordings);
}

static struct error *suppress_built_in_add(struct suppressions *set, enum suppress_origin origin)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	suppress_built_in_text(&text, origin);
	if (text.failed)
		return error_no_memory();
	size_t before = set->entries.len;
	struct error *error = suppressions_parse(set, "built-in", text.data, text.len);
	for (size_t i = before; i < set->entries.len && !error; i++)
		set->entries.data[i].shown.origin = origin;
	return error;
}

struct error *suppressions_add_built_in(struct suppressions *set)
{
	struct error *error = suppress_built_in_add(set, SUPPRESS_FALSE_ALARM);
	return error ? error : suppress_built_in_add(set, SUPPRESS_LIBRARY_OWN);
}
