/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays of structures: behind their number, with less room than elements and with more, with NULL
 * where other elements have pointers. */
#include <malloc.h>
#include <new>

#include "account.h"

ACCOUNT_DEFINE;

namespace
{

struct Pod {
	int number;
	short kind;
	char name[6];
};
struct Wide {
	long first, second;
};
struct Pair {
	char *name;
	long number;
};
struct Counted {
	long value;
	char *text;
	~Counted()
	{
		asm volatile("");
	}
};
struct Virtual {
	virtual ~Virtual() = default;
	long number = 7;
};
/* Behind 16 bytes; with a pointer that is no multiple of 8. */
static uint64_t characters[2];
struct Ending {
	virtual ~Ending() = default;
	const char *end = reinterpret_cast<const char *>(characters) + 3;
	long double wide = 1;
};
/* No array: a member of the type behind a number. */
struct Behind {
	long count;
	Wide wide;
	long more[4];
};

} // namespace

static Pod *pods[8], *allocated;
static Wide *wides[8];
static Pair *pairs[8];
static Counted *counted[8];
static Virtual *virtuals;
static Ending *endings;
static Wide *inside;

static const char *next_type;

void *operator new[](size_t size)
{
	void *block = calloc(1, size);
	if (!block)
		throw std::bad_alloc();
	account(block, size, 'r', next_type);
	return block;
}
void operator delete[](void *) noexcept
{
}
void operator delete[](void *, size_t) noexcept
{
}

/* A block that had pointers to the last word, as stale as what malloc gives. */
static void *stale(size_t size)
{
	static void *kept;
	void **old = static_cast<void **>(malloc(size));
	kept = kept ? kept : malloc(48);
	for (size_t i = size / 8 - 1; i < malloc_usable_size(old) / 8; i++)
		old[i] = kept;
	return old;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	for (unsigned i = 0; i < 8; i++) {
		unsigned count = 7 + i;
		next_type = "(anonymous namespace)::Pod[]";
		pods[i] = new Pod[count]();
		next_type = "(anonymous namespace)::Pair[]";
		pairs[i] = new Pair[count]();
		/* Not the first ones. */
		pairs[i][0].name = static_cast<char *>(malloc(20));
		pairs[i][3].name = static_cast<char *>(malloc(20));
		next_type = "(anonymous namespace)::Counted[] with their number";
		counted[i] = new Counted[count]();
		for (unsigned k = 0; k < count; k++)
			counted[i][k].value = 100 + k;
		counted[i][1].text = static_cast<char *>(malloc(20));
		wides[i] = static_cast<Wide *>(stale(count * sizeof(Wide)));
		for (unsigned k = 0; k < count; k++)
			wides[i][k] = Wide{k, -1};
		account(wides[i], count * sizeof(Wide), 'r', "(anonymous namespace)::Wide[]");
	}
	allocated = static_cast<Pod *>(malloc(7 * sizeof(Pod)));
	memset(allocated, 0, 7 * sizeof(Pod));
	account(allocated, 7 * sizeof(Pod), 'r', "(anonymous namespace)::Pod[]");
	next_type = "(anonymous namespace)::Virtual[] with their number";
	virtuals = new Virtual[5];
	next_type = "(anonymous namespace)::Ending[] with their number";
	endings = new Ending[2];
	Behind *behind = static_cast<Behind *>(calloc(1, sizeof(Behind)));
	behind->count = 2;
	inside = &behind->wide;
	account(behind, sizeof(*behind), 'p', "?");
	account_end();
	return !pods[0] || !wides[0] || !pairs[0] || !counted[0] || !virtuals || !endings ||
	       !inside || !allocated;
}
