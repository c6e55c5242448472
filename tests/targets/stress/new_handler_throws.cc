/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * koute/bytehound#119 (exceptions through its trampoline leak): operator new fails, its handler
 * allocates and throws, through the recorder's own frame.
 */
#include "stress.h"
#include <new>

TRUTH_SITE(site_in_new_handler)

struct mine {
};

static void handler()
{
	truth_free(site_in_new_handler(163));
	throw mine();
}

static void *body(void *argument)
{
	volatile size_t huge = PTRDIFF_MAX;
	for (int i = 0; i < 20; i++) {
		try {
			::operator delete(::operator new(huge - 64));
			truth_need(0, "new");
		} catch (mine &) {
		}
		try {
			::operator delete(::operator new(huge - 64, std::nothrow));
		} catch (mine &) {
			truth_need(0, "nothrow");
		}
		try {
			::operator delete(::operator new(huge - 4096, std::align_val_t(64)),
				std::align_val_t(64));
			truth_need(0, "aligned new");
		} catch (mine &) {
		}
	}
	return argument;
}

int main()
{
	std::set_new_handler(handler);
	stress_threads(4, body, nullptr);
	truth_say("# expect: site=site_in_new_handler allocations=%lu",
		(unsigned long)truth_of_site_in_new_handler.allocations);
	truth_say("# end");
	return 0;
}
