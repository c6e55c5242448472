/* SPDX-License-Identifier: GPL-2.0-or-later */
/* XML of Valgrind's checkers, as they print it, and as they do not. */
#include "base/text.h"
#include "unit/foreign_files.h"
#include "unit/golden.h"
#include "views/views.h"

#define BEGIN                                                                                      \
	"<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n<protocolversion>4</protocolversion>\n"    \
	"<protocoltool>memcheck</protocoltool>\n<preamble>\n  <line>Memcheck</line>\n"             \
	"</preamble>\n<pid>41</pid>\n<ppid>40</ppid>\n<tool>memcheck</tool>\n<args>\n"             \
	"  <vargv><exe>/usr/bin/valgrind</exe><arg>--leak-check=full</arg></vargv>\n"              \
	"  <argv><exe>./app</exe><arg>a &amp; b</arg></argv>\n</args>\n"                           \
	"<status><state>RUNNING</state><time>00:00:00:00.042 </time></status>\n"
#define FRAME(ip, fn, file, line)                                                                  \
	"<frame><ip>" ip "</ip><obj>/src/app</obj><fn>" fn "</fn><dir>/src</dir><file>" file       \
	"</file><line>" line "</line></frame>\n"
#define MALLOC "<frame><ip>0x48417B4</ip><obj>/usr/vg.so</obj><fn>malloc</fn></frame>\n"
#define LEAK(unique, kind, text, bytes, blocks, stack)                                             \
	"<error>\n<unique>" unique "</unique>\n<tid>1</tid>\n<kind>" kind                          \
	"</kind>\n<xwhat><text>" text "</text><leakedbytes>" bytes                                 \
	"</leakedbytes><leakedblocks>" blocks "</leakedblocks></xwhat>\n<stack>\n" stack           \
	"</stack>\n</error>\n"
#define INVALID                                                                                    \
	"<error>\n<unique>0x1</unique>\n<tid>2</tid>\n<threadname>worker</threadname>\n"           \
	"<kind>InvalidRead</kind>\n<what>Invalid read of size 4</what>\n<stack>\n" FRAME("0x1001", \
		"std::vector&lt;int&gt;::at(int)", "v.h",                                          \
		"7") FRAME("0x1001", "look", "app.c", "12") FRAME("0x1002", "main", "app.c",       \
		"20") "</stack>\n<auxwhat>Address 0x4a4 is 0 bytes inside a block of size 8 "      \
		      "free'd</auxwhat>\n"                                                         \
		      "<stack>\n" FRAME("0x1003", "drop", "app.c",                                 \
			      "15") "</stack>\n"                                                   \
				    "<xauxwhat><text>It is a sentence "                            \
				    "alone</text><file>x.c</file></xauxwhat>\n"                    \
				    "<auxwhat>Block was alloc'd at</auxwhat>\n<stack>\n" MALLOC    \
					    FRAME("0x1004", "make", "app.c",                       \
						    "9") "</stack>\n</error>\n"
#define NEWER "<later><frame><ip>zzz</ip></frame><error><kind>no</kind></error></later>\n"
#define LEAKS                                                                                      \
	LEAK("0x2", "Leak_DefinitelyLost",                                                         \
		"1,096 (1,000 direct, 96 indirect) bytes in 2 blocks are definitely lost in loss " \
		"record 2 of 4",                                                                   \
		"1096", "2", MALLOC FRAME("0x1004", "make", "app.c", "9"))                         \
	LEAK("0x3", "Leak_IndirectlyLost", "96 bytes in 3 blocks are indirectly lost", "96", "3",  \
		MALLOC FRAME("0x1005", "make_part", "app.c", "5"))                                 \
	LEAK("0x4", "Leak_StillReachable", "10 bytes in 1 blocks are still reachable", "10", "1",  \
		MALLOC FRAME("0x1004", "make", "app.c", "9"))
#define ENDED "<status><state>FINISHED</state><time>00:00:01:12.500 </time></status>\n"
#define COUNTS                                                                                     \
	"<errorcounts>\n<pair><count>7</count><unique>0x1</unique></pair>\n</errorcounts>\n"       \
	"<suppcounts>\n<pair><count>3</count><name>libc &lt;init&gt;</name></pair>\n"              \
	"</suppcounts>\n</valgrindoutput>\n"
