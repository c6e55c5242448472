/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of other tools that were cut off, after each of their bytes: each is refused, says that its
 * end is missing, or says the same as the whole file.
 */
#include "foreign_files.h"
#include "model/errors.h"

/* Texts whose formats have nothing to end with say it only where they are cut inside a line. */
static const struct seed {
	const char *name;
	bool ends_anywhere; /* at ends of lines */
	const char *text;
} seeds[] = {
	{"massif", true,
		"desc: --time-unit=B\ncmd: ./app file\ntime_unit: B\n"
		"#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=0\n"
		"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n"
		"#-----------\nsnapshot=1\n#-----------\ntime=100\nmem_heap_B=100\n"
		"mem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=detailed\n"
		"n2: 100 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
		" n0: 60 0x109151: keep (app.c:12)\n"
		" n1: 40 0x109171: other (app.c:22)\n"
		"  n0: 40 0x1091C1: main (app.c:31)\n"},
	{"massif with a threshold", true,
		"desc: (none)\ncmd: ./app\ntime_unit: ms\n"
		"#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=1\n"
		"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n"
		"#-----------\nsnapshot=12\n#-----------\ntime=100\nmem_heap_B=110\n"
		"mem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=peak\n"
		"n2: 110 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
		" n0: 100 0x109151: ??? (in /opt/app)\n"
		" n0: 10 in 3 places, all below massif's threshold (1.00%)\n"},
	{"gperftools", false,
		"heap profile:      3:  3000 [     3:  3000] @ heapprofile\n"
		"     1:     1000 [     1:     1000] @ 0x401234 0x7f0000001234\n"
		"     2:     2000 [     2:     2000] @ 0x401334 0x7f0000001334\n"
		"\nMAPPED_LIBRARIES:\n"
		"00400000-00410000 r-xp 00000000 08:01 5 /opt/app\n"
		"7f0000000000-7f0000010000 r-xp 00000000 08:01 6 /opt/libx.so\n"},
	{"gperftools sampled", false,
		"heap profile: 3: 3000 [ 3: 3000] @ heap_v2/4096\n"
		" 1: 1000 [ 1: 1000] @ 0x401234 0x7f0000001234\n"
		" 1: 1000 [ 1: 1000] @ 0x401334 0x7f0000001334\n"
		"\nMAPPED_LIBRARIES:\n"
		"00400000-00410000 r-xp 00000000 08:01 5 /opt/app\n"
		"7f0000000000-7f0000010000 r-xp 00000000 08:01 6 /opt/libx.so\n"},
	{"symbolized", false,
		"--- symbol\nbinary=/opt/app\n0x401234 keep\n0x401334 other--main\n---\n--- heap\n"
		"heap profile: 3: 3000 [ 3: 3000] @ heap_v2/4096\n"
		" 1: 1000 [ 1: 1000] @ 0x401234\n"
		" 1: 1000 [ 1: 1000] @ 0x401334\n"
		"\nMAPPED_LIBRARIES:\n"
		"00400000-00410000 r-xp 00000000 08:01 5 /opt/app\n"},
	{"symbolized jemalloc", false,
		"--- symbol\nbinary=/opt/app\n0x401234 keep\n0x401334 other\n---\n--- heap\n"
		"heap_v2/524288\n  t*: 2: 128 [0: 0]\n  t0: 2: 128 [0: 0]\n"
		"@ 0x401234\n  t*: 1: 64 [0: 0]\n  t0: 1: 64 [0: 0]\n"
		"@ 0x401334\n  t*: 1: 64 [0: 0]\n  t0: 1: 64 [0: 0]\n"
		"\nMAPPED_LIBRARIES:\n"
		"00400000-00410000 r-xp 00000000 08:01 5 /opt/app\n"},
	{"go", false,
		"heap profile: 2: 20480 [3: 20992] @ heap/1048576\n"
		"1: 12288 [1: 12288] @ 0x4b3e1c 0x4b3bf9\n"
		"#\t0x4b3e1b\tmain.a+0x23b\t\t/tmp/m.go:4\n"
		"#\t0x4b3bf8\tmain.main+0x18\t\t/tmp/m.go:5\n"
		"\n"
		"1: 8192 [2: 8704] @ 0x43f948 0x43fbfe\n"
		"#\t0x43f947\truntime.malg+0x27\t\t/usr/proc.go:4076\n"
		"#\t0x43fbfd\truntime.newproc1+0x7d\t/usr/proc.go:4123\n"
		"\n\n# runtime.MemStats\n# Alloc = 100\n# DebugGC = false\n# MaxRSS = 4\n"},
	{"jemalloc", false,
		"heap_v2/524288\n  t*: 2: 128 [0: 0]\n  t0: 1: 64 [0: 0]\n  t1: 1: 64 [0: 0] "
		"worker\n"
		"@ 0x401234 0x7f0000001234\n  t*: 1: 64 [0: 0]\n  t0: 1: 64 [0: 0]\n"
		"@ 0x401334\n  t*: 1: 64 [0: 0]\n  t1: 1: 64 [0: 0]\n"
		"\nMAPPED_LIBRARIES:\n"
		"00400000-00410000 r-xp 00000000 08:01 5 /opt/app\n"
		"7f0000000000-7f0000010000 r-xp 00000000 08:01 6 /opt/libx.so\n"},
	{"dhat", false,
		"{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,"
		"\"bkacc\":true,\"tu\":\"instrs\",\"Mtu\":\"Minstr\",\"tuth\":500,\"cmd\":\"./a\","
		"\"pid\":5,\"te\":100,\"tg\":50,\"pps\":[{\"tb\":100,\"tbk\":1,\"tl\":5,\"mb\":100,"
		"\"mbk\":1,\"gb\":100,\"gbk\":1,\"eb\":0,\"ebk\":0,\"rb\":0,\"wb\":0,\"fs\":[1]}],"
		"\"ftbl\":[\"[root]\",\"0x10915E: keep (app.c:12)\"]}\n"},
	{"heapprofile", false,
		"{\"head\":{\"callFrame\":{\"functionName\":\"(root)\",\"url\":\"\","
		"\"lineNumber\":-1},\"selfSize\":0,\"id\":1,\"children\":[{\"callFrame\":{"
		"\"functionName\":\"f\",\"url\":\"file:///a.js\",\"lineNumber\":1},"
		"\"selfSize\":520,\"id\":2,\"children\":[]}]},"
		"\"samples\":[{\"size\":520,\"nodeId\":2,\"ordinal\":1}]}\n"},
	{"valgrind", false,
		"<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n"
		"<protocolversion>4</protocolversion>\n<protocoltool>memcheck</protocoltool>\n"
		"<pid>9</pid>\n<tool>memcheck</tool>\n"
		"<args><vargv><exe>/usr/bin/valgrind</exe></vargv>"
		"<argv><exe>./app</exe></argv></args>\n"
		"<status><state>RUNNING</state><time>00:00:00:00.1</time></status>\n"
		"<error>\n<unique>0x0</unique>\n<tid>1</tid>\n<kind>Leak_DefinitelyLost</kind>\n"
		"<xwhat><text>100 bytes lost</text><leakedbytes>100</leakedbytes>"
		"<leakedblocks>1</leakedblocks></xwhat>\n"
		"<stack><frame><ip>0x1</ip><fn>malloc</fn></frame>"
		"<frame><ip>0x2</ip><fn>main</fn></frame></stack>\n</error>\n"
		"<status><state>FINISHED</state><time>00:00:00:00.2</time></status>\n"
		"<errorcounts></errorcounts>\n<suppcounts></suppcounts>\n\n</valgrindoutput>\n"},
	{"heaptrack", true,
		"v 10400 3\nX ./app\ns 10 /lib64/ld-1.so.2\ns 8 /opt/app\ns 4 main\ns 5 app.c\n"
		"i 5e2922001140 2 3 4 12\ni 5e2922001240 2 3 4 123\nt 1 0\nt 2 1\n"
		"a 3e8 1\na 12345 2\n+ 0\n+ 1\nc 12\n- 0\n+ 1\nc 123\n+ 0\nR 1234\n"},
	{"mtrace", true,
		"= Start\n@ ./app:[0x401156] + 0x1000 0x10\n@ ./app:[0x401167] + 0x2000 0x20\n"
		"@ ./app:[0x401178] - 0x1000\n@ ./app:[0x401189] < 0x2000\n"
		"@ ./app:[0x401189] > 0x3000 0x400\n@ ./app:(main+0x12)[0x401156] + 0x1000 0x100\n"
		"= End\n"},
	{"folded", true, "main;read_line;xmalloc 1234\nmain;b 200\nmain;c 30\n"},
};

