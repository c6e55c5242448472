/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/watch_source.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/util.h"
#include "format/kinds.h"

/* Calls that are taken at once, a few more with those that come while the process is looked at. */
#define CALLS_AT_ONCE (1u << 14)
/* A record, and whose it is. */
#define CALL_WORDS (HW_R_WORDS_MAX + 1)
/* Twice what is taken at once: what is too young to be in order stays for a pass. */
#define LANE_WORDS (1u << 18)
static_assert(2 * (CALLS_AT_ONCE + 64) * CALL_WORDS <= LANE_WORDS, "it finds room");
#define NODES_BYTES (HW_NODES_MAX * sizeof(struct hw_node))
/* From reading the clock to being in the ring. */
#define ARRIVAL_NS 1000000u

static struct watch_source *source_of(struct event_source *source)
{
	return (struct watch_source *)source;
}

/* Kinds. */

/* By the name that the linker knows; those that are missing are as malloc and free. */
static const struct {
	const char *name;
	uint8_t kind;
} alloc_kinds[] = {{"calloc", HW_CALLOC}, {"realloc", HW_REALLOC}, {"reallocarray", HW_REALLOC},
	{"rallocx", HW_REALLOC}, {"posix_memalign", HW_POSIX_MEMALIGN},
	{"aligned_alloc", HW_ALIGNED_ALLOC}, {"memalign", HW_MEMALIGN}, {"valloc", HW_VALLOC},
	{"pvalloc", HW_PVALLOC}, {"_Znwm", HW_NEW}, {"_Znam", HW_NEW_ARRAY},
	{"_ZnwmRKSt9nothrow_t", HW_NEW_NOTHROW}, {"_ZnamRKSt9nothrow_t", HW_NEW_ARRAY_NOTHROW},
	{"_ZnwmSt11align_val_t", HW_NEW_ALIGNED}, {"_ZnamSt11align_val_t", HW_NEW_ARRAY_ALIGNED},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", HW_NEW_ALIGNED_NOTHROW},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", HW_NEW_ARRAY_ALIGNED_NOTHROW}};

static enum hw_alloc_kind kind_of_name(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(alloc_kinds); i++) {
		if (!strcmp(alloc_kinds[i].name, name))
			return (enum hw_alloc_kind)alloc_kinds[i].kind;
	}
	return HW_MALLOC;
}

/* Of one function several names may be known (tcmalloc's free and operator delete): so a free is
 * taken to be by the function that matches the block. */
static enum hw_free_kind kind_of_free(const struct watch_source *s, const struct watch_call *call)
{
	size_t number;
	if (kind_of_name(watch_call_function(call->function)) == HW_REALLOC)
		return call->size ? HW_FREE_REALLOC : HW_FREE_REALLOC_ZERO;
	struct error *error = watch_stack_of(s->watch, call->site, &number);
	if (error || number == SIZE_MAX) {
		error_destroy(error);
		return HW_FREE;
	}
	const struct watch_stack *stack = &watch_stacks_get(s->watch)->data[number];
	return hw_matching_free(kind_of_name(stack->symbol));
}

/* Stacks. */

/* Returns the node of a frame called from another; 0: there is no room. */
static uint32_t node_get(struct watch_source *s, uint32_t parent, uint64_t frame)
{
	struct hash_index_place place;
	uint32_t number, count = s->node_count;
	uint64_t hash = hash_u64(frame ^ hash_u64(parent));
	if (!hash_index_seek(&s->by_frame, hash, &place)) {
		s->no_memory = true;
		return 0;
	}
	while ((number = hash_index_next(&s->by_frame, &place))) {
		const struct hw_node *node = &s->nodes[number - 1];
		if (node->frame == frame && node->parent == parent)
			return number - 1;
	}
	if (count >= HW_NODES_MAX)
		return 0;
	s->nodes[count] = (struct hw_node){.frame = frame, .parent = parent};
	hash_index_put(&s->by_frame, &place, count);
	s->node_count++;
	return count;
}

/* Number of the module that a return address is in; 0: none. */
static uint64_t module_of(const struct watch_source *s, uint64_t return_address)
{
	size_t module = watch_modules_find(watch_modules_get(s->watch), return_address - 1);
	return module < HW_MODULES_MAX - 1 ? module + 1 : 0;
}

/* After which frame those begin that were found by frame pointers: the first one in no module, or
 * the innermost if it does not show. */
static unsigned guess_place(const struct watch_source *s, const struct watch_stack *stack)
{
	for (unsigned i = 0; i < stack->frame_count; i++) {
		if (!module_of(s, stack->frames[i]))
			return i;
	}
	return 0;
}