#define END ENDED COUNTS
#define FILE_TEXT BEGIN INVALID NEWER ENDED LEAKS COUNTS

CASE(leaks, "leaks are the records of a search, direct and indirect ones apart")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	CHECK_STR(model_recording(model)->source, "valgrind");
	CHECK(model_recording(model)->complete);
	const struct leak_search *search = model_leak_search(model);
	CHECK(search);
	CHECK_U64(search->bytes[LEAK_DEFINITE], 1000);
	CHECK_U64(search->blocks[LEAK_DEFINITE], 2);
	CHECK_U64(search->bytes[LEAK_INDIRECT], 96);
	CHECK_U64(search->blocks[LEAK_INDIRECT], 3);
	CHECK_U64(search->bytes[LEAK_REACHABLE], 10);
	size_t count;
	const struct leak_record *records = model_leak_records(model, &count);
	CHECK_U64(count, 3);
	CHECK_U64(records[0].indirect_bytes, 96);
	CHECK_U64(records[0].site.value, records[2].site.value);
	const struct site *site = site_of(model, "make");
	CHECK_U64(site->kind, KIND_MALLOC);
	CHECK_U64(site->live_bytes, 1010);
	CHECK_U64(model_totals(model)->live_blocks, 6);
}

CASE(facts, "command, process and time are the file's")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	CHECK_U64(model_target(model)->pid, 41);
	CHECK_U64(model_target(model)->command_len, 2);
	CHECK_STR(model_target(model)->command[1], "a & b");
	CHECK_U64(model_recording(model)->duration_ns, 72500000000);
}

CASE(errors, "other errors keep their stacks, sentences, counts and suppressions")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	size_t count, stack_count;
	const struct program_error *errors = model_errors(model, &count);
	const struct error_stack *stacks = model_error_stacks(model, &stack_count);
	CHECK_U64(count, 1);
	CHECK_STR(errors->kind, "InvalidRead");
	CHECK_STR(errors->thread, "worker");
	CHECK_U64(errors->count, 7);
	CHECK_U64(errors->stack_count, 4);
	CHECK_STR(stacks[0].what, "");
	CHECK_CONTAINS(stacks[1].what, "free'd");
	CHECK_STR(stacks[2].what, "It is a sentence alone");
	CHECK_U64(stacks[2].stack, 0);
	struct stack_node node = model_stack(model, (struct stack_id){stacks[0].stack});
	const struct embedded_run *run = model_embedded(model, node);
	CHECK_U64(run->count, 2);
	CHECK_STR(run->frames[0].function, "std::vector<int>::at(int)");
	CHECK_STR(run->frames[1].file, "/src/app.c");
	const struct error_suppression *suppressions = model_error_suppressions(model, &count);
	CHECK_U64(count, 1);
	CHECK_STR(suppressions->name, "libc <init>");
	CHECK_U64(suppressions->count, 3);
}

CASE(protocols, "protocols 5 and 6 are read, 3 is not")
{
	static const char *const protocols[] = {"5", "6", "3"};
	for (size_t i = 0; i < 3; i++) {
		char *text = strdup(FILE_TEXT);
		CHECK(text);
		strstr(text, "<protocolversion>")[strlen("<protocolversion>")] = protocols[i][0];
		if (i < 2)
			model_destroy(open_good(text));
		else
			check_refused(text, "line 5");
		free(text);
	}
}

/* As Valgrind 3.24 and 3.27 write it. */
#define DESCRIPTOR                                                                                 \
	"<error>\n<unique>0x9</unique>\n<tid>1</tid>\n<kind>FdBadClose</kind>\n<fd>3</fd>\n"       \
	"<path>/etc/passwd</path>\n<what>File descriptor 3: /etc/passwd is already "               \
	"closed</what>\n"                                                                          \
	"<stack>\n" FRAME("0x1001", "look", "app.c",                                               \
		"12") "</stack>\n<auxwhat>Previously closed</auxwhat>\n<stack>\n" FRAME("0x1002",  \
		"main", "app.c",                                                                   \
		"20") "</stack>\n<auxwhat>Originally opened</auxwhat>\n<stack>\n" FRAME("0x1003",  \
		"drop", "app.c", "15") "</stack>\n</error>\n"                                      \
				       "<error>\n<unique>0xA</unique>\n<tid>1</"                   \
				       "tid>\n<kind>FdNotClosed</kind>\n<fd>4</fd>\n"              \
				       "<what>Open file descriptor 4</what>\n</error>\n"
