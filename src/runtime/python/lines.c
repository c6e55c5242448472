/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when, may touch: see lines.h. */
#include "runtime/python/lines.h"
#include "format/status.h"
#include "runtime/core/sys.h"
#include "runtime/preload/events.h"
#include "runtime/preload/real.h"

#include <string.h>

/* What a trace function is called for: CPython, Include/cpython/pystate.h. */
enum trace_event {
	TRACE_CALL = 0,
	TRACE_LINE = 2,
	TRACE_RETURN = 3,
};

/* As CPython declares them; an object is only handed on. */
static struct {
	void (*set_trace)(
		int (*function)(void *, void *, int, void *), void *object); /* PyEval_SetTrace */
	int (*line)(void *frame);                          /* PyFrame_GetLineNumber */
	int (*set)(void *object, void *name, void *value); /* PyObject_SetAttr */
	void *(*text)(const char *text);                   /* PyUnicode_InternFromString */
	void *(*get)(void *object, const char *name);      /* PyObject_GetAttrString */
	void *(*item)(void *tuple, long index);            /* PyTuple_GetItem, borrowed */
	void *(*truth)(long value);                        /* PyBool_FromLong */
	void *(*import)(const char *name);                 /* PyImport_ImportModule */
	void *(*function)(void *definition, void *self, void *module); /* PyCFunction_NewEx */
	void *(*call)(void *callable, ...); /* PyObject_CallFunctionObjArgs */
	void (*inc)(void *object);          /* Py_IncRef */
	void (*dec)(void *object);          /* Py_DecRef, also NULL */
	void (*clear)(void);                /* PyErr_Clear */
} api;

static const struct {
	void *at;
	const char *name;
} functions[] = {
	{&api.set_trace, "PyEval_SetTrace"},
	{&api.line, "PyFrame_GetLineNumber"},
	{&api.set, "PyObject_SetAttr"},
	{&api.text, "PyUnicode_InternFromString"},
	{&api.get, "PyObject_GetAttrString"},
	{&api.item, "PyTuple_GetItem"},
	{&api.truth, "PyBool_FromLong"},
	{&api.import, "PyImport_ImportModule"},
	{&api.function, "PyCFunction_NewEx"},
	{&api.call, "PyObject_CallFunctionObjArgs"},
	{&api.inc, "Py_IncRef"},
	{&api.dec, "Py_DecRef"},
	{&api.clear, "PyErr_Clear"},
};

static bool is_complete;
static void *none, *lines_name, *no; /* None, "f_trace_lines", False */

/* Of codes: whether their function is one of those asked for. Under the interpreter's lock. */
#define VERDICTS 1024u
static struct verdict {
	uint64_t code;
	uint64_t deaths; /* rt_python.deaths then: none was freed since */
	uint32_t row;    /* 0: it is not */
} verdicts[VERDICTS];

void rt_python_lines_prepare(const struct link_map *object)
{
	is_complete = true;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = rt_real_in(object, functions[i].name);
		memcpy(functions[i].at, &found, sizeof(found));
		is_complete &= found != NULL;
	}
}

/* Whether the name is one of those in a list with commas. */
static bool list_has(const char *list, size_t size, const char *name, uint32_t bytes)
{
	bool same = true;
	uint32_t at = 0;
	for (size_t i = 0; i < size; i++) {
		bool ends = !list[i] || list[i] == ',';
		if (ends && same && at == bytes)
			return true;
		if (!list[i])
			break;
		same = ends || (same && at < bytes && list[i] == name[at]);
		at = ends ? 0 : at + 1;
	}
	return false;
}

/* Whether the function is asked for, by its name or the part after its last dot. */
static bool is_wanted(const struct rt_process *p, const struct hw_code *code)
{
	const char *name = p->codes.bytes + code->name.offset;
	uint32_t bytes = code->name.bytes, plain = bytes;
	while (plain && name[plain - 1] != '.')
		plain--;
	const struct hw_shm *shm = p->shm;
	return list_has(shm->traced, sizeof(shm->traced), name, bytes) ||
	       list_has(shm->traced, sizeof(shm->traced), name + plain, bytes - plain);
}

