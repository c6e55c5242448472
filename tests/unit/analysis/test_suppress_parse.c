/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suppression files: what is taken, what is passed over, what is refused and in which words. */
#include "analysis/suppress.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "lib/tap.h"

#define DEFINITE (1u << SUPPRESS_DEFINITE)
#define INDIRECT (1u << SUPPRESS_INDIRECT)
#define POSSIBLE (1u << SUPPRESS_POSSIBLE)
#define REACHABLE (1u << SUPPRESS_REACHABLE)

static struct suppressions *created(void)
{
	struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	return set;
}

/* In a block of its own size, so that a sanitizer sees a read beyond its end. */
static struct error *parse_bytes(struct suppressions *set, const char *text, size_t len)
{
	_cleanup_free_ char *copy = malloc(len ? len : 1);
	CHECK(copy);
	memcpy(copy, text, len);
	return suppressions_parse(set, "x.supp", copy, len);
}

static struct error *parse(struct suppressions *set, const char *text)
{
	return parse_bytes(set, text, strlen(text));
}

static void check_entry(const struct suppressions *set, uint32_t id, const char *name,
	uint32_t line, uint64_t kinds)
{
	CHECK(id < suppressions_count(set));
	const struct suppression *entry = suppressions_get(set, id);
	CHECK_STR(entry->name, name);
	CHECK_STR(entry->file, "x.supp");
	CHECK_U64(entry->line, line);
	CHECK_U64(entry->kinds, kinds);
	CHECK_U64(entry->origin, SUPPRESS_FROM_FILE);
}

CASE(takes_leaks, "entries of Memcheck:Leak are taken with name, line and kinds")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	CHECK_OK(parse(set,
		"# a comment\n"
		"\n"
		"{\n"
		"   the first one\n"
		"   Memcheck:Leak\n"
		"   fun:malloc\n"
		"}\n"
		"  {\n"
		"\t# within\n"
		"\tsecond # is its name\n"
		"\tOther,Memcheck:Leak\n"
		"\n"
		"\tmatch-leak-kinds:  definite,reachable\n"
		"\t...\n"
		"\tobj:/usr/lib/*\n"
		"\tsrc:a.c:17\n"
		"}\n"
		"{\nthird\nMemcheck:Leak\nmatch-leak-kinds:none\nsrc:a.c\n}\n"
		"{\nfourth\nMemcheck:Leak\nmatch-leak-kinds: all\nfun:a\n}\n"
		"{\nfifth\nMemcheck:Leak\nmatch-leak-kinds: possible,indirect,\nfun:a\n}"));
	CHECK_U64(suppressions_count(set), 5);
	check_entry(set, 0, "the first one", 4, SUPPRESS_KINDS_ALL);
	check_entry(set, 1, "second # is its name", 10, DEFINITE | REACHABLE);
	check_entry(set, 2, "third", 19, 0);
	check_entry(set, 3, "fourth", 25, SUPPRESS_KINDS_ALL);
	check_entry(set, 4, "fifth", 31, POSSIBLE | INDIRECT);
	CHECK_U64(suppressions_passed_over(set), 0);
}

CASE(takes_lsan, "lines of LSan's form may stand between Valgrind's entries")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	CHECK_OK(parse(set, "leak:foo_init\n"
			    "{\na\nMemcheck:Leak\nfun:b\n}\n"
			    "  leak:^/usr/lib/libx.so*$\t\r\n"
			    "#leak:no\n"
			    "leak:std::vector<int>::push_back"));
	CHECK_U64(suppressions_count(set), 4);
	check_entry(set, 0, "foo_init", 1, SUPPRESS_KINDS_ALL);
	check_entry(set, 1, "a", 3, SUPPRESS_KINDS_ALL);
	check_entry(set, 2, "^/usr/lib/libx.so*$", 7, SUPPRESS_KINDS_ALL);
	check_entry(set, 3, "std::vector<int>::push_back", 9, SUPPRESS_KINDS_ALL);
}