static void add_stack(const struct model *model, struct stack_id stack, struct buf *ret)
{
	while (stack.value) {
		struct stack_node node = model_stack(model, stack);
		const char *path = model_module(model, node.module)->path;
		const struct embedded_run *run = model_embedded(model, node);
		buf_u64(ret, node.address);
		/* What has a name needs no file. */
		if (!run)
			buf_bytes(ret, path, strlen(path) + 1);
		for (uint32_t i = 0; run && i < run->count; i++) {
			const char *texts[] = {run->frames[i].function, run->frames[i].file};
			for (int k = 0; k < 2; k++)
				if (texts[k])
					buf_bytes(ret, texts[k], strlen(texts[k]) + 1);
			buf_u64(ret, run->frames[i].line);
		}
		stack = node.parent;
	}
}

/* What a model says, as bytes. */
static void digest(const struct model *model, struct buf *ret)
{
	buf_init(ret);
	struct totals totals = *model_totals(model);
	buf_bytes(ret, (const void *)&totals, sizeof(totals));
	buf_u64(ret, model_recording(model)->unknown);
	size_t count;
	const struct site *sites = model_sites(model, &count);
	for (size_t i = 0; i < count; i++) {
		struct site site = sites[i];
		add_stack(model, site.stack, ret);
		site.stack.value = 0;
		buf_u64(ret, site.kind);
		buf_u64(ret, site.allocations);
		buf_u64(ret, site.allocated_bytes);
		buf_u64(ret, site.live_blocks);
		buf_u64(ret, site.live_bytes);
		buf_u64(ret, site.peak_bytes);
	}
	const struct leak_record *leaks = model_leak_records(model, &count);
	for (size_t i = 0; i < count; i++)
		buf_u64(ret, leaks[i].bytes);
	model_series(model, &count);
	buf_u64(ret, count);
	model_errors(model, &count);
	buf_u64(ret, count);
	CHECK(!ret->failed);
}

