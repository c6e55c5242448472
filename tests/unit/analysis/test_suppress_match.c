/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which suppression fits a stack: Valgrind's and LSan's rules, order, speed, counters. */
#include <time.h>

#include "analysis/suppress.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "lib/tap.h"

#define FUN(name)                                                                                  \
	{                                                                                          \
		.function = (name)                                                                 \
	}
#define OBJ(path)                                                                                  \
	{                                                                                          \
		.object = (path)                                                                   \
	}
#define NOBODY "nobody"

static struct suppressions *set_of(const char *text)
{
	struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	CHECK_OK(suppressions_parse(set, "x.supp", text, strlen(text)));
	return set;
}

/* The name of what suppresses a stack. */
static const char *who(struct suppressions *set, const struct suppress_frame *frames, size_t count,
	enum suppress_kind kind)
{
	uint32_t id = 12345;
	CHECK_OK(suppressions_match(set, frames, count, kind, &id));
	return id == SUPPRESS_NONE ? NOBODY : suppressions_get(set, id)->name;
}

/* Whether an entry of these lines holds for a stack. */
static bool holds(const char *lines, const struct suppress_frame *frames, size_t count)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "{\nentry\nMemcheck:Leak\n%s\n}\n", lines);
	_cleanup_(suppressions_cleanup) struct suppressions *set = set_of(text.data);
	return strcmp(who(set, frames, count, SUPPRESS_DEFINITE), "entry") == 0;
}

#define HOLDS(lines, frames) CHECK(holds(lines, frames, ARRAY_SIZE(frames)))
#define HOLDS_NOT(lines, frames) CHECK(!holds(lines, frames, ARRAY_SIZE(frames)))

static bool lsan_holds(const char *pattern, const struct suppress_frame *frames, size_t count)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "leak:%s\n", pattern);
	_cleanup_(suppressions_cleanup) struct suppressions *set = set_of(text.data);
	return strcmp(who(set, frames, count, SUPPRESS_DEFINITE), NOBODY) != 0;
}

#define LSAN_HOLDS(pattern, frames) CHECK(lsan_holds(pattern, frames, ARRAY_SIZE(frames)))
#define LSAN_HOLDS_NOT(pattern, frames) CHECK(!lsan_holds(pattern, frames, ARRAY_SIZE(frames)))

CASE(prefix, "an entry holds for stacks that begin with its lines")
{
	const struct suppress_frame stack[] = {FUN("malloc"), FUN("make"), FUN("main")};
	HOLDS("fun:malloc", stack);
	HOLDS("fun:malloc\nfun:make", stack);
	HOLDS("fun:malloc\nfun:make\nfun:main", stack);
	HOLDS_NOT("fun:malloc\nfun:make\nfun:main\nfun:more", stack);
	HOLDS_NOT("fun:make", stack);
	HOLDS_NOT("fun:malloc\nfun:main", stack);
	HOLDS_NOT("fun:mallo", stack);
	HOLDS_NOT("fun:malloc2", stack);
	HOLDS_NOT("fun:", stack);
}

/* The name of what suppresses an error that an entry of any of these kinds fits. */
static const char *whose(struct suppressions *set, uint64_t kinds, const char *extra)
{
	const struct suppress_frame stack[] = {
		FUN("get"), FUN("app::Table::read(int) const"), FUN("app::Table::Table(int)")};
	const struct suppress_error error = {
		.kinds = kinds, .extra = extra, .frames = stack, .count = ARRAY_SIZE(stack)};
	uint32_t id = 12345;
	CHECK_OK(suppressions_match_error(set, &error, &id));
	if (id == SUPPRESS_NONE)
		return NOBODY;
	suppressions_use_error(set, id, 3);
	return suppressions_get(set, id)->name;
}

