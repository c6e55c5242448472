/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heap snapshots of V8. The one below has, with ids and bytes:
 *
 *	root ──[5]──▶ Thing @3, 100 ◀─next─▶ Thing @11, 100; both ─f─▶ string @13, 32
 *	     ──kept─▶ Object @5, 40 ──key──▶ Blob @9, 1000   (a pair in the WeakMap)
 *	                            ┄weak┄▶ concatenated string @15, 16
 *	     ──table▶ table @7, 24  ┄value┄▶ Blob @9
 */
#include "base/text.h"
#include "heap/managed_heap.h"
#include "sources/v8/heapsnapshot.h"
#include "unit/foreign_files.h"

static const char snapshot[] =
	"{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge"
	"_count\",\"trace_node_id\"],\"node_types\":[[\"hidden\",\"array\",\"string\",\"objec"
	"t\",\"code\",\"closure\",\"regexp\",\"number\",\"native\",\"synthetic\",\"concatenated"
	" string\"],\"string\",\"number\",\"number\",\"number\",\"number\"],\"edge_fields\":[\""
	"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"context\",\"element\",\"pro"
	"perty\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],\"string_or_number\",\"node\"]"
	",\"trace_function_info_fields\":[\"function_id\",\"name\",\"script_name\",\"scrip"
	"t_id\",\"line\",\"column\"],\"trace_node_fields\":[\"id\",\"function_info_index\",\""
	"count\",\"size\",\"children\"]},\"node_count\":8,\"edge_count\":10},\n"
	"\"nodes\":[9,1,1,0,3,0,\n"
	"3,3,3,100,2,3,\n"
	"3,8,5,40,2,0,\n"
	"1,6,7,24,1,0,\n"
	"3,3,11,100,2,3,\n"
	"2,13,13,32,0,0,\n"
	"8,9,9,1000,0,0,\n"
	"10,13,15,16,0,0],\n"
	"\"edges\":[1,5,6,\n"
	"2,2,12,\n"
	"2,6,18,\n"
	"2,12,24,\n"
	"2,10,30,\n"
	"3,7,36,\n"
	"6,4,42,\n"
	"3,7,36,\n"
	"2,12,6,\n"
	"2,10,30],\n"
	"\"trace_function_infos\":[0,1,0,0,-1,-1,1,10,11,5,2,0],\n"
	"\"trace_tree\":[1,0,0,0,[3,1,2,200,[]]],\n"
	"\"samples\":[],\"locations\":[],\n"
	"\"strings\":[\"\",\"(root)\",\"kept\",\"Thing\",\"weak\",\"key\",\"table\",\"3 / part of "
	"key (Object @5) -> value (Blob @9) pair in WeakMap (table @7)\",\"Object\","
	"\"Blob\",\"f\",\"a.js\",\"next\",\"text of it\",\"(anonymous)\"]}\n";

static struct managed_heap *heap_of(const char *text)
{
	struct input input;
	struct managed_heap *heap = NULL;
	input_of_buffer(&input, "file", text, strlen(text));
	CHECK_OK(heapsnapshot_read(&input, &heap));
	return heap;
}

/* The snapshot with `from` replaced by `to`, which the caller frees. */
static char *changed(const char *from, const char *to)
{
	const char *at = strstr(snapshot, from);
	char *ret = NULL;
	CHECK(at);
	CHECK(asprintf(&ret, "%.*s%s%s", (int)(at - snapshot), snapshot, to, at + strlen(from)) >
		0);
	return ret;
}

static void check_wrong(const char *from, const char *to, const char *part)
{
	char *text = changed(from, to);
	check_refused(text, part);
	free(text);
}

static void check_class(const struct managed_heap *heap, const char *name, uint64_t objects,
	uint64_t bytes, uint64_t retained)
{
	const struct managed_class *class = managed_heap_class(heap, name);
	if (!class)
		tap_fail("no class %s", name);
	CHECK_U64(class->objects, objects);
	CHECK_U64(class->bytes, bytes);
	CHECK_U64(class->retained_bytes, retained);
}

CASE(classes, "constructors have their objects, bytes, and what they retain, each byte once")
{
	struct managed_heap *heap = heap_of(snapshot);
	CHECK_OK(managed_heap_retain(heap));
	check_class(heap, "Thing", 2, 200, 232);
	check_class(heap, "(string)", 1, 32, 32);
	check_class(heap, "Object", 1, 40, 1040);
	check_class(heap, "Blob", 1, 1000, 1000);
	check_class(heap, "(array)", 1, 24, 24);
	check_class(heap, "(concatenated string)", 1, 16, 16);
	check_class(heap, "(synthetic)", 0, 0, 1296);
	managed_heap_destroy(heap);
}