/* The row of a code whose lines are traced; 0: they are not. */
static uint32_t traced_row(struct rt_process *p, uint64_t code)
{
	uint64_t deaths = __atomic_load_n(&rt_python.deaths, __ATOMIC_RELAXED);
	struct verdict *v = &verdicts[(code >> 4) * 0x9e3779b97f4a7c15ull >> 54];
	bool is_known = v->code == code && v->deaths == deaths;
	if (is_known && !v->row)
		return 0;
	if (!__atomic_load_n(&p->codes.rows, __ATOMIC_ACQUIRE) && !rt_python_open(p))
		return 0;
	/* A forked child, and a recording in another mode, have a table of their own. */
	if (is_known && v->row < __atomic_load_n(&p->shm->codes, __ATOMIC_ACQUIRE) &&
		p->codes.rows[v->row].key[0] == code)
		return v->row;
	uint32_t row = rt_codes_row(&p->codes, rt_python.layout, code);
	if (!row)
		return 0;
	*v = (struct verdict){code, deaths, row};
	if (row == RT_CODE_FULL || !is_wanted(p, &p->codes.rows[row]))
		v->row = 0;
	return v->row;
}

/* Resident pages of the process, without memory that it shares with others (rings are, too); 0: not
 * known. */
static uint64_t resident_pages(void)
{
	char text[HW_STATUS_BYTES];
	if (sys_no_calls())
		return 0;
	long fd = sys_call4(
		__NR_openat, -100 /* AT_FDCWD */, "/proc/self/status", 0x80000 /* O_CLOEXEC */, 0);
	if (fd < 0)
		return 0;
	long bytes = sys_call(__NR_read, fd, text, sizeof(text));
	sys_call(__NR_close, fd, 0, 0);
	size_t length = bytes > 0 ? (size_t)bytes : 0;
	return (hw_status_bytes(text, length, "\nRssAnon:") +
		       hw_status_bytes(text, length, "\nRssFile:")) /
	       4096;
}

static inline uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* The code of the calling thread's frame; 0: it has none. Frames were compared before, and the one
 * that is traced is in use. */
static uint64_t code_in_use(const struct rt_python_layout *l)
{
	uint64_t frame = rt_python.thread();
	if (frame)
		frame = word_at(frame + l->thread_frame);
	if (frame && l->has_cframe)
		frame = word_at(frame + l->cframe_frame);
	while (frame && l->shim && *(const uint8_t *)(frame + l->owner) >= l->shim)
		frame = word_at(frame + l->previous);
	return frame ? word_at(frame + l->code) & ~3ull : 0;
}

static int frame_trace(__attribute__((unused)) void *object, void *frame, int what,
	__attribute__((unused)) void *argument)
{
	struct rt_process *p = rt_process;
	if ((what != TRACE_CALL && what != TRACE_LINE && what != TRACE_RETURN) ||
		!rt_process_is_recording(p) || !rt_python.has_frames)
		return 0;
	uint64_t code = code_in_use(rt_python.layout);
	uint32_t row = code ? traced_row(p, code) : 0;
	if (!row) {
		if (what != TRACE_RETURN && api.set(frame, lines_name, no) != 0)
			api.clear();
		return 0;
	}
	uint32_t line = (uint32_t)api.line(frame);
	enum hw_traced at = what == TRACE_LINE                      ? HW_TRACED_LINE
			    : what == TRACE_RETURN                  ? HW_TRACED_RETURN
			    : line == p->codes.rows[row].first_line ? HW_TRACED_CALL
								    : HW_TRACED_RESUME;
	rt_event_annotate(HW_ANNOTATE_LINE, (uint64_t)row << 32 | line,
		resident_pages() << HW_TRACED_BITS | at, (uint64_t)__builtin_frame_address(0));
	return 0;
}

/* Called in place of a thread's first trace function, with (frame, "call", None). */
static void *thread_begins(__attribute__((unused)) void *self, void *arguments)
{
	void *frame = api.item(arguments, 0);
	api.clear();
	api.set_trace(frame_trace, NULL);
	if (frame)
		frame_trace(NULL, frame, TRACE_CALL, NULL);
	api.inc(none);
	return none;
}

/* PyMethodDef; flags: METH_VARARGS. */
static struct {
	const char *name;
	void *(*function)(void *self, void *arguments);
	int flags;
	const char *doc;
} thread_function = {"heapwise_trace", thread_begins, 1, NULL};

/* Threads that Python starts call this function first. */
static void threads_trace(void)
{
	void *module = api.import("threading");
	void *set = module ? api.get(module, "settrace") : NULL;
	void *function = set ? api.function(&thread_function, NULL, NULL) : NULL;
	void *result = function ? api.call(set, function, NULL) : NULL;
	api.dec(result);
	api.dec(function);
	api.dec(set);
	api.dec(module);
	api.clear();
}

bool rt_python_lines_begin(void *its_none)
{
	if (!is_complete || !its_none)
		return false;
	none = its_none;
	lines_name = api.text("f_trace_lines");
	no = api.truth(0);
	if (!lines_name || !no) {
		api.clear();
		return false;
	}
	threads_trace();
	api.set_trace(frame_trace, NULL);
	return true;
}