CASE(errors, "an entry for errors holds for its kind, size and line alone, and never for leaks")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set =
		set_of("{\nleak\nMemcheck:Leak\nfun:get\n}\nleak:get\n"
		       "{\nfour\nMemcheck:Addr4\nfun:get\n}\n"
		       "{\none\nMemcheck:Addr1\nfun:get\n}\n"
		       "{\nparam\nMemcheck:Param\nread(buf)\nfun:get\n}\n"
		       "{\nother param\nMemcheck:Param\nwrite(buf)\nfun:get\n}\n"
		       "{\nfree\nMemcheck:Free\n...\nfun:_ZN*\n}\n"
		       "interceptor_via_fun:Table\n");
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_ADDR4), NULL), "four");
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_ADDR1), NULL), "one");
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_ADDR8), NULL), NOBODY);
	CHECK_STR(whose(set, SUPPRESS_ADDR_ALL, NULL), "four");
	CHECK_STR(whose(set, SUPPRESS_VALUE_ALL, NULL), NOBODY);
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_PARAM), "write(buf)"), "other param");
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_PARAM), "ioctl(arg)"), NOBODY);
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_PARAM), NULL), NOBODY);
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_FREE), NULL), NOBODY);
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_IN_CALL), NULL), "Table");
	CHECK_STR(whose(set, SUPPRESS_KINDS_ALL, NULL), NOBODY);
	CHECK_STR(whose(set, 0, NULL), NOBODY);
	const struct suppress_frame stack[] = {FUN("get")};
	CHECK_STR(who(set, stack, 1, SUPPRESS_DEFINITE), "leak");
	CHECK_U64(suppressions_get(set, 2)->errors, 6);
	CHECK_U64(suppressions_get(set, 2)->records, 2);
	CHECK_U64(suppressions_get(set, 0)->errors, 0);
}

/* Whether a line of AddressSanitizer's form fits a read by `call`, called by main() in
 * app::Table::read(). */
static bool asan_fits(const char *line, const char *call)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = set_of(line);
	const struct suppress_frame stack[] = {{.function = call ? call : "get"},
		{.demangled = "app::Table::read(int) const", .object = "/usr/lib/libtable.so.2"},
		{.function = "main", .object = "/usr/bin/app"}};
	const struct suppress_error error = {.kinds = SUPPRESS_BIT(SUPPRESS_ADDR4),
		.frames = stack,
		.count = ARRAY_SIZE(stack),
		.call = call};
	uint32_t id = 12345;
	CHECK_OK(suppressions_match_error(set, &error, &id));
	return id == 0;
}

CASE(asan, "each form of AddressSanitizer's fits errors of libc's functions, and their twins not")
{
	static const struct asan_form {
		const char *line;
		bool fits;
	} forms[] = {
		{"interceptor_name:memcpy", true},
		{"interceptor_name:emc", true},
		{"interceptor_name:^mem*y$", true},
		{"interceptor_name:*", true},
		{"interceptor_name:^emc", false},
		{"interceptor_name:memc$", false},
		{"interceptor_name:main", false},
		{"interceptor_name:memmove", false},
		{"interceptor_via_fun:^app::Table::read", true},
		{"interceptor_via_fun:Table*read", true},
		{"interceptor_via_fun:main$", true},
		{"interceptor_via_fun:^Table::read", false},
		{"interceptor_via_fun:libtable", false},
		{"interceptor_via_fun:read$Table", false},
		{"interceptor_via_lib:libtable.so", true},
		{"interceptor_via_lib:^/usr/lib/*.so.2$", true},
		{"interceptor_via_lib:libtable.so$", false},
		{"interceptor_via_lib:Table", false},
		{"odr_violation:memcpy", false},
		{"alloc_dealloc_mismatch:main", false},
		{"leak:main", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		bool fits = asan_fits(forms[i].line, "memcpy");
		CHECK_STR(fits == forms[i].fits ? "right" : forms[i].line, "right");
		CHECK(!asan_fits(forms[i].line, NULL)); /* the program's own access */
	}
}

CASE(mangled,
	"a mangled name holds for the name that it stands for, whose mangled form is not known")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set =
		set_of("{\nlong\nMemcheck:Cond\nfun:get\nfun:_ZNK3app5Table4readEl\n}\n"
		       "{\nint\nMemcheck:Cond\nfun:get\nfun:_ZNK3app5Table4readEi\n}\n"
		       "{\nnot made\nMemcheck:Jump\n...\nfun:_ZN3app5TableC1El\n}\n"
		       "{\nbase made\nMemcheck:Jump\n...\nfun:_ZN3app5TableC2Ei\n}\n"
		       "{\nmade\nMemcheck:Free\n...\nfun:_ZN3app5TableC1Ei\n}\n");
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_COND), NULL), "int");
	/* Both kinds of constructors are called so. */
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_JUMP), NULL), "base made");
	CHECK_STR(whose(set, SUPPRESS_BIT(SUPPRESS_FREE), NULL), "made");
}