#define AMOUNTS(bytes, blocks) "<bytes>" bytes "</bytes><blocks>" blocks "</blocks>"
#define HEAP_SUMMARY                                                                               \
	"<heap_summary>\n<memory_in_use_at_exit>\n" AMOUNTS(                                       \
		"2000", "9") "</memory_in_use_at_exit>\n<total_heap_usage>\n<allocs>20</"          \
			     "allocs>\n<frees>11</frees>\n"                                        \
			     "<bytes_allocated>5000</bytes_allocated>\n</total_heap_usage>\n</"    \
			     "heap_summary>\n"                                                     \
			     "<all_heap_blocks_freed>false</all_heap_blocks_freed>\n"
#define LEAK_SUMMARY                                                                               \
	"<leak_summary>\n<definitely_lost>" AMOUNTS("1000",                                        \
		"2") "</definitely_lost>\n"                                                        \
		     "<indirectly_lost>" AMOUNTS(                                                  \
			     "96", "3") "</indirectly_lost>\n<possibly_lost>" AMOUNTS("700",       \
			     "1") "</possibly_lost>\n<still_reachable><bytes>174</bytes>"          \
				  "<in_blocks>2</in_blocks><reachable_heuristic><kind>length64</"  \
				  "kind>" AMOUNTS("164",                                           \
					  "1") "</"                                                \
					       "reachable_heuristic><reachable_heuristic><kind>"   \
					       "later</kind>" AMOUNTS(                             \
						       "1", "1") "</reachable_heuristic></"        \
								 "still_reachable>\n<"             \
								 "suppressed>" AMOUNTS("30",       \
									 "1") "</suppressed>\n</"  \
									      "leak_summary>\n"
#define ERROR_SUMMARY                                                                              \
	"<error_summary>\n<errors>12</errors>\n<error_contexts>5</error_contexts>\n"               \
	"<suppressed>3</suppressed>\n<suppressed_contexts>1</suppressed_contexts>\n</"             \
	"error_summary>\n"

CASE(descriptors, "errors of descriptors, of protocol 5, are errors with all their stacks")
{
	_cleanup_model_ struct model *model = open_good(BEGIN DESCRIPTOR END);
	size_t count, stack_count;
	const struct program_error *errors = model_errors(model, &count);
	const struct error_stack *stacks = model_error_stacks(model, &stack_count);
	CHECK_U64(count, 2);
	CHECK_STR(errors[0].kind, "FdBadClose");
	CHECK_STR(errors[0].what, "File descriptor 3: /etc/passwd is already closed");
	CHECK_U64(errors[0].stack_count, 3);
	CHECK_STR(stacks[2].what, "Originally opened");
	CHECK_STR(errors[1].what, "Open file descriptor 4");
}

CASE(summaries, "summaries, of protocol 6, say what there was besides what is shown")
{
	_cleanup_model_ struct model *model =
		open_good(BEGIN INVALID ENDED HEAP_SUMMARY LEAKS LEAK_SUMMARY ERROR_SUMMARY COUNTS);
	const struct leak_search *search = model_leak_search(model);
	CHECK_U64(search->allocations, 20);
	CHECK_U64(search->frees, 11);
	CHECK_U64(search->allocated_bytes, 5000);
	CHECK_U64(search->bytes[LEAK_DEFINITE], 1000);
	CHECK_U64(search->bytes[LEAK_POSSIBLE], 700);
	CHECK_U64(search->blocks[LEAK_POSSIBLE], 1);
	CHECK_U64(search->blocks[LEAK_REACHABLE], 2);
	CHECK_U64(search->heuristic_bytes[1], 164);
	const char *remark = model_recording(model)->remark;
	CHECK_CONTAINS(remark, "without stacks: 700 bytes in 1 block possibly lost, 174 bytes in 2 "
			       "blocks still reachable, 30 bytes in 1 block suppressed. ");
	CHECK_CONTAINS(remark,
		"20 allocations of 5000 bytes in total and 11 frees; 2000 bytes in 9 "
		"blocks were in use at exit.");
	/* They are added to nothing that has a place. */
	CHECK_U64(model_totals(model)->live_bytes, 1106);
}

