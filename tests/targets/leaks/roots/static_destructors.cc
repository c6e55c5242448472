// SPDX-License-Identifier: GPL-2.0-or-later
/* Static objects are destroyed at exit: what their destructors free is not there by default, what
 * they forget is lost, and what nobody destroys is reachable. At the end of main everything is
 * still held. */
#include "leaks.h"
#include <new>

LEAK_ROLE_AS(freed_by_destructor, (size_t bytes), bytes, operator new(bytes))
LEAK_ROLE_AS(forgotten_by_destructor, (size_t bytes), bytes, operator new(bytes))
LEAK_ROLE_AS(freed_by_local, (size_t bytes), bytes, operator new(bytes))
LEAK_ROLE_AS(never_destroyed, (size_t bytes), bytes, operator new(bytes))

struct owner {
	void *volatile freed = nullptr;
	void *volatile forgotten = nullptr;
	~owner()
	{
		operator delete(freed);
		freed = forgotten = nullptr;
		leak_scrub();
	}
};

static owner of_program;
LEAK_ROLE_AS(singleton_object, (), sizeof(owner), new owner())
static owner *const singleton = (owner *)singleton_object();

TRUTH_FRAME static owner &local()
{
	static owner object;
	return object;
}

TRUTH_FRAME static void story()
{
	of_program.freed = freed_by_destructor(216);
	of_program.forgotten = forgotten_by_destructor(232);
	local().freed = freed_by_local(248);
	singleton->freed = never_destroyed(264);
}

int main()
{
	story();
	LEAKS_GONE(freed_by_destructor);
	LEAKS_GONE(freed_by_local);
	LEAKS_ARE(LEAK_DEFINITE, forgotten_by_destructor);
	LEAKS_ARE(LEAK_REACHABLE, never_destroyed);
	LEAKS_ARE(LEAK_REACHABLE, singleton_object);
	leaks_with("--leak-check-at=main-end");
	LEAKS_ARE(LEAK_REACHABLE, freed_by_destructor);
	LEAKS_ARE(LEAK_REACHABLE, freed_by_local);
	LEAKS_ARE(LEAK_REACHABLE, forgotten_by_destructor);
	LEAKS_ARE(LEAK_REACHABLE, never_destroyed);
	LEAKS_ARE(LEAK_REACHABLE, singleton_object);
	leaks_end();
	return 0;
}