CASE(passes_over, "entries of other tools are passed over and counted")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	CHECK_OK(parse(set, "{\na\nHelgrind:Race\nwhat ever\nit:says\n}\n"
			    "{\nd\nCoreError:FdNotClosed\nfun:open\n}\n"
			    "{\ne\nMemcheck:Leak\nfun:x\n}\n"
			    "{\nf\nNotMemcheck:Leak\nfun:x\n}\n"
			    "{\ng\nHelgrind, Memcheck:Leak\n}\n"
			    "odr_violation:^x$\n"));
	CHECK_U64(suppressions_count(set), 1);
	check_entry(set, 0, "e", 13, SUPPRESS_KINDS_ALL);
	CHECK_U64(suppressions_passed_over(set), 5);
}

CASE(takes_errors,
	"entries of each kind of error are taken, with the line of its own that some have")
{
	for (unsigned kind = SUPPRESS_KINDS; kind < SUPPRESS_IN_CALL; kind++) {
		const char *name = suppress_error_kind_name((enum suppress_error_kind)kind);
		bool has_extra = kind == SUPPRESS_PARAM || kind == SUPPRESS_FISHY_VALUE;
		_cleanup_(suppressions_cleanup) struct suppressions *set = created();
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		CHECK(name);
		text_printf(&text, "{\na\nOther,Memcheck:%s\n%sfun:b\n...\n}\n", name,
			has_extra ? "  write(buf)  \n" : "");
		CHECK_OK(parse(set, text.data));
		check_entry(set, 0, "a", 2, SUPPRESS_BIT(kind));
		const char *extra = suppressions_get(set, 0)->extra;
		CHECK_STR(extra ? extra : "none", has_extra ? "write(buf)" : "none");
	}
	CHECK(!suppress_error_kind_name(SUPPRESS_IN_CALL));
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	CHECK_OK(parse(set, "{\na\nMemcheck:Value0\nfun:b\n}\n"));
	check_entry(set, 0, "a", 2, SUPPRESS_BIT(SUPPRESS_COND));
}

CASE(takes_asan, "lines of ASan's form are taken")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	CHECK_OK(parse(set, "interceptor_via_fun:^parse_*\n"
			    "interceptor_via_lib:libx.so\n"
			    "alloc_dealloc_mismatch:make\n"
			    "leak:x\n"
			    "# a comment, and a blank line\n\n"
			    "  interceptor_name:^mem$\n"));
	CHECK_U64(suppressions_count(set), 5);
	check_entry(set, 4, "^mem$", 7, SUPPRESS_BIT(SUPPRESS_IN_CALL));
	check_entry(set, 0, "^parse_*", 1, SUPPRESS_BIT(SUPPRESS_IN_CALL));
	check_entry(set, 1, "libx.so", 2, SUPPRESS_BIT(SUPPRESS_IN_CALL));
	check_entry(set, 2, "make", 3, SUPPRESS_BIT(SUPPRESS_MISMATCH));
	check_entry(set, 3, "x", 4, SUPPRESS_KINDS_ALL);
}

CASE(line_ends, "CRLF, a byte order mark and a missing last newline change nothing")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	CHECK_OK(parse(set, "\xef\xbb\xbf{\r\n  a b\r\n  Memcheck:Leak\r\n"
			    "  match-leak-kinds: definite\r\n  fun:f\r\n}"));
	CHECK_OK(parse(set, ""));
	CHECK_OK(parse(set, "\n\r\n  \t\n#\n# end"));
	CHECK_U64(suppressions_count(set), 1);
	check_entry(set, 0, "a b", 2, DEFINITE);
}