/* What is too short to be known is refused as such. */
static void check_refusal(const struct seed *seed, size_t len, const struct error *error)
{
	static const char *const words[] = {"cut off", "unrecognised file format", "is empty"};
	CHECK(error->code == ERROR_INPUT);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(error->message, words[i]))
			return;
	tap_fail("%s, %zu bytes: not said to be cut off: %s", seed->name, len, error->message);
}

static void check_cut(const struct seed *seed, const struct buf *whole, size_t len)
{
	_cleanup_model_ struct model *model = NULL;
	struct error *error = source_open_bytes("file", seed->text, len, 0, &model);
	CHECK(!error != !model);
	if (error) {
		check_refusal(seed, len, error);
		error_destroy(error);
		return;
	}
	size_t damages;
	model_damage(model, &damages);
	CHECK(!damages == model_recording(model)->complete);
	struct buf cut;
	digest(model, &cut);
	bool same = cut.len == whole->len && !memcmp(cut.data, whole->data, cut.len);
	bool whole_lines = seed->text[len - 1] == '\n';
	if (!damages && !same && !(seed->ends_anywhere && whole_lines))
		tap_fail("%s, %zu bytes: taken for whole, with other figures", seed->name, len);
	buf_deinit(&cut);
}

CASE(cut, "a file that is cut anywhere is refused, says so, or says the same as the whole one")
{
	for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		_cleanup_model_ struct model *model = open_good(seeds[i].text);
		CHECK(model_recording(model)->complete);
		struct buf whole;
		digest(model, &whole);
		for (size_t len = 0; len < strlen(seeds[i].text); len++)
			check_cut(&seeds[i], &whole, len);
		buf_deinit(&whole);
	}
}

CASE(words, "what is missing of a dump that names its functions is not names")
{
	static const char names[] = "--- symbol\n0x401234 keep\n---\n--- heap\n";
	static const char dump[] =
		"heap profile: 1: 10 [1: 10] @ heapprofile\n1: 10 [1: 10] @ 0x401234\n";
	static const char go[] = "#\t0x401233\tmain.keep+0x12\t/a.go:1\n";
	char text[400];
	check_incomplete(dump, "no MAPPED_LIBRARIES, so addresses have no names");
	snprintf(text, sizeof(text), "%s%s", names, dump);
	check_incomplete(text, "no MAPPED_LIBRARIES, and stacks may be missing");
	snprintf(text, sizeof(text), "%s%s\nMAPPED_LIBRARIES:\n", names, dump);
	_cleanup_model_ struct model *whole = open_good(text);
	CHECK(model_recording(whole)->complete);
	snprintf(text, sizeof(text), "%s%s", dump, go);
	check_incomplete(text, "does not end with figures of Go's runtime");
	snprintf(text, sizeof(text),
		"%s\nMAPPED_LIBRARIES:\n00400000-00410000 r-xp 0 08:01 5 /a\n00500", dump);
	check_incomplete(text, "cut off in a line of its mappings");
	check_refused(names, "cut off before its stacks begin");
	check_incomplete("main;read 12", "its last line has no line end");
}

TAP_MAIN
