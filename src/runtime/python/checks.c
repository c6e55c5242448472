/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: once, in the interpreter's main thread, between two instructions of Python code: with
 * its lock. May touch: the interpreter, by its public functions.
 *
 * Frames are compared with what the interpreter says of them. Our side reads nothing that it has
 * not asked the kernel about.
 */
#include "runtime/preload/events.h"
#include "runtime/preload/real.h"
#include "runtime/python/lines.h"
#include "runtime/python/python.h"

#include <string.h>

/* As CPython declares them; an object is only handed on. */
static struct {
	void *(*get_frame)(void);                            /* PyEval_GetFrame, borrowed */
	void *(*get)(void *object, const char *name);        /* PyObject_GetAttrString */
	long (*as_long)(void *object);                       /* PyLong_AsLong */
	const char *(*as_text)(void *object);                /* PyUnicode_AsUTF8 */
	void (*inc)(void *object);                           /* Py_IncRef */
	void (*dec)(void *object);                           /* Py_DecRef, also NULL */
	void (*fetch)(void **type, void **value, void **at); /* PyErr_Fetch */
	void (*restore)(void *type, void *value, void *at);  /* PyErr_Restore */
	void (*clear)(void);                                 /* PyErr_Clear */
	void *(*import)(const char *name);                   /* PyImport_ImportModule */
	void *(*function)(void *definition, void *self, void *module); /* PyCFunction_NewEx */
	void *(*call)(void *callable, ...); /* PyObject_CallFunctionObjArgs */
	void *none;
} api;

static const struct {
	void *at;
	const char *name;
} functions[] = {
	{&api.get_frame, "PyEval_GetFrame"},
	{&api.get, "PyObject_GetAttrString"},
	{&api.as_long, "PyLong_AsLong"},
	{&api.as_text, "PyUnicode_AsUTF8"},
	{&api.inc, "Py_IncRef"},
	{&api.dec, "Py_DecRef"},
	{&api.fetch, "PyErr_Fetch"},
	{&api.restore, "PyErr_Restore"},
	{&api.clear, "PyErr_Clear"},
	{&api.import, "PyImport_ImportModule"},
	{&api.function, "PyCFunction_NewEx"},
	{&api.call, "PyObject_CallFunctionObjArgs"},
};

static bool is_complete;

bool rt_python_check_prepare(const struct link_map *object)
{
	is_complete = true;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = rt_real_in(object, functions[i].name);
		memcpy(functions[i].at, &found, sizeof(found));
		is_complete &= found != NULL;
	}
	rt_python_lines_prepare(object);
	return is_complete;
}

/* The attribute as a number; -2: it is none. */
static long number_of(void *object, const char *name)
{
	void *value = api.get(object, name);
	long number = value ? api.as_long(value) : -2;
	api.dec(value);
	api.clear();
	return number;
}

/* Whether an attribute of a code object is the object that it has at an offset. */
static bool is_at(void *code, const char *name, uint64_t offset)
{
	uint64_t word = 0;
	void *value = api.get(code, name);
	bool same =
		value && rt_python_peek((uint64_t)code + offset, &word) && word == (uint64_t)value;
	api.dec(value);
	api.clear();
	return same;
}

/* Whether the text of a str is where we expect it. */
static bool text_is_at(const struct rt_python_layout *l, void *code, const char *name)
{
	void *value = api.get(code, name);
	const char *text = value ? api.as_text(value) : NULL;
	uint64_t at = (uint64_t)value, length = 0, state = 0, first = 0;
	bool same = text && rt_python_peek(at + RT_PYTHON_SIZE, &length) &&
		    rt_python_peek(at + RT_PYTHON_STATE, &state);
	/* Of an ASCII one the interpreter gives its own memory. */
	if (same && state & 1u << 6)
		same = (uint64_t)text == at + l->ascii && strnlen(text, length + 1) == length &&
		       rt_python_peek(at + l->ascii, &first);
	api.dec(value);
	api.clear();
	return same;
}

/* Whether the table of lines is a bytes object as we expect it: with a zero after its data. */
static bool lines_are_bytes(const struct rt_python_layout *l, void *code)
{
	uint64_t object = 0, bytes = 0, last = 0;
	return rt_python_peek((uint64_t)code + l->lines, &object) &&
	       rt_python_peek(object + RT_PYTHON_SIZE, &bytes) && bytes <= HW_CODE_TABLE_MAX &&
	       rt_python_peek(object + RT_PYTHON_BYTES + bytes, &last) && !(last & 0xff);
}