static const struct refusal {
	const char *text, *message;
} refusals[] = {
	{"hello\n", "x.supp:1: invalid suppression 'hello'; expected an entry"},
	{"\n\n{ x\n}\n", "x.supp:3: '{ x': '{' must be alone on its line"},
	{"race:foo\n", "x.supp:1: 'race:foo' is a suppression of ThreadSanitizer, whose errors"},
	{"leak:a\n#b\nvptr:foo\n", "x.supp:3: 'vptr:foo' is a suppression of Undefined"},
	{"interceptor_names:a\n", "x.supp:1: invalid suppression 'interceptor_names:a'"},
	{"interceptor_name:\n", "x.supp:1: 'interceptor_name:' without a pattern would match"},
	{"{\n}\n", "x.supp:2: the entry is empty"},
	{"{\n", "x.supp:1: the file ends inside the entry that begins on line 1; add a name"},
	{"{\na\n", "x.supp:2: the file ends inside the entry that begins on line 1; add Memch"},
	{"{\na\nMemcheck:Leak\n", "x.supp:3: the file ends inside the entry"},
	{"\n{\na\nMemcheck:Leak\nfun:main}\n", "x.supp:5: the file ends inside the entry that "
					       "begins on line 2; add the rest of its stack"},
	{"{\na\nDRD:Race\nfun:x\n", "x.supp:4: the file ends inside the entry"},
	{"{\na\nLeak\nfun:a\n}\n", "x.supp:3: invalid suppression kind 'Leak'"},
	{"{\na\nMemcheck:Leek\nfun:a\n}\n", "x.supp:3: unknown Memcheck error kind 'Leek'"},
	{"{\na\nMemcheck: Leak\nfun:a\n}\n", "x.supp:3: unknown Memcheck error kind ' Leak'"},
	{"{\na\nMemcheck:Leak\n}\n", "x.supp:4: the entry has no stack"},
	{"{\na\nMemcheck:Cond\n\n}\n", "x.supp:5: the entry has no stack"},
	{"{\na\nMemcheck:Leak\n...\n...\n}\n", "x.supp:6: the entry's stack is only '...'"},
	{"{\na\nMemcheck:Leak\nfum:a\n}\n", "x.supp:4: invalid stack line 'fum:a'"},
	{"{\na\nMemcheck:Leak\nfun:a\nmatch-leak-kinds: all\n}\n",
		"x.supp:5: misplaced 'match-leak-kinds:'"},
	{"{\na\nMemcheck:Cond\nmatch-leak-kinds: all\nfun:a\n}\n",
		"x.supp:4: misplaced 'match-leak-kinds:'"},
	{"{\na\nMemcheck:Leak\nmatch-leak-kinds:\nfun:a\n}\n", "x.supp:4: no leak kind after"},
	{"{\na\nMemcheck:Leak\nmatch-leak-kinds: definite, possible\nfun:a\n}\n",
		"x.supp:4: invalid leak kind ' possible'"},
	{"{\na\nMemcheck:Leak\nmatch-leak-kinds: all,definite\nfun:a\n}\n",
		"x.supp:4: invalid leak kind 'all'"},
	{"{\na\nMemcheck:Leak\nmatch-leak-kinds: definite,,possible\nfun:a\n}\n",
		"x.supp:4: invalid leak kind ''"},
	{"{\na\nMemcheck:Leak\nmatch-leak-kinds: definitely\nfun:a\n}\n", "'definitely'"},
	{"{\na\nMemcheck:Param\nfun:a\n}\n", "x.supp:4: Memcheck:Param needs an extra line"},
	{"{\na\nMemcheck:Leak\nsrc:a.c:\n}\n", "x.supp:4: invalid line number in 'src:a.c:'"},
	{"{\na\nMemcheck:Leak\nsrc:a.c:6x\n}\n", "x.supp:4: invalid line number in 'src:a.c:6x'"},
	{"{\na\nMemcheck:Leak\nsrc:a.c:4294967296\n}\n",
		"x.supp:4: invalid line number in 'src:a.c:4294967296'"},
	{"{\na\nMemcheck:Leak\nfun:a\n{\nb\nMemcheck:Leak\nfun:b\n}\n",
		"x.supp:5: '{' inside the entry that begins on line 1"},
	{"{\na\nHelgrind:Race\nfun:a\n{\n", "x.supp:5: '{' inside the entry"},
	{"leak:\n", "x.supp:1: 'leak:' without a pattern"},
	{"interceptor_via_fun:\n", "x.supp:1: 'interceptor_via_fun:' without a pattern would match "
				   "every error"},
	{"odr_violation:\n", "x.supp:1: 'odr_violation:' without a pattern"},
	{"{\na\nMemcheck:FishyValue\n...\nfun:x\n}\n",
		"x.supp:4: Memcheck:FishyValue needs an extra line"},
	{"{\na\nMemcheck:Addr3\nfun:a\n}\n", "x.supp:3: unknown Memcheck error kind 'Addr3'"},
	{"\x7f"
	 "ELF\x02\x01\n",
		"x.supp:1: invalid suppression '\\x7fELF\\x02\\x01'"},
	{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"invalid suppression "
		"'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'; expected"},
};

