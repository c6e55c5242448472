/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program says which blocks are no leaks, in any thread. May touch: the runtime.
 *
 * What HeapLeakChecker of gperftools/heap-checker.h has for that, by its C++ names: such blocks are
 * no leaks for heapwise either. The other functions of that class: leak_checker.c.
 */
#include <stddef.h>
#include <stdint.h>

#include "format/shm.h"

#define API __attribute__((visibility("default")))

/* The runtime's, see preload/lsan_bridge.h. */
extern void heapwise_rt_lsan_annotate(enum hw_annotation what, const void *address, size_t bytes)
	__attribute__((weak));

/* static void HeapLeakChecker::DoIgnoreObject(const void *), which IgnoreObject() calls. */
void _ZN15HeapLeakChecker14DoIgnoreObjectEPKv(const void *object);
/* static void HeapLeakChecker::UnIgnoreObject(const void *). */
void _ZN15HeapLeakChecker14UnIgnoreObjectEPKv(const void *object);
/* HeapLeakChecker::Disabler::Disabler(), ~Disabler(), each under two names. */
void _ZN15HeapLeakChecker8DisablerC1Ev(void *self);
void _ZN15HeapLeakChecker8DisablerC2Ev(void *self);
void _ZN15HeapLeakChecker8DisablerD1Ev(void *self);
void _ZN15HeapLeakChecker8DisablerD2Ev(void *self);

static __thread unsigned disabled __attribute__((tls_model("initial-exec")));

static void annotate_memory(enum hw_annotation what, const void *address)
{
	if (heapwise_rt_lsan_annotate)
		heapwise_rt_lsan_annotate(what, address, 0);
}

API void _ZN15HeapLeakChecker14DoIgnoreObjectEPKv(const void *object)
{
	annotate_memory(HW_ANNOTATE_IGNORE, object);
}

API void _ZN15HeapLeakChecker14UnIgnoreObjectEPKv(const void *object)
{
	annotate_memory(HW_ANNOTATE_IGNORE_END, object);
}

API void _ZN15HeapLeakChecker8DisablerC1Ev(void *self)
{
	(void)self;
	if (!disabled++)
		annotate_memory(HW_ANNOTATE_DISABLE, NULL);
}

API void _ZN15HeapLeakChecker8DisablerD1Ev(void *self)
{
	(void)self;
	if (disabled && !--disabled)
		annotate_memory(HW_ANNOTATE_ENABLE, NULL);
}

API void _ZN15HeapLeakChecker8DisablerC2Ev(void *self)
{
	_ZN15HeapLeakChecker8DisablerC1Ev(self);
}

API void _ZN15HeapLeakChecker8DisablerD2Ev(void *self)
{
	_ZN15HeapLeakChecker8DisablerD1Ev(self);
}