CASE(ellipsis, "an ellipsis stands for any frames, or none")
{
	const struct suppress_frame stack[] = {
		FUN("malloc"), FUN("a"), FUN("b"), FUN("a"), FUN("b"), FUN("c"), FUN("main")};
	HOLDS("...\nfun:main", stack);
	HOLDS("...\nfun:malloc", stack);
	HOLDS("fun:malloc\n...", stack);
	HOLDS("fun:malloc\n...\n...\nfun:a", stack);
	HOLDS("fun:malloc\n...\nfun:main\n...", stack);
	HOLDS("...\nfun:a\nfun:b\nfun:c", stack);
	HOLDS("fun:malloc\n...\nfun:b\nfun:c\n...\nfun:main", stack);
	HOLDS_NOT("...\nfun:b\nfun:b", stack);
	HOLDS_NOT("...\nfun:main\n...\nfun:c", stack);
	HOLDS_NOT("...\nfun:main\nfun:more", stack);
}

CASE(wildcards, "stars and question marks work in all three kinds of lines")
{
	const struct suppress_frame stack[] = {
		{.function = "_Znwm"},
		{.function = "hash_table_add",
			.object = "/usr/lib/libhash.so.1.2",
			.file = "/src/hash/table.c",
			.line = 17},
	};
	HOLDS("fun:_Zn?m", stack);
	HOLDS("fun:_Znw*", stack);
	HOLDS("fun:*\nfun:*table*", stack);
	HOLDS("...\nobj:*/libhash.so*", stack);
	HOLDS("obj:*\nobj:/usr/lib/libhash.so.?.?", stack);
	HOLDS("fun:*\nsrc:tab*.c", stack);
	HOLDS("fun:_Znwm\nfun:**", stack);
	HOLDS("fun:*", stack);
	HOLDS_NOT("fun:_Znw?m", stack);
	HOLDS_NOT("obj:*\nobj:libhash.so.1.2", stack);
	HOLDS_NOT("obj:*\nfun:hash*remove", stack);
	HOLDS_NOT("fun:*\nfun:*\nfun:*", stack);
	HOLDS_NOT("fun:*.so*", stack);
}

CASE(links, "a library is known by both its paths")
{
	const struct suppress_frame stack[] = {
		{.object = "/usr/lib/libz.so.1.2", .object_alias = "/lib/libz.so.1"}};
	HOLDS("obj:/usr/lib/libz.so.1.2", stack);
	HOLDS("obj:/lib/libz.so.1", stack);
	HOLDS("obj:/lib/libz.*", stack);
	HOLDS_NOT("obj:/lib/libz.so.1.2", stack);
	LSAN_HOLDS("^/lib/libz", stack);
}

CASE(source, "src: compares the file, by path or last part, and the line")
{
	const struct suppress_frame stack[] = {
		{.function = "f", .file = "/src/a/b.c", .line = 17}, FUN("unknown_place")};
	HOLDS("src:b.c", stack);
	HOLDS("src:b.c:17", stack);
	HOLDS("src:b.c:0", stack);
	HOLDS("src:/src/a/b.c:17", stack);
	HOLDS("src:*/b.c", stack);
	HOLDS("src:*:17", stack);
	HOLDS_NOT("src:b.c:18", stack);
	HOLDS_NOT("src:a/b.c", stack);
	HOLDS_NOT("src:b", stack);
	HOLDS_NOT("...\nfun:unknown_place\n...\nsrc:*", stack);
	HOLDS_NOT("fun:f\nsrc:*", stack);
	HOLDS_NOT("fun:/src/a/b.c", stack);
	HOLDS_NOT("obj:/src/a/b.c", stack);
}