CASE(refusals, "each mistake is refused with file, line and what to do, and nothing is added")
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		_cleanup_(suppressions_cleanup) struct suppressions *set = created();
		CHECK_OK(parse(set, "{\nbefore\nMemcheck:Leak\nfun:a\n}\n"));
		CHECK_ERROR(parse(set, refusals[i].text), ERROR_INPUT, refusals[i].message);
		CHECK_U64(suppressions_count(set), 1);
		CHECK_U64(suppressions_passed_over(set), 0);
	}
}

CASE(more_errors, "after the first error the lines of the next ones are named")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	static const char broken[] = "{\na\nMemcheck:Leek\nfun:a\n}\n"
				     "{\nfine\nMemcheck:Leak\nfun:a\n}\n"
				     "{\nb\nMemcheck:Leak\n{\n" /* begins the next one */
				     "c\nMemcheck:Leak\nfun:c\n}\n"
				     "what\nis\nthis\n"
				     "leak:fine\n"
				     "leak:\n";
	CHECK_ERROR(
		parse(set, broken), ERROR_INPUT, "x.supp:3: unknown Memcheck error kind 'Leek'");
	CHECK_ERROR(parse(set, broken), ERROR_INPUT, "(3 more: lines 14, 19, 23)");
	CHECK_ERROR(parse(set, "a\n{\n}\n"), ERROR_INPUT, "(1 more: line 3)");
	CHECK_ERROR(parse(set, "{\n}\n{\n}\n{\n}\n{\n}\n{\n}\n{\n}\n{\n}\n"), ERROR_INPUT,
		"(6 more: lines 4, 6, 8, 10, …)");
	CHECK_U64(suppressions_count(set), 0);
}

#define PARSE_BYTES(set, literal) parse_bytes(set, literal, sizeof(literal) - 1)

CASE(nul_bytes, "a NUL byte is refused wherever it stands")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	CHECK_ERROR(PARSE_BYTES(set, "{\na\nMemcheck:Leak\nfun:a\0b\n}\n"), ERROR_INPUT,
		"x.supp:4: the line contains a NUL byte");
	CHECK_ERROR(PARSE_BYTES(set, "\0"), ERROR_INPUT, "x.supp:1: the line contains a NUL byte");
	CHECK_ERROR(PARSE_BYTES(set, "{\n\0\nMemcheck:Leak\nfun:a\n}\n"), ERROR_INPUT,
		"x.supp:2: the line contains a NUL byte");
	CHECK_ERROR(
		PARSE_BYTES(set, "leak:\0\n"), ERROR_INPUT, "x.supp:1: the line contains a NUL");
	/* But comments are nobody's business. */
	CHECK_OK(PARSE_BYTES(set, "#\0\n"));
}

static void add_times(struct text *text, const char *what, size_t times)
{
	char many[4096];
	size_t len = strlen(what), each = sizeof(many) / len;
	for (size_t i = 0; i < each; i++)
		memcpy(many + i * len, what, len);
	for (; times > each; times -= each)
		text_add_n(text, many, each * len);
	text_add_n(text, many, times * len);
}

