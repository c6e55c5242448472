/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's tables without a JVM: names, weights, live objects, and the profile that is read
 * again. */
#include <math.h>
#include <sys/mman.h>

#include "runtime/jvm/names.h"
#include "runtime/jvm/profile_write.h"
#include "unit/foreign_files.h"

static void check_class(const char *signature, const char *name, const char *short_name)
{
	char found[64];
	class_name(signature, found, sizeof(found));
	CHECK_STR(found, name);
	CHECK_STR(class_short_name(found), short_name);
}

CASE(classes, "classes are called as in Java")
{
	check_class("Ljava/util/Map$Entry;", "java.util.Map$Entry", "Map$Entry");
	check_class("[I", "int[]", "int[]");
	check_class("[[Ljava/lang/String;", "java.lang.String[][]", "String[][]");
	check_class("LMain;", "Main", "Main");
	check_class("Lapp/Main$$Lambda.0x7f00;", "app.Main$$Lambda.0x7f00", "Main$$Lambda.0x7f00");
	check_class("", "", "");
	check_class("[", "[", "[");
	check_class("L;", "L;", "L;");
	check_class("Labcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstu;",
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk",
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk");
}

CASE(weights, "a sample stands for 1 / (1 - exp(-size / interval)) objects")
{
	const uint64_t sizes[] = {1, 8, 16, 40, 4016, 65536, 524288, 1 << 20, 1 << 30};
	const uint64_t intervals[] = {1, 100, 65536, 524288, 1 << 30};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t k = 0; k < sizeof(intervals) / sizeof(*intervals); k++) {
			double x = (double)sizes[i] / (double)intervals[k];
			double expected = -1 / expm1(-x);
			double found = sample_weight(sizes[i], intervals[k]);
			CHECK(fabs(found - expected) <= expected * 1e-10);
		}
	CHECK(sample_weight(8, 0) == 1);
}

CASE(size_classes, "sizes of one class differ by an eighth at most, and classes ascend")
{
	uint32_t before = 0;
	uint64_t least = 0;
	for (uint64_t size = 8; size < 1 << 24; size += size < 4096 ? 8 : size / 64) {
		uint32_t found = sample_size_class(size);
		CHECK(found >= before);
		if (found != before)
			least = size;
		CHECK(size - least <= least / 8);
		before = found;
	}
}

/* Main.run → Order, and Main.run → int[], by hand. */
static void tables_fill(struct sample_tables *tables)
{
	static int method;
	CHECK(sample_tables_init(tables));
	struct sample_function run = {.method = &method,
		.name = sample_string(tables, "app.Main.run"),
		.short_name = sample_string(tables, "Main.run"),
		.full_name = sample_string(tables, "app.Main.run()V"),
		.file = sample_string(tables, "Main.java"),
		.lines = calloc(2, sizeof(struct sample_line)),
		.line_count = 2};
	run.lines[0] = (struct sample_line){0, 10};
	run.lines[1] = (struct sample_line){8, 12};
	uint32_t function = sample_method_add(tables, &run);
	CHECK(function && sample_method_find(tables, &method) == function);
	uint32_t line = sample_line_of(&tables->functions[function], 9);
	CHECK_U64(line, 12);
	CHECK_U64(sample_line_of(&tables->functions[function], 7), 10);
	CHECK_U64(sample_line_of(&tables->functions[function], -1), 0);
	uint32_t node = sample_node(tables, 0, function, line);
	CHECK_U64(sample_node(tables, 0, function, line), node);
	const char *const names[] = {"app.Order", "int[]"};
	const uint64_t sizes[] = {40, 24016};
	for (int i = 0; i < 2; i++) {
		uint32_t name = sample_name(tables, names[i], class_short_name(names[i]));
		uint32_t id = sample_cell(tables, sample_node(tables, node, name, 0), sizes[i]);
		CHECK(id);
		struct sample_cell *cell = &tables->cells[id - 1];
		cell->objects = 1000 + i;
		cell->bytes = cell->objects * (double)sizes[i];
		cell->live_objects = 10;
		cell->live_bytes = 10 * (double)sizes[i];
	}
	CHECK(!tables->failed);
}

static struct model *profile_read(const struct profile_facts *facts)
{
	struct sample_tables tables;
	struct model *model = NULL;
	static char data[65536];
	tables_fill(&tables);
	int fd = memfd_create("profile", MFD_CLOEXEC);
	CHECK(fd >= 0 && profile_write(fd, &tables, facts) == 0);
	ssize_t len = pread(fd, data, sizeof(data), 0);
	CHECK(len > 0);
	close(fd);
	sample_tables_deinit(&tables);
	CHECK_OK(source_open_bytes("profile", data, (size_t)len, 0, &model));
	return model;
}