CASE(unknown, "what has no name is called ??? as by Valgrind")
{
	const struct suppress_frame stack[] = {OBJ("/usr/lib/libx.so"), FUN("main")};
	HOLDS("fun:*\nfun:main", stack);
	HOLDS("fun:???\nfun:main", stack);
	HOLDS("obj:/usr/lib/libx.so\nobj:???", stack);
	HOLDS("obj:*\nobj:*", stack);
	HOLDS_NOT("fun:main", stack);
	LSAN_HOLDS_NOT("???", stack);
}

CASE(cxx_names, "C++ names are compared mangled, and demangled as well")
{
	const struct suppress_frame stack[] = {
		{.function = "_Znwm", .demangled = "operator new"},
		{.function = "_ZN3app5Cache3addEi", .demangled = "app::Cache::add"},
	};
	HOLDS("fun:_Znwm\nfun:_ZN3app5Cache3addEi", stack);
	HOLDS("fun:_Znwm\nfun:_ZN3app*", stack);
	HOLDS("fun:operator new\nfun:app::Cache::*", stack);
	HOLDS("fun:*\nfun:app::Cache::add", stack);
	HOLDS_NOT("fun:*\nfun:Cache::add", stack);
}

CASE(versions, "symbol versions and other names of a function are no obstacle")
{
	static const char *const names[] = {"strdup", "__GI_strdup"};
	const struct suppress_frame plain[] = {
		FUN("calloc"),
		FUN("pthread_create"),
		{.function = "__strdup", .aliases = names, .alias_count = 2},
	};
	HOLDS("fun:calloc\nfun:pthread_create@@GLIBC_2.34", plain);
	HOLDS("fun:calloc\nfun:pthread_c*@@GLIBC_2.*", plain);
	HOLDS("fun:calloc\nfun:pthread_create\nfun:strdup", plain);
	HOLDS("fun:calloc\nfun:*\nfun:__GI_strdup", plain);
	HOLDS("fun:calloc\nfun:*\nfun:__strdup", plain);
	HOLDS_NOT("fun:calloc\nfun:pthread_creat@@GLIBC_2.34", plain);
	const struct suppress_frame versioned[] = {FUN("pthread_create@@GLIBC_2.34")};
	HOLDS("fun:pthread_create@@GLIBC_2.34", versioned);
	HOLDS("fun:pthread_create", versioned);
	HOLDS("fun:pthread_*", versioned);
	HOLDS("fun:pthread_creat?", versioned);
	HOLDS_NOT("fun:pthread_create@GLIBC_2.2.5", versioned);
}

CASE(inlined, "inlined functions are frames of their own, or none")
{
	const struct suppress_frame stack[] = {
		FUN("calloc"),
		{.function = "xcalloc", .inlined = true},
		{.function = "make", .inlined = true},
		FUN("main"),
	};
	HOLDS("fun:calloc\nfun:xcalloc\nfun:make\nfun:main", stack);
	HOLDS("fun:calloc\nfun:main", stack);
	HOLDS_NOT("fun:calloc\nfun:make\nfun:main", stack);
	HOLDS_NOT("fun:calloc\nfun:xcalloc\nfun:main", stack);
}