static uint32_t stack_add(struct watch_source *s, const struct watch_stack *stack)
{
	uint32_t node = 0;
	if (!stack->function)
		return node_get(s, 0, HW_MARK_TABLE_FULL);
	if (stack->is_incomplete)
		node = node_get(s, 0, stack->is_cut ? HW_MARK_CUT : HW_MARK_NO_UNWIND_INFO);
	unsigned guessed = stack->is_guessed ? guess_place(s, stack) : stack->frame_count;
	for (unsigned i = stack->frame_count; i-- > 0;) {
		uint64_t address = stack->frames[i] & HW_FRAME_ADDRESS_MASK;
		if (i == guessed)
			node = node_get(s, node, HW_MARK_GUESS);
		uint32_t next = node_get(
			s, node, module_of(s, stack->frames[i]) << HW_FRAME_ADDRESS_BITS | address);
		if (!next)
			return 0;
		node = next;
	}
	return node;
}

static uint32_t stack_node(struct watch_source *s, uint64_t site)
{
	size_t number;
	struct error *error = watch_stack_of(s->watch, site, &number);
	if (error || number == SIZE_MAX) {
		error_destroy(error);
		s->nodes_full++;
		return 0;
	}
	while (s->of_stacks.len <= number) {
		if (!stack_nodes_push(&s->of_stacks, 0)) {
			s->no_memory = true;
			return 0;
		}
	}
	uint32_t *node = &s->of_stacks.data[number];
	if (!*node)
		*node = stack_add(s, &watch_stacks_get(s->watch)->data[number]);
	s->nodes_full += !*node;
	return *node;
}

/* Records. */

struct call_record {
	uint64_t words[CALL_WORDS];
	uint32_t count;
};

static void word_add(struct call_record *record, uint64_t word)
{
	record->words[record->count++] = word;
}

static void stack_size_add(struct call_record *record, uint32_t stack, uint64_t size)
{
	bool is_big = size >= HW_R_SIZE_BIG;
	word_add(record, stack | (is_big ? (uint64_t)HW_R_SIZE_BIG : size) << 32);
	if (is_big)
		word_add(record, size);
}

static void call_describe(
	struct watch_source *s, const struct watch_call *call, struct call_record *record)
{
	enum hw_alloc_kind kind = kind_of_name(watch_call_function(call->function));
	word_add(record, (uint64_t)call->thread << 8 | HW_R_FOREIGN);
	switch (call->kind) {
	case WATCH_CALL_ALLOC: {
		uint32_t op = call->old ? (uint32_t)HW_R_REALLOC : HW_R_ALLOC + (uint32_t)kind;
		word_add(record, call->address << 8 | HW_R_STAMPED | op);
		stack_size_add(record, stack_node(s, call->site), call->size);
		if (call->old) {
			word_add(record, call->old);
			word_add(record, s->last_stamp);
		}
		break;
	}
	case WATCH_CALL_FREE:
		word_add(record, call->address << 8 | HW_R_STAMPED |
					 (HW_R_FREE + (uint32_t)kind_of_free(s, call)));
		break;
	case WATCH_CALL_RESIZE:
		word_add(record, call->address << 8 | HW_R_STAMPED | HW_R_MOVING);
		break;
	case WATCH_CALL_FAILED:
		word_add(record, (uint64_t)kind << 8 | HW_R_STAMPED | HW_R_FAILED);
		word_add(record, stack_node(s, call->site));
		word_add(record, call->size);
		break;
	}
	word_add(record, s->last_stamp);
}

static void record_put(struct watch_source *s, const struct call_record *record)
{
	uint64_t left = LANE_WORDS - s->head % LANE_WORDS;
	if (left < record->count) {
		s->words[s->head % LANE_WORDS] = HW_R_PAD;
		s->head += left;
	}
	memcpy(&s->words[s->head % LANE_WORDS], record->words, record->count * sizeof(uint64_t));
	s->head += record->count;
}

/* Puts the calls into the lane, but for those of another program. */
static void calls_put(struct watch_source *s, uint64_t replaced_ns)
{
	for (size_t i = 0; i < s->calls.len; i++) {
		const struct watch_call *call = &s->calls.data[i];
		struct call_record record = {.count = 0};
		if (replaced_ns && call->time_ns >= replaced_ns)
			break;
		s->last_stamp = max(s->last_stamp, max(call->time_ns, s->safe_stamp + 1));
		call_describe(s, call, &record);
		record_put(s, &record);
	}
	watch_calls_clear(&s->calls);
}

bool watch_source_call(void *context, const struct watch_call *call)
{
	struct watch_source *s = context;
	s->no_memory |= !watch_calls_push(&s->calls, *call);
	return s->calls.len < CALLS_AT_ONCE;
}

/* What comes from now on has a later stamp. */
static void time_pass(struct watch_source *s, bool has_more, uint64_t began_ns)
{
	uint64_t safe = has_more ? s->last_stamp : began_ns - ARRIVAL_NS;
	s->safe_stamp = max(s->safe_stamp, max(safe, s->last_stamp));
}

