/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/python_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/python/python_texts.h"

/* So much of a stack is in memory at once. */
#define PORTION_BYTES (64u << 10)
#define STATES_MAX (1u << 16)
#define CODE_BYTES_MAX (1u << 24)
#define TABLE_BYTES_MAX (1u << 20)
#define NAME_CHARACTERS 1000u

/* PyThreadState: words. It begins with links; where it points to frames, and where the thread's
 * number is. */
#define STATE_LINKS 2u
#define STATE_FRAMES 2u
#define STATE_FRAMES_END 16u
#define STATE_NUMBER 10u
#define STATE_WORDS 44u

/* PyFrameObject, up to 3.10: words. */
#define OBJECT_BACK 3u
#define OBJECT_CODE 4u
#define OBJECT_WORDS 16u

/* Where in it the last instruction's offset is. 3.7 to 3.9 say one word before whether lines are
 * traced, which they are unless that was changed; before, a pointer is there. */
static unsigned offset_word(enum python_lines lines, const uint64_t *words)
{
	if (lines == PYTHON_LINES_RANGES)
		return 12;
	return (words[11] & 0xff) == 1 ? 13 : 15;
}

/* _PyInterpreterFrame, from 3.11 on: words. */
struct frame_shape {
	uint8_t code, back, instruction;
};
static const struct frame_shape frame_shapes[] = {{4, 6, 7} /* 3.11 */, {0, 1, 7} /* later */};
#define FRAME_SHAPES 2u
#define FRAME_WORDS 8u
/* Both: the number of variables and values that are in use (int; -1 while it runs), then these. */
#define FRAME_TOP 8u
#define FRAME_VALUES 9u
#define FRAME_VALUES_MAX (1u << 20)
/* Pointers may have marks in their last bits (3.14). */
#define MARKS 7ull

/* PyCodeObject: words, but for the first line's place in bytes. */
struct code_shape {
	uint8_t file, function, table, first_line;
	uint8_t bytes; /* an object with the instructions; 0: they are after */
	enum python_lines lines;
};
static const struct code_shape code_shapes[] = {
	{14, 16, 17, 68, 0, PYTHON_LINES_PLACES},    /* 3.11 and later */
	{13, 14, 15, 40, 6, PYTHON_LINES_STEPS},     /* 3.8 to 3.10 */
	{12, 13, 14, 36, 5, PYTHON_LINES_STEPS},     /* 3.6, 3.7 */
	{10, 11, 13, 96, 4, PYTHON_LINES_STEPS_OLD}, /* 2.7 */
};
#define CODE_SHAPES 4u
#define CODE_WORDS 18u
/* sizeof in 3.11, whose first line is one number further. */
#define CODE_BYTES_3_11 184u

static bool is_called(struct python_stacks *s, uint64_t object, const char *type)
{
	const struct python_type *found = python_type_of(&s->python, object);
	return found && !strcmp(found->name, type);
}

/* The text of an object, which lives on; NULL: it is none. */
static const char *read_name(struct python_stacks *s, uint64_t object)
{
	struct text text;
	uint64_t rest;
	const char *name = NULL;
	text_init(&text);
	if (python_text_add(&s->python, object, NAME_CHARACTERS, &text, &rest) && !text.failed)
		name = arena_strndup(&s->python.arena, text.len ? text.data : "", text.len);
	text_deinit(&text);
	return name;
}

/* 3.10 has the look of 3.8, but its table goes up to the end of the instructions. */
static bool has_ranges(struct python_stacks *s, const struct python_code *code)
{
	uint64_t sum = 0;
	_cleanup_free_ uint8_t *table = malloc(code->table_bytes + 1);
	if (!table || address_space_read(s->space, code->table, table, code->table_bytes) !=
			      code->table_bytes)
		return false;
	for (uint64_t i = 0; i + 2 <= code->table_bytes; i += 2)
		sum += table[i];
	return sum && sum == code->bytes;
}