CASE(allocation_frames, "the allocation function is called as Valgrind calls it, and otherwise")
{
	static const struct {
		enum alloc_kind kind;
		const char *lines;
	} ways[] = {
		{KIND_MALLOC, "fun:malloc\nfun:main"},
		{KIND_CALLOC, "fun:calloc\nfun:main"},
		{KIND_REALLOC, "fun:realloc\nfun:main"},
		{KIND_REALLOC, "fun:malloc\nfun:main"},
		{KIND_POSIX_MEMALIGN, "fun:memalign\nfun:posix_memalign\nfun:main"},
		{KIND_POSIX_MEMALIGN, "fun:posix_memalign\nfun:main"},
		{KIND_ALIGNED_ALLOC, "fun:memalign\nfun:main"},
		{KIND_ALIGNED_ALLOC, "fun:aligned_alloc\nfun:main"},
		{KIND_VALLOC, "fun:memalign\nfun:main"},
		{KIND_VALLOC, "fun:valloc\nfun:main"},
		{KIND_NEW, "fun:_Znwm\nfun:main"},
		{KIND_NEW, "fun:operator new\nfun:main"},
		{KIND_NEW_ARRAY, "fun:_Zna?\nfun:main"},
		{KIND_NEW_NOTHROW, "fun:_ZnwmRKSt9nothrow_t\nfun:main"},
		{KIND_NEW_ARRAY_ALIGNED, "fun:_ZnamSt11align_val_t\nfun:main"},
		{KIND_UNKNOWN, "fun:calloc\nfun:main"},
		{KIND_UNKNOWN, "fun:_Znwm\nfun:main"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct suppress_frame stack[SUPPRESS_ALLOCATION_FRAMES_MAX + 1];
		size_t count = suppress_allocation_frames(ways[i].kind, stack);
		stack[count++] = (struct suppress_frame)FUN("main");
		if (!holds(ways[i].lines, stack, count))
			tap_fail("%s does not hold for %s", ways[i].lines,
				alloc_kind_name(ways[i].kind));
		CHECK(!holds("fun:free\nfun:main", stack, count));
		CHECK(!holds("fun:main", stack, count));
	}
}

CASE(kinds, "match-leak-kinds decides for which kinds an entry holds")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set =
		set_of("{\nnone\nMemcheck:Leak\nmatch-leak-kinds: none\nfun:f\n}\n"
		       "{\nlost\nMemcheck:Leak\nmatch-leak-kinds: definite,indirect\nfun:f\n}\n"
		       "{\npossible\nMemcheck:Leak\nmatch-leak-kinds: possible\nfun:f\n}\n");
	const struct suppress_frame stack[] = {FUN("f")};
	CHECK_STR(who(set, stack, 1, SUPPRESS_DEFINITE), "lost");
	CHECK_STR(who(set, stack, 1, SUPPRESS_INDIRECT), "lost");
	CHECK_STR(who(set, stack, 1, SUPPRESS_POSSIBLE), "possible");
	CHECK_STR(who(set, stack, 1, SUPPRESS_REACHABLE), NOBODY);
}

CASE(order, "of several entries that fit the first one counts, of whatever form it is")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set =
		set_of("{\nz\nMemcheck:Leak\nfun:malloc\nfun:z\n}\n"
		       "leak:three\n"
		       "{\nstars\nMemcheck:Leak\nfun:*\nobj:*\nfun:*two\n}\n"
		       "{\nliteral\nMemcheck:Leak\nfun:malloc\n}\n"
		       "{\nliteral again\nMemcheck:Leak\nfun:malloc\n}\n");
	const struct suppress_frame first[] = {FUN("malloc"), FUN("x"), FUN("twotwo")};
	CHECK_STR(who(set, first, 3, SUPPRESS_DEFINITE), "stars");
	const struct suppress_frame second[] = {FUN("malloc"), FUN("x"), FUN("y")};
	CHECK_STR(who(set, second, 3, SUPPRESS_DEFINITE), "literal");
	const struct suppress_frame third[] = {
		FUN("malloc"), FUN("x"), FUN("two"), FUN("thirty_three")};
	CHECK_STR(who(set, third, 4, SUPPRESS_DEFINITE), "three");
	const struct suppress_frame fourth[] = {FUN("malloc"), FUN("z"), FUN("two"), FUN("three")};
	CHECK_STR(who(set, fourth, 4, SUPPRESS_DEFINITE), "z");
}