CASE(weak, "what is only referenced weakly is held by nothing; of a WeakMap keys hold values")
{
	struct managed_heap *heap = heap_of(snapshot);
	CHECK_OK(managed_heap_retain(heap));
	CHECK_U64(heap->unheld_objects, 1);
	CHECK_U64(heap->unheld_bytes, 16);
	CHECK_U64(heap->dominators[6], 2);
	CHECK_U64(heap->retained[2], 1040);
	CHECK_U64(heap->retained[3], 24);
	CHECK_U64(heap->dominators[5], 1);
	managed_heap_destroy(heap);
}

CASE(ways, "objects are held by the shortest way, and a list is one group")
{
	struct managed_heap *heap = heap_of(snapshot);
	struct managed_ways ways;
	CHECK_OK(managed_heap_ways(heap, managed_heap_class(heap, "Thing"), &ways));
	CHECK_U64(ways.chosen_count, 2);
	const struct managed_way *way = &ways.groups.data[ways.chosen[1]];
	CHECK_U64(way->objects, 1);
	CHECK_STR(managed_heap_string(heap, way->name), "next");
	CHECK_U64(ways.groups.data[way->holder].kind, MANAGED_ELEMENT);
	managed_ways_deinit(&ways);
	CHECK_OK(managed_heap_ways(heap, managed_heap_class(heap, "(concatenated string)"), &ways));
	CHECK_U64(ways.chosen_count, 0);
	CHECK_U64(ways.unheld, 1);
	managed_ways_deinit(&ways);
	managed_heap_destroy(heap);
}

/* A root whose only object has 40 references by names n0, n1, … to as many Things. */
static void many_names_write(struct text *out)
{
	static const char before_nodes[] = "\"nodes\":[";
	const char *nodes = strstr(snapshot, before_nodes);
	CHECK(nodes);
	text_init(out);
	text_add_n(out, snapshot, (size_t)(nodes - snapshot) + strlen(before_nodes));
	text_add(out, "9,0,1,0,1,0,3,1,3,16,40,0");
	for (unsigned i = 0; i < 40; i++)
		text_printf(out, ",3,2,%u,8,0,0", 5 + 2 * i);
	text_add(out, "],\"edges\":[1,0,6");
	for (unsigned i = 0; i < 40; i++)
		text_printf(out, ",2,%u,%u", 3 + i, (2 + i) * 6);
	text_add(out, "],\"strings\":[\"\",\"Holder\",\"Thing\"");
	for (unsigned i = 0; i < 40; i++)
		text_printf(out, ",\"n%u\"", i);
	text_add(out, "]}");
	CHECK(!out->failed);
}

CASE(names, "of more than 32 names by which a class holds another the others are one group")
{
	struct text text;
	struct managed_ways ways;
	many_names_write(&text);
	struct managed_heap *heap = heap_of(text.data);
	CHECK_OK(managed_heap_ways(heap, managed_heap_class(heap, "Thing"), &ways));
	CHECK_U64(ways.chosen_count, MANAGED_WAY_NAMES_MAX + 1);
	const struct managed_way *way = &ways.groups.data[ways.chosen[0]];
	CHECK_U64(way->objects, 8);
	CHECK_U64(way->kind, MANAGED_WEAK);
	managed_ways_deinit(&ways);
	managed_heap_destroy(heap);
	text_deinit(&text);
}

CASE(compare, "ids tell what is new and what is gone")
{
	/* Another Thing is there instead, and the Blob is larger. */
	char *text = changed("3,3,11,100", "3,3,17,100");
	char *larger = strstr(text, "8,9,9,1000");
	CHECK(larger);
	memcpy(larger, "8,9,9,1500", 10);
	struct managed_heap *older = heap_of(snapshot), *newer = heap_of(text);
	struct managed_changes changes;
	CHECK_OK(managed_heap_compare(older, newer, &changes));
	CHECK_U64(changes.rows.len, 2);
	CHECK_STR(changes.rows.data[0].name, "Blob");
	CHECK(changes.rows.data[0].more_bytes == 500 && !changes.rows.data[0].new_objects);
	CHECK_STR(changes.rows.data[1].name, "Thing");
	CHECK_U64(changes.rows.data[1].new_objects, 1);
	CHECK_U64(changes.rows.data[1].gone_objects, 1);
	CHECK(!changes.rows.data[1].more_objects && !changes.rows.data[1].more_bytes);
	CHECK_U64(changes.common_objects, 6);
	CHECK_U64(changes.renamed_objects, 0);
	managed_changes_deinit(&changes);
	managed_heap_destroy(older);
	managed_heap_destroy(newer);
	free(text);
}