CASE(limits, "what exceeds a limit is refused, what reaches it is taken")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, "{\na\nMemcheck:Leak\n");
	add_times(&text, "fun:f\n", SUPPRESS_FRAMES_MAX);
	text_add(&text, "}\n");
	CHECK_OK(parse(set, text.data));

	text_clear(&text);
	text_add(&text, "{\na\nMemcheck:Leak\n");
	add_times(&text, "...\n", SUPPRESS_FRAMES_MAX + 1);
	text_add(&text, "}\n");
	CHECK_ERROR(parse(set, text.data), ERROR_INPUT, "x.supp:504: the stack has more than 500");

	text_clear(&text);
	text_add(&text, "leak:");
	add_times(&text, "x", SUPPRESS_LINE_BYTES_MAX - 5);
	CHECK_OK(parse(set, text.data));
	text_add(&text, "x");
	CHECK_ERROR(parse(set, text.data), ERROR_INPUT, "x.supp:1: the line has 50001 bytes");
	CHECK_U64(suppressions_count(set), 2);

	text_clear(&text);
	add_times(&text, "#", SUPPRESS_TEXT_BYTES_MAX);
	CHECK_OK(parse(set, text.data));
	text_add(&text, "#");
	CHECK_ERROR(parse(set, text.data), ERROR_INPUT, "too many for a suppression file");
}

CASE(entries_limit, "a set takes a million suppressions and no more")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	add_times(&text, "leak:a\n", SUPPRESS_ENTRIES_MAX);
	CHECK_OK(parse(set, text.data));
	CHECK_U64(suppressions_count(set), SUPPRESS_ENTRIES_MAX);
	CHECK_ERROR(parse(set, "leak:b\n"), ERROR_INPUT, "more than 1000000 suppressions");
	CHECK_U64(suppressions_count(set), SUPPRESS_ENTRIES_MAX);
}

CASE(many, "100,000 entries are read, each line looked at once")
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (unsigned i = 0; i < 100000; i++)
		text_printf(&text,
			"{\n   number %u\n   Memcheck:Leak\n   fun:malloc\n   fun:f%u\n}\n", i,
			i * 7);
	CHECK_OK(parse(set, text.data));
	CHECK_U64(suppressions_count(set), 100000);
	check_entry(set, 99999, "number 99999", 6 * 99999 + 2, SUPPRESS_KINDS_ALL);
	CHECK(suppressions_effort(set).bytes_scanned <= text.len);
}

/* Each byte is looked at once however wrong the text is. */
static void check_hostile(const char *unit, size_t bytes, const char *message)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = created();
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	add_times(&text, unit, (bytes + strlen(unit) - 1) / strlen(unit));
	CHECK(!text.failed);
	CHECK_ERROR(parse(set, text.data), ERROR_INPUT, message);
	CHECK(suppressions_effort(set).bytes_scanned <= text.len);
	CHECK_U64(suppressions_count(set), 0);
}

CASE(hostile, "a megabyte of mistakes is refused after one pass")
{
	check_hostile("{\n}\n", 1000000, "(249999 more: lines 4, 6, 8, 10, …)");
	check_hostile("{\n", 1000000, "x.supp:2: '{' inside the entry");
	check_hostile(
		"{\na\nMemcheck:Leak\nfun:a\nfun", 1000000, "x.supp:5: invalid stack line 'fun{'");
	check_hostile("}\n", 1000000, "x.supp:1: invalid suppression '}'");
	check_hostile("leak:\n", 1000000, "x.supp:1: 'leak:' without a pattern");
	check_hostile("x\n", 1000000, "x.supp:1: invalid suppression 'x'");
	check_hostile("x", 1000000, "x.supp:1: the line has 1000000 bytes");
	check_hostile("{\na\nMemcheck:Leak\n...\n", 1000000, "'{' inside the entry");
	check_hostile("{\na\nDRD:b\nc\n", 1000000, "'{' inside the entry");
	check_hostile("{\na\nMemcheck:Leak\nfun:a\n}\n{\na\nMemcheck:Leak\n...\n}\n", 1000000,
		"only '...'");
}

TAP_MAIN