CASE(lsan, "LSan's patterns are parts of the names of functions, files and modules of any frame")
{
	const struct suppress_frame stack[] = {
		FUN("malloc"),
		{.function = "_ZN3app5Cache3addEi",
			.demangled = "app::Cache::add",
			.object = "/usr/lib/libapp.so.1",
			.file = "/src/app/cache.cc",
			.line = 3},
		FUN("foofoo"),
		FUN("main"),
	};
	LSAN_HOLDS("Cache::", stack);
	LSAN_HOLDS("5Cache", stack);
	LSAN_HOLDS("libapp.so", stack);
	LSAN_HOLDS("app/cache.cc", stack);
	LSAN_HOLDS("main", stack);
	LSAN_HOLDS("^main$", stack);
	LSAN_HOLDS("^app::*add$", stack);
	LSAN_HOLDS("ca*.cc", stack);
	LSAN_HOLDS("add$", stack);
	LSAN_HOLDS("foo$", stack);
	LSAN_HOLDS("^/usr/lib/", stack);
	LSAN_HOLDS("*", stack);
	LSAN_HOLDS("^", stack);
	LSAN_HOLDS("^*$", stack);
	LSAN_HOLDS("ain$ignored", stack);
	LSAN_HOLDS_NOT("^Cache", stack);
	LSAN_HOLDS_NOT("Cache$", stack);
	LSAN_HOLDS_NOT("^mai$", stack);
	LSAN_HOLDS_NOT("mai?", stack);
	LSAN_HOLDS_NOT("add*Cache", stack);
	LSAN_HOLDS_NOT("^$", stack);
	LSAN_HOLDS_NOT("$", stack);
	LSAN_HOLDS_NOT("MAIN", stack);
}

CASE(limit, "with a limit only the first lines of entries count, as with --num-callers")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set =
		set_of("{\ndots\nMemcheck:Leak\n...\n...\nfun:nowhere\n}\n"
		       "{\nlong\nMemcheck:Leak\nfun:malloc\nfun:a\nfun:b\nfun:c\n}\n");
	const struct suppress_frame cut[] = {FUN("malloc"), FUN("a")};
	CHECK_STR(who(set, cut, 2, SUPPRESS_DEFINITE), NOBODY);
	suppressions_limit_lines(set, 2);
	CHECK_STR(who(set, cut, 2, SUPPRESS_DEFINITE), "long");
	suppressions_limit_lines(set, 4);
	CHECK_STR(who(set, cut, 2, SUPPRESS_DEFINITE), NOBODY);
}

CASE(later_files, "a file that is added after stacks were matched counts from then on")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	const struct suppress_frame stack[] = {FUN("malloc"), FUN("main")};
	CHECK_STR(who(set, stack, 2, SUPPRESS_DEFINITE), NOBODY);
	CHECK_OK(suppressions_parse(set, "a", "leak:other\n", 11));
	CHECK_STR(who(set, stack, 2, SUPPRESS_DEFINITE), NOBODY);
	CHECK_OK(suppressions_parse(set, "b", "leak:main\n", 10));
	CHECK_STR(who(set, stack, 2, SUPPRESS_DEFINITE), "main");
	CHECK_STR(suppressions_get(set, 1)->file, "b");
	CHECK_STR(who(set, stack, 0, SUPPRESS_DEFINITE), NOBODY);
}

CASE(counters, "use is counted for each entry, so that unused ones are known")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = set_of("leak:a\nleak:b\n");
	suppressions_use(set, 1, 3, 4096);
	suppressions_use(set, 1, 2, 1);
	CHECK_U64(suppressions_get(set, 0)->records, 0);
	CHECK_U64(suppressions_get(set, 1)->records, 2);
	CHECK_U64(suppressions_get(set, 1)->blocks, 5);
	CHECK_U64(suppressions_get(set, 1)->bytes, 4097);
}

/* --- against the simplest matcher ------------------------------------------------------------- */

#define TRIALS 20000u
#define ENTRIES 40u