CASE(last_summary, "of several summaries of leaks the last counts, and what is shown is never less")
{
	_cleanup_model_ struct model *model =
		open_good(BEGIN ENDED LEAKS LEAK_SUMMARY "<leak_summary><definitely_lost>" AMOUNTS(
			"1", "1") "</definitely_lost></leak_summary>\n" COUNTS);
	CHECK_U64(model_leak_search(model)->bytes[LEAK_DEFINITE], 1000);
	CHECK_U64(model_leak_search(model)->bytes[LEAK_POSSIBLE], 0);
	CHECK(!strstr(model_recording(model)->remark, "without stacks"));
}

CASE(verdict, "of a file without leaks nobody says that all was freed, unless it says so itself")
{
	static const char *const ends[] = {
		"", "<all_heap_blocks_freed>true</all_heap_blocks_freed>\n"};
	for (int freed = 0; freed < 2; freed++) {
		char *text = NULL;
		CHECK(asprintf(&text, "%s%s%s", BEGIN, ends[freed], END) > 0);
		_cleanup_model_ struct model *model = open_good(text);
		CHECK(model_leak_search(model)->selected == !freed);
		free(text);
	}
}

CASE(shown, "all leaks of the kinds that Valgrind was told to show are in a file that has its end")
{
	enum {
		DEFINITE = 1u << LEAK_DEFINITE | 1u << LEAK_INDIRECT,
		POSSIBLE = 1u << LEAK_POSSIBLE,
		REACHABLE = 1u << LEAK_REACHABLE
	};
	static const struct {
		const char *options, *state;
		unsigned shown;
	} files[] = {
		{"", "FINISHED", DEFINITE | POSSIBLE},
		{"", "RUNNING", 0},
		{"<arg>--leak-check=summary</arg>", "FINISHED", DEFINITE | POSSIBLE},
		{"<arg>--show-leak-kinds=none</arg>", "FINISHED", 0},
		{"<arg>--show-leak-kinds=all</arg>", "FINISHED", DEFINITE | POSSIBLE | REACHABLE},
		{"<arg>--show-leak-kinds=reachable,definite</arg>", "FINISHED",
			DEFINITE | REACHABLE},
		{"<arg>--show-leak-kinds=indirect</arg>", "FINISHED", 1u << LEAK_INDIRECT},
		{"<arg>--show-reachable=yes</arg><arg>--show-possibly-lost=no</arg>", "FINISHED",
			DEFINITE},
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *text = NULL;
		const char *rest = strstr(BEGIN, "</vargv>");
		CHECK(rest);
		CHECK(asprintf(&text, "%.*s%s%s<status><state>%s</state></status>\n%s",
			      (int)(rest - BEGIN), BEGIN, files[i].options, rest, files[i].state,
			      "</valgrindoutput>\n") > 0);
		_cleanup_model_ struct model *model = open_good(text);
		CHECK_U64(model_leak_search(model)->shown, files[i].shown);
		free(text);
	}
}

/* As Valgrind 3.19 writes what a program has searched while it runs, then the end's. */
#define LOST(unique, bytes, blocks, record)                                                        \
	LEAK(unique, "Leak_DefinitelyLost",                                                        \
		bytes " bytes in " blocks " blocks are definitely lost in loss record " record,    \
		bytes, blocks, MALLOC FRAME("0x1004", "make", "app.c", "9"))
#define HELD(unique, record)                                                                       \
	LEAK(unique, "Leak_StillReachable",                                                        \
		"55 bytes in 1 blocks are still reachable in loss record " record, "55", "1",      \
		MALLOC FRAME("0x1005", "keep", "app.c", "5"))