static bool same_code(const struct rt_python_layout *l, void *code)
{
	uint64_t first = 0;
	return is_at(code, "co_filename", l->file) &&
	       is_at(code, l->minor >= 11 ? "co_qualname" : "co_name", l->name) &&
	       is_at(code, l->minor >= 10 ? "co_linetable" : "co_lnotab", l->lines) &&
	       rt_python_peek((uint64_t)code + l->first_line, &first) &&
	       (long)(int32_t)first == number_of(code, "co_firstlineno") &&
	       text_is_at(l, code, "co_name") && text_is_at(l, code, "co_filename") &&
	       lines_are_bytes(l, code);
}

/* Whether our frame is the interpreter's `frame`. */
static bool same_frame(
	const struct rt_python_layout *l, const struct rt_python_frame *ours, void *frame)
{
	void *code = api.get(frame, "f_code");
	long at = number_of(frame, "f_lasti");
	bool same = code && (uint64_t)code == ours->code &&
		    (at == ours->instruction || (at < 0 && ours->instruction < 0)) &&
		    same_code(l, code);
	api.dec(code);
	return same;
}

/* Compares the whole chain. */
static bool same_chain(const struct rt_python_layout *l)
{
	struct rt_python_frame ours = {.at = 0};
	uint64_t thread = rt_python.thread();
	void *frame = api.get_frame();
	if (!frame || !thread)
		return false;
	api.inc(frame);
	bool same = true;
	while (same && frame) {
		same = rt_python_frame_next(l, thread, &ours) && same_frame(l, &ours, frame);
		void *outer = api.get(frame, "f_back");
		api.clear();
		/* Of the outermost frame None, which has no code. */
		void *code = outer ? api.get(outer, "f_code") : NULL;
		api.clear();
		api.dec(frame);
		frame = outer;
		if (!code) {
			api.dec(frame);
			frame = NULL;
		}
		api.dec(code);
	}
	api.dec(frame);
	return same && !rt_python_frame_next(l, thread, &ours);
}

static void *mark_exit(__attribute__((unused)) void *self, void *arguments)
{
	static const char name[] = "python-exit";
	uint64_t words[HW_MARK_NAME_WORDS] = {0};
	memcpy(words, name, sizeof(name) - 1);
	rt_event_mark(sizeof(name) - 1, words, (uint64_t)__builtin_frame_address(0));
	(void)arguments;
	api.inc(api.none);
	return api.none;
}

/* PyMethodDef; flags: METH_NOARGS. */
static struct {
	const char *name;
	void *(*function)(void *self, void *arguments);
	int flags;
	const char *doc;
} exit_function = {"heapwise_python_exit", mark_exit, 4, NULL};

/* The first that is registered is called last. */
static bool register_exit(void)
{
	void *module = api.import("atexit");
	void *add = module ? api.get(module, "register") : NULL;
	void *function = add ? api.function(&exit_function, NULL, NULL) : NULL;
	void *result = function ? api.call(add, function, NULL) : NULL;
	bool done = result != NULL;
	api.dec(result);
	api.dec(function);
	api.dec(add);
	api.dec(module);
	api.clear();
	return done;
}

/* None, as a function gets it: the interpreter's own is no function. */
static void learn_none(void)
{
	void *frame = api.get_frame();
	void *trace = frame ? api.get(frame, "f_trace") : NULL;
	api.clear();
	api.none = trace;
}

int rt_python_check(__attribute__((unused)) void *argument)
{
	if (!rt_python.unsettled || !is_complete) {
		rt_python_settled(rt_python.layout ? HW_NOTE_PYTHON_UNKNOWN : 0);
		return 0;
	}
	void *type = NULL, *value = NULL, *at = NULL;
	api.fetch(&type, &value, &at);
	uint32_t notes = 0;
	if (rt_python.layout) {
		bool same = same_chain(rt_python.layout);
		rt_python.has_frames = same;
		notes = same ? HW_NOTE_PYTHON_FRAMES : HW_NOTE_PYTHON_DIFFERS;
	}
	learn_none();
	if (api.none)
		register_exit();
	if (rt_python.has_frames && rt_process_is_recording(rt_process) &&
		rt_process->shm->traced[0] && rt_python_lines_begin(api.none))
		notes |= HW_NOTE_PYTHON_LINES;
	api.restore(type, value, at);
	rt_python_settled(notes);
	return 0;
}