CASE(model, "reports have constructors, below the calls that allocated them where V8 knows these")
{
	_cleanup_model_ struct model *model = open_good(snapshot);
	CHECK_STR(model_recording(model)->source, "heapsnapshot");
	const struct site *site = site_of(model, "Thing");
	CHECK_U64(site->live_blocks, 2);
	CHECK_U64(site->live_bytes, 200);
	struct stack_node node = model_stack(model, model_stack(model, site->stack).parent);
	CHECK_STR(model_embedded(model, node)->frames[0].function, "f");
	CHECK_STR(model_embedded(model, node)->frames[0].file, "a.js");
	CHECK_U64(model_embedded(model, node)->frames[0].line, 3);
	CHECK_U64(node.parent.value, 0);
	CHECK_U64(model_totals(model)->live_bytes, 1312);
	CHECK_U64(model_totals(model)->live_blocks, 7);
}

CASE(refused, "numbers that can't be are refused, with the offset")
{
	check_wrong(
		"\"node_fields\":[\"type\"", "\"node_fields\":[\"kind\"", "lacks the field 'type'");
	check_wrong("9,1,1,0,3,0", "99,1,1,0,3,0", "node 0 has a type");
	check_wrong("9,1,1,0,3,0", "9,999,1,0,3,0", "not in strings");
	check_wrong("9,1,1,0,3,0", "9,1,1,0,4,0", "its nodes have 11 edges, and there are 10");
	check_wrong("10,13,15,16,0,0]", "10,13,15,16,0]", "a row is incomplete");
	check_wrong("9,1,1,0,3,0", "9,1,1,0,99999999999,0", "node 0 has");
	check_wrong("1,5,6", "1,5,7", "edge 0 has");
	check_wrong("1,5,6", "1,5,600", "leads to a node that is not there");
	check_wrong("1,5,6", "9,5,6", "edge 0 has");
	check_wrong("2,2,12", "2,99,12", "not in strings");
	check_wrong("[3,1,2,200", "[3,7,2,200", "a function that is not there");
	check_wrong("[1,0,0,0,[", "[1,0,0,[", "is not a whole number");
	check_wrong("\"strings\"", "\"words\"", "has no nodes, edges or strings");
	check_wrong("\"snapshot\"", "\"nodes\":[],\"snapshot\"", "comes before \"snapshot\"");
}

CASE(deep, "calls that are nested without end are refused")
{
	struct buf file;
	const char *at = strstr(snapshot, "[3,1,2,200");
	CHECK(at);
	buf_init(&file);
	buf_bytes(&file, snapshot, (size_t)(at - snapshot));
	for (unsigned i = 0; i < 9000; i++)
		buf_bytes(&file, "[3,1,2,200,", 11);
	check_refused_bytes(file.data, file.len, "more than 4096 calls");
	buf_deinit(&file);
}

CASE(fields, "more fields than there can be are refused")
{
	static const char begin[] = "{\"snapshot\":{\"meta\":{\"node_fields\":[";
	struct buf file;
	buf_init(&file);
	buf_bytes(&file, begin, strlen(begin));
	for (unsigned i = 0; i < 40; i++)
		buf_bytes(&file, "\"x\",", 4);
	buf_bytes(&file, "\"type\"]", 7);
	check_refused_bytes(file.data, file.len, "more than 32 fields");
	buf_clear(&file);
	buf_bytes(&file, begin, strlen(begin));
	for (unsigned i = 0; i < 70; i++)
		buf_bytes(&file, "\"x\",", 4);
	check_refused_bytes(file.data, file.len, "more than 64 fields or types");
	buf_deinit(&file);
}

CASE(cut, "cut or changed anywhere, it is refused or read")
{
	check_cut_anywhere(snapshot);
	check_changed_anywhere(snapshot);
}

TAP_MAIN