struct random {
	uint64_t state;
};

static unsigned below(struct random *random, unsigned limit)
{
	random->state = random->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((random->state >> 33) % limit);
}

static const char *const functions[] = {"malloc", "a", "b", "ab", "ba", "aab"};
static const char *const patterns[] = {"fun:malloc", "fun:a", "fun:b", "fun:a*", "fun:*b", "fun:?a",
	"fun:*", "obj:/a", "obj:/*", "obj:*", "src:s", "src:s:1", "src:*:2", "..."};

static bool simple_glob(const char *pattern, const char *name)
{
	if (!*pattern)
		return !*name;
	if (*pattern == '*')
		return simple_glob(pattern + 1, name) || (*name && simple_glob(pattern, name + 1));
	return *name && (*pattern == *name || *pattern == '?') &&
	       simple_glob(pattern + 1, name + 1);
}

static bool simple_frame(const char *line, const struct suppress_frame *frame)
{
	if (strncmp(line, "fun:", 4) == 0)
		return simple_glob(line + 4, frame->function);
	if (strncmp(line, "obj:", 4) == 0)
		return simple_glob(line + 4, frame->object ? frame->object : "???");
	char file[8];
	snprintf(file, sizeof(file), "%s", line + 4);
	char *colon = strchr(file, ':');
	if (colon)
		*colon++ = '\0';
	return frame->file && simple_glob(file, frame->file) &&
	       (!colon || (uint32_t)atoi(colon) == frame->line);
}

/* The lines end at NULL. */
static bool simple_stack(
	const char *const *lines, const struct suppress_frame *frames, size_t count)
{
	if (!*lines)
		return true;
	if (strcmp(*lines, "...") == 0)
		return simple_stack(lines + 1, frames, count) ||
		       (count && simple_stack(lines, frames + 1, count - 1));
	return count && simple_frame(*lines, frames) &&
	       simple_stack(lines + 1, frames + 1, count - 1);
}

struct simple_entry {
	const char *lines[6]; /* ends with NULL */
	unsigned kinds;
};

/* Entries as a text and for the simplest matcher. */
static void make_entries(
	struct random *random, struct simple_entry entries[ENTRIES], struct text *text)
{
	static const char *const kinds[] = {"definite", "possible", "all"};
	static const unsigned masks[] = {1u << SUPPRESS_DEFINITE, 1u << SUPPRESS_POSSIBLE, 15};
	for (unsigned i = 0; i < ENTRIES; i++) {
		unsigned count = 1 + below(random, 5), kind = below(random, 3);
		entries[i] = (struct simple_entry){.kinds = masks[kind]};
		text_printf(text, "{\n%u\nMemcheck:Leak\nmatch-leak-kinds: %s\n", i, kinds[kind]);
		for (unsigned j = 0; j < count; j++) {
			/* The last one is not an ellipsis. */
			unsigned choices = ARRAY_SIZE(patterns) - (j + 1 == count);
			entries[i].lines[j] = patterns[below(random, choices)];
			text_printf(text, "%s\n", entries[i].lines[j]);
		}
		text_add(text, "}\n");
	}
}

static uint32_t simple_match(const struct simple_entry entries[ENTRIES],
	const struct suppress_frame *frames, size_t count, enum suppress_kind kind)
{
	for (uint32_t i = 0; i < ENTRIES; i++)
		if (entries[i].kinds & 1u << kind && simple_stack(entries[i].lines, frames, count))
			return i;
	return SUPPRESS_NONE;
}

