/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program loads a library, any thread. May touch: the process, next definitions.
 *
 * A library that is loaded with RTLD_DEEPBIND looks for malloc among its own libraries first, one
 * that is loaded into another namespace (dlmopen) there alone: both find libc's, and no library can
 * interpose it. To take the flag away, as others do, changes what else the library finds. So this
 * is left as it is, and noted.
 *
 * dlopen must see its real caller, whose search path and namespace it takes: the hooks are in
 * assembly and jump on, with stack and arguments as they were.
 */
#include "runtime/preload/hooks.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"

#include <dlfcn.h>
#include <stddef.h>

static void note_namespace(bool apart, int mode)
{
	if (!rt_real.dlopen)
		rt_real_resolve();
	if (apart && !(mode & RTLD_NOLOAD))
		rt_process_note(HW_NOTE_APART);
}

/* From the assembly below. */
void rt_watched_dlopen(const char *file, int mode);
__attribute__((used)) void rt_watched_dlopen(__attribute__((unused)) const char *file, int mode)
{
	note_namespace(mode & RTLD_DEEPBIND, mode);
}

void rt_watched_dlmopen(Lmid_t namespace, const char *file, int mode);
__attribute__((used)) void rt_watched_dlmopen(
	Lmid_t namespace, __attribute__((unused)) const char *file, int mode)
{
	note_namespace(namespace != LM_ID_BASE || mode & RTLD_DEEPBIND, mode);
}

/* Three words keep the stack aligned for the call (AMD64 ABI 1.0, 3.2.2). */
#define DEFINE_WATCHED(name, ...)                                                                  \
	HOOK __attribute__((naked)) void *name(__VA_ARGS__)                                        \
	{                                                                                          \
		__asm__("push %%rdi\n push %%rsi\n push %%rdx\n"                                   \
			"call rt_watched_" #name "\n"                                              \
			"pop %%rdx\n pop %%rsi\n pop %%rdi\n"                                      \
			"jmp *rt_real+%c0(%%rip)\n" ::"i"(offsetof(struct rt_real, name)));        \
	}

DEFINE_WATCHED(dlopen, __attribute__((unused)) const char *file, __attribute__((unused)) int mode)
DEFINE_WATCHED(dlmopen, __attribute__((unused)) Lmid_t namespace,
	__attribute__((unused)) const char *file, __attribute__((unused)) int mode)