static bool read_code(struct python_stacks *s, const struct code_shape *shape, uint64_t address,
	const uint64_t *words, struct python_code *ret)
{
	const struct python_type *type = python_type_of(&s->python, address);
	uint64_t own = type ? type->own_bytes : 0, start;
	unsigned line = shape->first_line;
	*ret = (struct python_code){.lines = shape->lines};
	if (!python_bytes_find(&s->python, words[shape->table], &ret->table, &ret->table_bytes) ||
		ret->table_bytes > TABLE_BYTES_MAX)
		return false;
	if (!shape->bytes) {
		ret->start = address + own;
		ret->bytes = CODE_BYTES_MAX;
		line += own <= CODE_BYTES_3_11 ? 4 : 0;
		memcpy(&ret->values, (const uint8_t *)words + line - 4, sizeof(ret->values));
		memcpy(&ret->variables, (const uint8_t *)words + line + 4, sizeof(ret->variables));
	} else if (!python_bytes_find(&s->python, words[shape->bytes], &start, &ret->bytes)) {
		return false;
	}
	memcpy(&ret->first_line, (const uint8_t *)words + line, sizeof(ret->first_line));
	if (shape->lines == PYTHON_LINES_STEPS && has_ranges(s, ret))
		ret->lines = PYTHON_LINES_RANGES;
	ret->file = read_name(s, words[shape->file]);
	ret->function = ret->file ? read_name(s, words[shape->function]) : NULL;
	return ret->function;
}

/* The code at an address; NULL: none is there. */
static const struct python_code *code_at(struct python_stacks *s, uint64_t address)
{
	uint64_t words[CODE_WORDS];
	struct python_code code;
	if (!address || !is_called(s, address, "code"))
		return NULL;
	const uint32_t *known = python_known_find(&s->numbers, address);
	if (known)
		return *known ? &s->codes.data[*known - 1] : NULL;
	uint32_t *number = python_known_insert(&s->numbers, address, NULL);
	if (!number)
		return NULL;
	*number = 0;
	if (address_space_read(s->space, address, words, sizeof(words)) != sizeof(words))
		return NULL;
	for (unsigned i = 0; i < CODE_SHAPES; i++) {
		if (!read_code(s, &code_shapes[i], address, words, &code))
			continue;
		if (!python_codes_push(&s->codes, code))
			return NULL;
		*number = (uint32_t)s->codes.len;
		return &s->codes.data[s->codes.len - 1];
	}
	return NULL;
}

static uint32_t line_at(struct python_stacks *s, const struct python_code *code, uint64_t offset)
{
	_cleanup_free_ uint8_t *table = malloc(code->table_bytes + 1);
	if (!table || address_space_read(s->space, code->table, table, code->table_bytes) !=
			      code->table_bytes)
		return 0;
	return python_line(code->lines, table, (size_t)code->table_bytes, code->first_line, offset);
}

/* Whether a frame of this shape is there: its code is code, and the instruction is in it. */
static bool is_frame(struct python_stacks *s, const struct frame_shape *shape, uint64_t address)
{
	uint64_t words[FRAME_WORDS];
	if (address % 8 || !address ||
		address_space_read(s->space, address, words, sizeof(words)) != sizeof(words))
		return false;
	const struct python_code *code = code_at(s, words[shape->code] & ~MARKS);
	uint64_t into = code ? words[shape->instruction] - code->start : 0;
	/* The word before the first instruction stands for a frame that has not begun. */
	return code && code->start && (into < CODE_BYTES_MAX || into == -2ull);
}

/* Finds the innermost frame that a state leads to; *ret_shape: FRAME_SHAPES: it is an object. */
static bool find_frame(
	struct python_stacks *s, const uint64_t *state, uint64_t *ret, unsigned *ret_shape)
{
	for (unsigned i = STATE_FRAMES; i < STATE_FRAMES_END; i++) {
		/* A frame; or what points to it, as first or second word (3.12, 3.11). */
		uint64_t places[3] = {state[i], 0, 0};
		if (state[i] % 8 || !address_space_map(s->space, state[i]))
			continue;
		if (is_called(s, state[i], "frame")) {
			*ret = state[i];
			*ret_shape = FRAME_SHAPES;
			return true;
		}
		address_space_read(s->space, state[i], places + 1, 16);
		for (unsigned k = 0; k < 3; k++) {
			for (unsigned shape = 0; shape < FRAME_SHAPES; shape++) {
				if (!is_frame(s, &frame_shapes[shape], places[k]))
					continue;
				*ret = places[k];
				*ret_shape = shape;
				return true;
			}
		}
	}
	return false;
}

