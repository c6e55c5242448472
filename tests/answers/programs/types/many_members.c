/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A structure and an enumeration of 70,000 members each, and one more: what is behind the others
 * counts as they do. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TIMES10(x, p)                                                                              \
	x(p##0) x(p##1) x(p##2) x(p##3) x(p##4) x(p##5) x(p##6) x(p##7) x(p##8) x(p##9)
#define MEMBER(p) short p;
#define MEMBERS10(p) TIMES10(MEMBER, p)
#define VALUE(p) p,
#define VALUES10(p) TIMES10(VALUE, p)
/* The same macro can't be expanded inside of itself. */
#define AGAIN10(x, p)                                                                              \
	x(p##0) x(p##1) x(p##2) x(p##3) x(p##4) x(p##5) x(p##6) x(p##7) x(p##8) x(p##9)
#define MEMBERS100(p) AGAIN10(MEMBERS10, p)
#define VALUES100(p) AGAIN10(VALUES10, p)
#define MORE10(x, p) x(p##0) x(p##1) x(p##2) x(p##3) x(p##4) x(p##5) x(p##6) x(p##7) x(p##8) x(p##9)
#define MEMBERS1000(p) MORE10(MEMBERS100, p)
#define VALUES1000(p) MORE10(VALUES100, p)
#define MOST10(x, p) x(p##0) x(p##1) x(p##2) x(p##3) x(p##4) x(p##5) x(p##6) x(p##7) x(p##8) x(p##9)
#define MEMBERS10000(p) MOST10(MEMBERS1000, p)
#define VALUES10000(p) MOST10(VALUES1000, p)
#define TIMES7(x, p) x(p##a) x(p##b) x(p##c) x(p##d) x(p##e) x(p##f) x(p##g)

enum state { TIMES7(VALUES10000, VALUE_) VALUE_BEHIND };
struct record {
	enum state state;
	struct record *next;
};
struct wide {
	TIMES7(MEMBERS10000, member_)
	struct record *behind;
};

static struct wide *wide;

int main(void)
{
	wide = calloc(1, sizeof(*wide));
	wide->behind = calloc(1, sizeof(*wide->behind));
	wide->behind->state = VALUE_BEHIND;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