static const struct site *site_named(const struct model *model, const char *name)
{
	size_t count;
	const struct site *sites = model_sites(model, &count);
	for (size_t i = 0; i < count; i++) {
		struct stack_node node = model_stack(model, sites[i].stack);
		const struct embedded_run *run = model_embedded(model, node);
		if (run && !strcmp(run->frames[0].function, name))
			return &sites[i];
	}
	tap_fail("no site '%s'", name);
	return NULL;
}

CASE(profile, "what is written is read as a sampled heap with the same figures and names")
{
	const struct profile_facts facts = {.interval = 524288,
		.start_ns = 1700000000000000000,
		.duration_ns = 5000000000,
		.has_live = true,
		.program = "app.Main"};
	_cleanup_model_ struct model *model = profile_read(&facts);
	const struct site *site = site_named(model, "app.Order");
	CHECK_U64(site->allocations, 1000);
	CHECK_U64(site->allocated_bytes, 40000);
	CHECK_U64(site->live_blocks, 10);
	CHECK_U64(site->live_bytes, 400);
	CHECK_U64(site_named(model, "int[]")->allocated_bytes, 1001 * 24016);
	struct stack_node node = model_stack(model, site->stack);
	node = model_stack(model, node.parent);
	CHECK_STR(model_embedded(model, node)->frames[0].function, "app.Main.run");
	CHECK_STR(model_embedded(model, node)->frames[0].file, "Main.java");
	CHECK_U64(model_embedded(model, node)->frames[0].line, 12);
	CHECK_U64(model_recording(model)->sample_bytes, 524288);
	CHECK_U64(model_recording(model)->duration_ns, 5000000000);
	CHECK_STR(model_target(model)->exe, "app.Main");
}

CASE(profile_plain, "without live objects none are claimed, and names may be short")
{
	const struct profile_facts facts = {.interval = 1, .short_names = true, .program = ""};
	_cleanup_model_ struct model *model = profile_read(&facts);
	CHECK_U64(site_named(model, "Order")->allocations, 1000);
	CHECK(model_recording(model)->unknown & UNKNOWN_LIVE_BYTES);
}

CASE(copies,
	"what is written from a copy is as it was when the copy was made, while the tables grow")
{
	const struct profile_facts facts = {.interval = 1, .program = ""};
	static char before[65536], after[65536];
	struct sample_tables tables, copy;
	tables_fill(&tables);
	int fd = memfd_create("profile", MFD_CLOEXEC), fd_copy = memfd_create("copy", MFD_CLOEXEC);
	CHECK(fd >= 0 && fd_copy >= 0 && profile_write(fd, &tables, &facts) == 0);
	CHECK(sample_tables_copy(&tables, &copy));
	for (uint32_t i = 1; i < 5000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "later%u", i);
		uint32_t function = sample_name(&tables, name, name);
		uint32_t cell = sample_cell(&tables, sample_node(&tables, 0, function, i), 8);
		CHECK(cell);
		tables.cells[cell - 1].objects = tables.cells[cell - 1].bytes = 1;
	}
	tables.cells[0].bytes *= 2;
	CHECK(profile_write(fd_copy, &copy, &facts) == 0);
	ssize_t len = pread(fd, before, sizeof(before), 0);
	CHECK(len > 0 && pread(fd_copy, after, sizeof(after), 0) == len);
	CHECK(!memcmp(before, after, (size_t)len));
	close(fd);
	close(fd_copy);
	sample_tables_copy_free(&copy);
	sample_tables_deinit(&tables);
}

CASE(live, "slots of objects that are gone are used again")
{
	struct sample_tables tables;
	CHECK(sample_tables_init(&tables));
	const struct sample_live row = {.weak = &tables, .cell = 1, .size = 8, .weight = 1};
	for (size_t i = 0; i < 3 * LIVE_CHUNK; i++)
		CHECK(sample_live_add(&tables, &row));
	for (size_t i = 0; i < 3 * LIVE_CHUNK; i += 2)
		sample_live_free(&tables, i);
	CHECK_U64(tables.live_now, 3 * LIVE_CHUNK / 2);
	for (size_t i = 0; i < 3 * LIVE_CHUNK / 2; i++)
		CHECK(sample_live_add(&tables, &row));
	CHECK_U64(tables.live_count, 3 * LIVE_CHUNK);
	CHECK_U64(tables.live_now, 3 * LIVE_CHUNK);
	sample_tables_deinit(&tables);
}