CASE(searches, "of several searches the last one counts, and what was found while the program ran "
	       "is said so")
{
	static const struct {
		const char *rest;
		uint64_t lost, held;
		bool early;
	} files[] = {
		{HELD("0x0", "1 of 2") LOST("0x1", "101", "1", "2 of 2") ENDED HELD("0x2", "1 of 2")
				LOST("0x3", "303", "2", "2 of 2") COUNTS,
			303, 55, false},
		{LOST("0x1", "101", "1", "1 of 1") END, 0, 0, false},
		{LOST("0x1", "101", "1", "1 of 1") HELD("0x2", "1 of 2")
				LOST("0x3", "303", "2", "2 of 2"),
			303, 55, true},
		{HELD("0x0", "1 of 2") LOST("0x1", "101", "1", "2 of 2")
				LOST("0x2", "303", "3", "2 of 2"),
			303, 0, true},
		{HELD("0x0", "1 of 2") LOST("0x1", "101", "1", "2 of 2")
				LEAK("0x2", "Leak_DefinitelyLost",
					"303 (+202) bytes in 3 (+2) blocks are definitely lost in "
					"loss record 2 of 2",
					"303", "3", MALLOC FRAME("0x1004", "make", "app.c", "9")),
			303, 55, true},
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *text = NULL;
		CHECK(asprintf(&text, "%s%s", BEGIN, files[i].rest) > 0);
		_cleanup_model_ struct model *model = open_good(text);
		const struct leak_search *search = model_leak_search(model);
		CHECK_U64(search->bytes[LEAK_DEFINITE], files[i].lost);
		CHECK_U64(search->bytes[LEAK_REACHABLE], files[i].held);
		CHECK_U64(model_totals(model)->live_bytes, files[i].lost + files[i].held);
		CHECK_U64(search->moment, files[i].early ? LEAK_BY_PROGRAM : LEAK_AT_EXIT);
		free(text);
	}
}

CASE(killed, "the search of a program that a signal killed is one at the signal")
{
	_cleanup_model_ struct model *model = open_good(BEGIN
		"<fatal_signal><tid>1</tid><signo>11</signo></fatal_signal>\n" ENDED LEAKS COUNTS);
	CHECK_U64(model_target(model)->exit_kind, EXIT_KIND_SIGNAL);
	CHECK_U64(model_leak_search(model)->moment, LEAK_ON_DEATH);
}

CASE(unfinished, "of a file that is cut off, or goes on behind its end, not all leaks are known")
{
	static const char *const ends[] = {
		ENDED, ENDED LEAKS, ENDED COUNTS FILE_TEXT, ENDED COUNTS};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char *text = NULL;
		CHECK(asprintf(&text, "%s%s", BEGIN, ends[i]) > 0);
		_cleanup_model_ struct model *model = open_good(text);
		bool whole = ends[i] == ends[3];
		CHECK(model_leak_search(model)->selected);
		CHECK((model_leak_search(model)->shown != 0) == whole);
		free(text);
	}
}

CASE(all_freed, "that all blocks were freed is a search without leaks")
{
	char *text = strdup(BEGIN "<all_heap_blocks_freed>true</all_heap_blocks_freed>\n" END);
	CHECK(text);
	memcpy(strstr(text, "--leak-check=full"), "--leak-check=nono", strlen("--leak-check=nono"));
	_cleanup_model_ struct model *model = open_good(text);
	CHECK(model_leak_search(model));
	CHECK_U64(model_totals(model)->live_blocks, 0);
	free(text);
}

CASE(bad_summary, "a summary without numbers is refused")
{
	check_refused(BEGIN "<heap_summary><total_heap_usage><allocs>many</allocs>",
		"does not contain a number");
	check_refused(
		BEGIN "<leak_summary><suppressed><bytes>-1</bytes>", "does not contain a number");
}

/* Helgrind's and DRD's, and what belongs to no error. */
#define OTHERS                                                                                     \
	"<usercomment>mine</usercomment>\n<logfilequalifier><var>A</var><value>b</value>"          \
	"</logfilequalifier>\n<clientmsg><tid>1</tid><text>hello</text></clientmsg>\n"             \
	"<announcethread><hthreadid>2</hthreadid><stack>" FRAME("0x1001", "look", "app.c",         \
		"12") "</stack></announcethread>\n<error>\n<unique>0xB</unique>\n<tid>2</"         \
		      "tid>\n<kind>Race</kind>\n"                                                  \
		      "<xwhat><text>Possible data "                                                \
		      "race</text><hthreadid>2</hthreadid></xwhat>\n<stack>" FRAME("0x1001",       \
			      "look", "app.c",                                                     \
			      "12") "</stack>\n<suppression><sname>insert</sname>"                 \
				    "<skind>Helgrind:Race</skind><skaux>x</"                       \
				    "skaux><sframe><fun>look</fun></sframe>"                       \
				    "<rawtext>{}</rawtext></suppression>\n</error>\n"

