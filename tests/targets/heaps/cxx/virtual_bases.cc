/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes with virtual bases: directly, of bases, in diamonds, of bases that are virtual
 * themselves; with members that point to what nothing else declares. */
#include <new>

#include "account.h"

ACCOUNT_DEFINE;

namespace zoo
{

struct Ground {
	virtual ~Ground() = default;
	long ground = 11;
	char *soil;
};
struct Left : virtual Ground {
	long left = 22;
};
struct Right : virtual Ground {
	long right = 33;
};
/* Both have the same ground. */
struct Diamond : Left, Right {
	long both = 44;
};
/* A virtual base that has one itself, and nothing of its own before. */
struct Deep : virtual Diamond {
	int deep = 55;
};
/* Without virtual functions: the table is there for the base alone. */
struct Bare {
	long bare = 66;
	char *more;
};
struct OnBare : virtual Bare {
	long on = 77;
};
/* The object is a member; where its base lies does not depend on who has it. */
struct Holder {
	Right object;
	long behind;
};

} // namespace zoo

using namespace zoo;

static Ground *grounds[8];
static OnBare *bare;
static Right *right;
static Holder *holder;

static char *text_of(const char *text)
{
	char *copy = static_cast<char *>(malloc(200));
	strcpy(copy, text);
	account(copy, 200, 'r', "char[]");
	return copy;
}

template <class T> static T *made(const char *type)
{
	T *object = new T;
	account(object, sizeof(T), 'r', type);
	object->soil = text_of(type);
	return object;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	grounds[0] = made<Left>("zoo::Left");
	grounds[1] = right = made<Right>("zoo::Right");
	grounds[2] = made<Diamond>("zoo::Diamond");
	grounds[3] = made<Diamond>("zoo::Diamond");
	grounds[4] = made<Deep>("zoo::Deep");
	grounds[5] = made<Ground>("zoo::Ground");
	bare = new OnBare;
	account(bare, sizeof(OnBare), 'r', "zoo::OnBare");
	bare->more = text_of("bare");
	holder = new Holder;
	account(holder, sizeof(Holder), 'r', "zoo::Holder");
	holder->object.soil = text_of("held");
	holder->behind = 88;
	account_end();
	return !grounds[0] || !bare || !right || !holder;
}