CASE(against_simple, "20,000 random stacks get the same entries as from the simplest matcher")
{
	static const char *const objects[] = {NULL, "/a", "/b"};
	static const char *const files[] = {NULL, "s", "t"};
	struct random random = {4};
	size_t matched = 0;
	for (unsigned round = 0; round < 200; round++) {
		struct simple_entry entries[ENTRIES];
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		make_entries(&random, entries, &text);
		_cleanup_(suppressions_cleanup) struct suppressions *set = set_of(text.data);
		for (unsigned i = 0; i < TRIALS / 200; i++) {
			struct suppress_frame stack[6];
			size_t count = below(&random, 7);
			for (size_t j = 0; j < count; j++)
				stack[j] = (struct suppress_frame){
					.function = functions[below(&random, 6)],
					.object = objects[below(&random, 3)],
					.file = files[below(&random, 3)],
					.line = below(&random, 3),
				};
			enum suppress_kind kind = (enum suppress_kind)below(&random, 4);
			uint32_t id;
			CHECK_OK(suppressions_match(set, stack, count, kind, &id));
			CHECK_U64(id, simple_match(entries, stack, count, kind));
			matched += id != SUPPRESS_NONE;
		}
	}
	CHECK(matched > TRIALS / 10 && matched < TRIALS * 9 / 10);
}

/* --- speed ------------------------------------------------------------------------------------ */

#define STACKS 50000u
#define DEPTH 20u

/* Half of them match: those of modules with an even number. */
static void add_many_entries(struct text *text, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		text_printf(text, "{\n   entry %u\n   Memcheck:Leak\n   fun:malloc\n", i);
		switch (i % 4) {
		case 0:
			text_printf(text, "   ...\n   fun:module_%u_init\n", i * 2);
			break;
		case 1:
			text_printf(text, "   ...\n   fun:*module_%u_open*\n", i * 2);
			break;
		case 2:
			text_printf(text, "   fun:x*alloc\n   fun:module_%u_*\n", i * 2);
			break;
		default:
			text_printf(text, "   obj:*\n   ...\n   obj:*/libmodule%u.so*\n", i * 2);
		}
		text_add(text, "}\n");
	}
}

struct named_stack {
	char names[DEPTH][48], objects[DEPTH][48];
	struct suppress_frame frames[DEPTH];
};

static void make_stack(struct random *random, struct named_stack *stack)
{
	static const char *const verbs[] = {"init", "open", "read", "close"};
	for (unsigned i = 0; i < DEPTH; i++) {
		unsigned module = below(random, 4000);
		snprintf(stack->names[i], sizeof(stack->names[i]), "module_%u_%s", module,
			verbs[below(random, 4)]);
		snprintf(stack->objects[i], sizeof(stack->objects[i]), "/usr/lib/libmodule%u.so.1",
			module);
		stack->frames[i] = (struct suppress_frame){
			.function = stack->names[i], .object = stack->objects[i]};
	}
	stack->frames[0].function = "malloc";
	stack->frames[1].function = "xmalloc";
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

CASE(many_by_many, "2,000 suppressions and 50,000 stacks: few patterns and entries are tried")
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	add_many_entries(&text, 2000);
	_cleanup_(suppressions_cleanup) struct suppressions *set = set_of(text.data);
	struct random random = {1};
	uint64_t spent = 0;
	size_t matched = 0;
	for (unsigned i = 0; i < STACKS; i++) {
		struct named_stack stack;
		make_stack(&random, &stack);
		uint64_t begin = cpu_ns();
		uint32_t id;
		CHECK_OK(suppressions_match(set, stack.frames, DEPTH, SUPPRESS_DEFINITE, &id));
		spent += cpu_ns() - begin;
		matched += id != SUPPRESS_NONE;
	}
	struct suppress_effort effort = suppressions_effort(set);
	printf("# %zu of %u stacks suppressed in %" PRIu64 " ms: %" PRIu64 " names, %" PRIu64
	       " patterns and %" PRIu64 " entries tried\n",
		matched, STACKS, spent / 1000000, effort.names, effort.patterns_tried,
		effort.entries_tried);
	CHECK(matched > STACKS / 2 && matched < STACKS);
	/* Each name once; of 50,000 × 2,000 entries hardly more than those that fit in part. */
	CHECK(effort.names <= 4000 * 4 + 4000 + 3);
	CHECK(effort.patterns_tried < effort.names * 10);
	CHECK(effort.entries_tried < STACKS * (uint64_t)DEPTH);
}

TAP_MAIN