static struct error *memory_check(const struct watch_source *s)
{
	return s->no_memory ? error_no_memory() : NULL;
}

struct error *watch_source_step(struct watch_source *s, bool *ret_more, bool *ret_ended)
{
	uint64_t began_ns;
	struct error *error = watch_take(s->watch, ret_more, &began_ns);
	if (!error)
		error = watch_poll(s->watch, ret_ended);
	if (error)
		return error;
	uint64_t replaced_ns = watch_replaced_ns(s->watch);
	*ret_ended |= replaced_ns != 0;
	calls_put(s, replaced_ns);
	time_pass(s, *ret_more, began_ns);
	return memory_check(s);
}

struct error *watch_source_rest(struct watch_source *s, bool *ret_more)
{
	uint64_t began_ns;
	struct error *error = watch_take(s->watch, ret_more, &began_ns);
	if (error)
		return error;
	calls_put(s, watch_replaced_ns(s->watch));
	time_pass(s, *ret_more, began_ns);
	return memory_check(s);
}

/* The source. */

static void source_lane(struct event_source *source, uint32_t lane, struct event_lane *ret)
{
	(void)lane;
	*ret = (struct event_lane){.words = source_of(source)->words, .size = LANE_WORDS};
}

/* A little later than all that is in the lane: the merge leaves a margin for other processors,
 * which have no part in this. */
static uint64_t source_stamp(struct event_source *source)
{
	return source_of(source)->safe_stamp + source->hz / 50000 + 1;
}

static struct clock_pair source_clock(struct event_source *source)
{
	(void)source;
	uint64_t ns = clock_pair_now().ns;
	return (struct clock_pair){ns, ns};
}

static bool source_look(struct event_source *source, uint32_t lane, struct event_look *ret)
{
	(void)lane;
	*ret = (struct event_look){.head = source_of(source)->head, .generation = 1};
	return true;
}

static void source_taken(struct event_source *source, uint32_t lane, uint64_t tail)
{
	(void)lane;
	source_of(source)->tail = tail;
}

static uint32_t source_module_count(struct event_source *source)
{
	const struct watch_source *s = source_of(source);
	size_t count = s->watch ? watch_modules_get(s->watch)->len : 0;
	return (uint32_t)min(count, (size_t)HW_MODULES_MAX - 1) + 1;
}

static void source_module(struct event_source *source, uint32_t number, struct event_module *ret)
{
	const struct watch_module *module =
		&watch_modules_get(source_of(source)->watch)->data[number - 1];
	*ret = (struct event_module){.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.build_id_bytes = (uint32_t)module->build_id_len,
		.path_bytes = (uint32_t)strlen(module->path),
		.path = module->path};
	_Static_assert(sizeof(ret->build_id) == sizeof(module->build_id), "it fits");
	memcpy(ret->build_id, module->build_id, sizeof(module->build_id));
}

static void source_report(
	struct event_source *source, uint64_t duration_ns, struct event_report *ret)
{
	(void)duration_ns;
	const struct watch_source *s = source_of(source);
	struct error *error = watch_losses_read(s->watch);
	const struct watch_losses *losses = watch_losses_get(s->watch);
	ret->lost[HW_LOST_REALLOC_FAILED] = losses->resizes;
	ret->ring_full = losses->events;
	ret->tables_full = losses->blocks + losses->threads;
	ret->unprobed = losses->throwing;
	ret->stacks_full = losses->stacks + s->nodes_full;
	ret->damaged = error != NULL;
	error_destroy(error);
}

static const struct event_source_ops source_ops = {.lane = source_lane,
	.stamp = source_stamp,
	.clock = source_clock,
	.look = source_look,
	.taken = source_taken,
	.module_count = source_module_count,
	.module = source_module,
	.report = source_report};

struct error *watch_source_init(struct watch_source *s)
{
	*s = (struct watch_source){.node_count = 1, .notes = HW_NOTE_ATTACHED};
	s->words = calloc(LANE_WORDS, sizeof(*s->words));
	void *nodes = mmap(NULL, NODES_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	s->nodes = nodes == MAP_FAILED ? NULL : nodes;
	s->safe_stamp = clock_pair_now().ns;
	s->source = (struct event_source){.ops = &source_ops,
		.hz = 1000000000u,
		.has_shared = true,
		.nodes = s->nodes,
		.nodes_max = HW_NODES_MAX,
		.notes = &s->notes};
	bool has_room = s->words && s->nodes && watch_calls_reserve(&s->calls, CALLS_AT_ONCE + 64);
	return has_room ? NULL : error_no_memory();
}

void watch_source_deinit(struct watch_source *s)
{
	free(s->words);
	if (s->nodes)
		munmap(s->nodes, NODES_BYTES);
	hash_index_deinit(&s->by_frame);
	stack_nodes_deinit(&s->of_stacks);
	watch_calls_deinit(&s->calls);
	*s = (struct watch_source){0};
}