CASE(passed_over, "what is no part of an error or of the heap changes nothing")
{
	_cleanup_model_ struct model *model = open_good(BEGIN OTHERS END);
	size_t count, stack_count;
	const struct program_error *errors = model_errors(model, &count);
	model_error_stacks(model, &stack_count);
	CHECK_U64(count, 1);
	CHECK_U64(stack_count, 1);
	CHECK_STR(errors->what, "Possible data race");
	CHECK(!model_recording(model)->complete ||
		!strstr(model_recording(model)->remark, "counted"));
}

static bool add_to_text(void *context, const char *data, size_t len)
{
	text_add_n(context, data, len);
	return true;
}

CASE(view, "the view errors shows them, as text and as JSON")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	for (int json = 0; json < 2; json++) {
		struct text text;
		text_init(&text);
		const struct sink sink = {add_to_text, &text};
		const struct view_options options = {
			.json = json, .sort = METRICS, .limit = json ? VIEW_NO_LIMIT : 20};
		CHECK_OK(view_write(view_find("errors"), model, &options, &sink));
		check_golden(json ? "report/errors.json" : "report/errors.txt", text.data);
		text_deinit(&text);
	}
	_cleanup_model_ struct model *other = open_good("heap_v2/512\n");
	const struct view_options options = {.sort = METRICS};
	const struct sink sink = {add_to_text, NULL};
	CHECK_ERROR(view_write(view_find("errors"), other, &options, &sink), ERROR_INPUT,
		"contain no data for --view errors");
}

CASE(cut, "a file that was cut off says so and shows what is there")
{
	check_incomplete(BEGIN INVALID "<error>\n<unique>0x2</unique>\n<ki", "cut off at line");
	check_incomplete(BEGIN INVALID "<error>\n<what>a &am", "cut off at line");
	check_incomplete(BEGIN "</valgrindoutput>\n<more/>", "after its end, at line 19");
	_cleanup_model_ struct model *model = open_good(BEGIN INVALID "<error>");
	size_t count;
	model_errors(model, &count);
	CHECK_U64(count, 1);
	check_cut_anywhere(FILE_TEXT);
	check_changed_anywhere(FILE_TEXT);
}

CASE(refused, "what cannot be so is refused, with its line")
{
	check_refused(BEGIN LEAK("0x2", "Leak_PossiblyLost", "x", "-5", "1", ""),
		"does not contain a number");
	check_refused(BEGIN LEAK("0x2", "Leak_PossiblyLost", "x", "99999999999999999999", "1", ""),
		"does not contain a number");
	check_refused(BEGIN LEAK("0x2", "Leak_PossiblyLost", "x", "18446744073709551615", "1", "")
			      LEAK("0x3", "Leak_PossiblyLost", "x", "1", "1", ""),
		"2^64");
	check_refused(BEGIN "<error></what></error>", "line");
	check_refused("<!DOCTYPE v [<!ENTITY a \"aaa\"><!ENTITY b \"&a;&a;\">]>\n<valgrindoutput>\n"
		      "<pid>&b;</pid></valgrindoutput>",
		"DOCTYPE");
	check_refused_bytes(BEGIN "<error>\0</error>", sizeof(BEGIN) + 15, "line");
	_cleanup_model_ struct model *model = open_good(BEGIN ENDED LEAK("0x2", "Leak_PossiblyLost",
		"x", "1152921504606846976", "1152921504606846976", MALLOC) COUNTS);
	CHECK_U64(model_totals(model)->live_bytes, 1152921504606846976);
}

CASE(deep, "elements in elements without end, and stacks and sentences without end, are refused")
{
	static const char *const cases[][3] = {{"", "<a>\n", "too deep"},
		{"<error><stack>", "<frame>\n</frame>\n", "more than 4096"},
		{"<error>", "<auxwhat>x</auxwhat>\n", "more than 4096"}};
	for (size_t kind = 0; kind < sizeof(cases) / sizeof(cases[0]); kind++) {
		struct buf file;
		buf_init(&file);
		buf_bytes(&file, BEGIN, strlen(BEGIN));
		buf_bytes(&file, cases[kind][0], strlen(cases[kind][0]));
		for (unsigned i = 0; i < 100000; i++)
			buf_bytes(&file, cases[kind][1], strlen(cases[kind][1]));
		check_refused_bytes(file.data, file.len, cases[kind][2]);
		buf_deinit(&file);
	}
}

CASE(bomb, "what unpacks to 10 GB is refused in bounded time and memory")
{
	check_bomb(BEGIN, '\n');
	check_bomb(BEGIN "<pid>", '1');
}

TAP_MAIN
