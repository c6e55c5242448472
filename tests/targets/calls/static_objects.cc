/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of static storage: constructors before main allocate, destructors after it free. */
#include "truth.h"
#include <string>

TRUTH_SITE_AS(site_constructor, (size_t bytes), bytes, ::operator new(bytes))
TRUTH_SITE_AS(site_destructor, (size_t bytes), bytes, ::operator new(bytes))
TRUTH_SITE_AS(site_kept, (size_t bytes), bytes, ::operator new(bytes))

static void end(void *block)
{
	truth_died(truth_tag_of(block), 0);
	::operator delete(block);
}

struct holder {
	void *block;
	explicit holder(size_t bytes) : block(site_constructor(bytes))
	{
		site_kept(21);
	}
	~holder()
	{
		end(block);
		end(site_destructor(331));
	}
};

/* The first one constructed is destroyed last. */
static struct last_word {
	~last_word()
	{
		truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	}
} last_word;

static holder first(5001);
static holder second(5003);

int main()
{
	static holder inside(5005);
	site_kept(23);
	return 0;
}