/* Whether the state of a thread is there, that is in Python. */
static bool is_state(struct python_stacks *s, uint64_t address, uint64_t thread)
{
	uint64_t words[STATE_WORDS], frame;
	unsigned shape;
	if (address % 8 || !address ||
		address_space_read(s->space, address, words, sizeof(words)) != sizeof(words))
		return false;
	for (unsigned i = STATE_NUMBER; i < STATE_WORDS; i++) {
		if (words[i] == thread)
			return find_frame(s, words, &frame, &shape);
	}
	return false;
}

static uint64_t find_in_words(
	struct python_stacks *s, const uint64_t *words, size_t count, uint64_t thread)
{
	for (size_t i = 0; i < count; i++) {
		const struct process_map *to =
			words[i] % 8 || !words[i] ? NULL : address_space_map(s->space, words[i]);
		if (to && to->writable && is_state(s, words[i], thread))
			return words[i];
	}
	return 0;
}

/* Looks for the state on the thread's stack, all of it: deep recursion may lie before it. */
static uint64_t find_on_stack(struct python_stacks *s, const struct address_thread *thread)
{
	const struct process_map *map = address_space_map(s->space, thread->sp);
	uint64_t start = thread->sp & ~7ull, end = map ? map->end : start;
	if (thread->thread_pointer > start && thread->thread_pointer < end)
		end = thread->thread_pointer & ~7ull;
	_cleanup_free_ uint64_t *words = malloc(PORTION_BYTES);
	if (!words || !thread->thread_pointer)
		return 0;
	for (uint64_t at = start; at < end; at += PORTION_BYTES) {
		at = address_space_next(s->space, at, end) & ~7ull;
		size_t bytes = end - at < PORTION_BYTES ? (size_t)(end - at) : PORTION_BYTES;
		size_t count = address_space_read(s->space, at, words, bytes) / 8;
		uint64_t state = find_in_words(s, words, count, thread->thread_pointer);
		if (state)
			return state;
	}
	return 0;
}

/* What a state's links lead to is of threads that have none yet. */
static void follow_links(struct python_stacks *s, uint64_t state)
{
	for (unsigned link = 0; link < STATE_LINKS; link++) {
		uint64_t at = state;
		for (unsigned i = 0; i < STATES_MAX; i++) {
			size_t thread = 0;
			if (!address_space_word(s->space, at + 8ul * link, &at) || !at)
				break;
			while (thread < s->states.len &&
				(s->states.data[thread] ||
					!is_state(s, at,
						s->space->threads.data[thread].thread_pointer)))
				thread++;
			if (thread == s->states.len)
				break;
			s->states.data[thread] = at;
		}
	}
}

struct error *python_stacks_open(const struct address_space *space, struct python_stacks *ret)
{
	*ret = (struct python_stacks){.space = space};
	struct error *error = python_find(space, &ret->python);
	if (error || !python_is_there(&ret->python))
		return error;
	for (size_t i = 0; i < space->threads.len; i++) {
		const struct address_thread *thread = &space->threads.data[i];
		uint64_t state = thread->stopped ? find_on_stack(ret, thread) : 0;
		if (!python_addresses_push(&ret->states, state))
			return error_no_memory();
	}
	for (size_t i = 0; i < ret->states.len; i++) {
		if (ret->states.data[i])
			follow_links(ret, ret->states.data[i]);
	}
	return NULL;
}

void python_stacks_close(struct python_stacks *stacks)
{
	python_close(&stacks->python);
	python_known_deinit(&stacks->numbers);
	python_codes_deinit(&stacks->codes);
	python_addresses_deinit(&stacks->states);
}

static bool python_frames_add_frame(struct python_stacks *s, const struct python_code *code,
	uint64_t offset, struct python_frames *ret)
{
	struct python_frame frame = {code->function, code->file, line_at(s, code, offset)};
	return python_frames_push(ret, frame);
}