/* Text of a header, from a JDK that is there; skips where there is none. */
static char *jdk_header(const char *name)
{
	char command[200];
	static char text[512 << 10];
	snprintf(command, sizeof(command),
		"cat \"$(ls /usr/lib/jvm/*/include/%s 2>/dev/null | head -1)\" 2>/dev/null", name);
	FILE *pipe = popen(command, "r");
	CHECK(pipe);
	size_t len = fread(text, 1, sizeof(text) - 1, pipe);
	pclose(pipe);
	text[len] = '\0';
	if (!len)
		SKIP("no JDK with %s is installed", name);
	return text;
}

CASE(jvm_api, "positions in the function table of JVM TI are those of a JDK's header")
{
	static const struct {
		enum jvm_position position;
		const char *name;
	} positions[] = {{JVM_SET_EVENT_MODE, "Set Event Notification Mode"},
		{JVM_GET_THREAD_INFO, "Get Thread Info"}, {JVM_DEALLOCATE, "Deallocate"},
		{JVM_GET_CLASS_SIGNATURE, "Get Class Signature"},
		{JVM_GET_SOURCE_FILE, "Get Source File Name"},
		{JVM_GET_METHOD_NAME, "Get Method Name (and Signature)"},
		{JVM_GET_METHOD_CLASS, "Get Method Declaring Class"},
		{JVM_GET_LINES, "Get Line Number Table"}, {JVM_GET_STACK_TRACE, "Get Stack Trace"},
		{JVM_GET_ALL_THREADS, "Get All Threads"},
		{JVM_GET_THREAD_STORAGE, "Get Thread Local Storage"},
		{JVM_SET_THREAD_STORAGE, "Set Thread Local Storage"},
		{JVM_FORCE_COLLECTION, "Force Garbage Collection"},
		{JVM_SET_CALLBACKS, "Set Event Callbacks"},
		{JVM_ADD_CAPABILITIES, "Add Capabilities"},
		{JVM_RELINQUISH_CAPABILITIES, "Relinquish Capabilities"},
		{JVM_SET_SAMPLING_INTERVAL, "Set Heap Sampling Interval"}};
	const char *text = jdk_header("jvmti.h");
	for (size_t i = 0; i < sizeof(positions) / sizeof(*positions); i++) {
		char line[100];
		snprintf(line, sizeof(line), "/*   %d : %s */", positions[i].position,
			positions[i].name);
		CHECK_CONTAINS(text, line);
	}
	CHECK_CONTAINS(text, "JVMTI_MIN_EVENT_TYPE_VAL = 50");
	CHECK_CONTAINS(text, "JVMTI_EVENT_VM_INIT = 50");
	CHECK_CONTAINS(text, "JVMTI_EVENT_VM_DEATH = 51");
	CHECK_CONTAINS(text, "JVMTI_EVENT_GARBAGE_COLLECTION_FINISH = 82");
	CHECK_CONTAINS(text, "JVMTI_EVENT_SAMPLED_OBJECT_ALLOC = 86");
	CHECK_CONTAINS(text, "JVMTI_VERSION_11  = 0x300B0000");
	CHECK_CONTAINS(text, "JVMTI_ERROR_NOT_AVAILABLE = 98");
}

CASE(jvm_capabilities, "capabilities are the bits of a JDK's header")
{
	static const struct {
		enum jvm_capability bit;
		const char *name;
	} bits[] = {{JVM_CAN_GET_SOURCE_FILE, "can_get_source_file_name"},
		{JVM_CAN_GET_LINES, "can_get_line_numbers"},
		{JVM_CAN_SEE_COLLECTIONS, "can_generate_garbage_collection_events"},
		{JVM_CAN_SAMPLE, "can_generate_sampled_object_alloc_events"},
		{JVM_CAN_VIRTUAL_THREADS, "can_support_virtual_threads"}};
	unsigned bit = 0, found = 0;
	char *text = strstr(jdk_header("jvmti.h"), "unsigned int can_tag_objects");
	CHECK(text);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *name = strstr(line, "unsigned int can_");
		if (!name)
			break;
		name += strlen("unsigned int ");
		for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
			if (strncmp(name, bits[i].name, strlen(bits[i].name)) != 0)
				continue;
			CHECK_U64(bits[i].bit, bit);
			found++;
		}
		bit++;
	}
	CHECK(found >= 4);
}

TAP_MAIN