static bool add_object(
	struct python_stacks *s, uint64_t address, struct python_frames *ret, uint64_t *ret_back)
{
	uint64_t words[OBJECT_WORDS];
	*ret_back = 0;
	if (!is_called(s, address, "frame") ||
		address_space_read(s->space, address, words, sizeof(words)) != sizeof(words))
		return true;
	*ret_back = words[OBJECT_BACK];
	const struct python_code *code = code_at(s, words[OBJECT_CODE]);
	if (!code)
		return true;
	uint64_t offset = (uint32_t)words[offset_word(code->lines, words)];
	bool pairs = code->lines == PYTHON_LINES_RANGES;
	/* One that has not begun: -1. */
	offset = offset == UINT32_MAX ? 0 : pairs ? 2 * offset : offset;
	return python_frames_add_frame(s, code, offset, ret);
}

/* Frames of the interpreter's own, where C calls Python, have no code of a file. */
static bool is_own(const struct python_code *code)
{
	return code->function[0] == '<' && !strcmp(code->file, "<shim>");
}

static bool python_frames_add_plain(struct python_stacks *s, const struct frame_shape *shape,
	uint64_t address, struct python_frames *ret, uint64_t *ret_back)
{
	uint64_t words[FRAME_WORDS];
	*ret_back = 0;
	if (address % 8 ||
		address_space_read(s->space, address, words, sizeof(words)) != sizeof(words))
		return true;
	*ret_back = words[shape->back];
	const struct python_code *code = code_at(s, words[shape->code] & ~MARKS);
	if (!code || is_own(code))
		return true;
	uint64_t into = words[shape->instruction] - code->start;
	return python_frames_add_frame(s, code, into < CODE_BYTES_MAX ? into : 0, ret);
}

/* What of a frame is unsure. False: `take` ends it. */
static bool take_unsure(const struct python_stacks *s, const struct python_code *code,
	uint64_t frame, bool (*take)(void *context, uint64_t start, uint64_t end), void *context)
{
	int32_t top;
	if (!code || code->variables > FRAME_VALUES_MAX || code->values > FRAME_VALUES_MAX ||
		address_space_read(s->space, frame + 8ul * FRAME_TOP, &top, sizeof(top)) !=
			sizeof(top))
		return true;
	uint32_t end = code->variables + code->values;
	uint32_t from = top == -1 ? code->variables : (uint32_t)top;
	/* What has another look has other numbers there. */
	if (from < code->variables || from > end)
		return true;
	uint64_t values = frame + 8ul * FRAME_VALUES;
	return from == end || take(context, values + 8ul * from, values + 8ul * end);
}

bool python_stack_each_unsure(struct python_stacks *stacks, size_t thread,
	bool (*take)(void *context, uint64_t start, uint64_t end), void *context)
{
	struct python_stacks *s = stacks;
	uint64_t words[STATE_WORDS], frame[FRAME_WORDS], at;
	unsigned shape;
	if (thread >= s->states.len || !s->states.data[thread] ||
		address_space_read(s->space, s->states.data[thread], words, sizeof(words)) !=
			sizeof(words) ||
		!find_frame(s, words, &at, &shape) || shape == FRAME_SHAPES)
		return true;
	for (unsigned i = 0; at && at % 8 == 0 && i < 2 * PYTHON_FRAMES_MAX; i++) {
		if (address_space_read(s->space, at, frame, sizeof(frame)) != sizeof(frame))
			break;
		const struct python_code *code =
			code_at(s, frame[frame_shapes[shape].code] & ~MARKS);
		if (!take_unsure(s, code, at, take, context))
			return false;
		at = frame[frame_shapes[shape].back];
	}
	return true;
}

struct error *python_stack_make(
	struct python_stacks *stacks, size_t thread, struct python_frames *ret)
{
	uint64_t words[STATE_WORDS], at;
	unsigned shape;
	ret->len = 0;
	if (thread >= stacks->states.len || !stacks->states.data[thread] ||
		address_space_read(stacks->space, stacks->states.data[thread], words,
			sizeof(words)) != sizeof(words) ||
		!find_frame(stacks, words, &at, &shape))
		return NULL;
	bool ok = true;
	for (unsigned i = 0; ok && at && i < 2 * PYTHON_FRAMES_MAX && ret->len < PYTHON_FRAMES_MAX;
		i++)
		ok = shape == FRAME_SHAPES
			     ? add_object(stacks, at, ret, &at)
			     : python_frames_add_plain(stacks, &frame_shapes[shape], at, ret, &at);
	return ok ? NULL : error_no_memory();
}
