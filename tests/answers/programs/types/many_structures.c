/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A structure of 25,000 structures: more rows than its layout opens. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TIMES10(x, p)                                                                              \
	x(p##0) x(p##1) x(p##2) x(p##3) x(p##4) x(p##5) x(p##6) x(p##7) x(p##8) x(p##9)
#define MEMBER(p) struct pair p;
#define MEMBERS10(p) TIMES10(MEMBER, p)
/* The same macro can't be expanded inside of itself. */
#define AGAIN10(x, p)                                                                              \
	x(p##0) x(p##1) x(p##2) x(p##3) x(p##4) x(p##5) x(p##6) x(p##7) x(p##8) x(p##9)
#define MEMBERS100(p) AGAIN10(MEMBERS10, p)
#define MORE10(x, p) x(p##0) x(p##1) x(p##2) x(p##3) x(p##4) x(p##5) x(p##6) x(p##7) x(p##8) x(p##9)
#define MEMBERS1000(p) MORE10(MEMBERS100, p)
#define TIMES5(x, p) x(p##a) x(p##b) x(p##c) x(p##d) x(p##e)
#define AGAIN5(x, p) x(p##a) x(p##b) x(p##c) x(p##d) x(p##e)
#define MEMBERS5000(p) TIMES5(MEMBERS1000, p)

struct pair {
	int first, second;
};
struct wide {
	AGAIN5(MEMBERS5000, member_)
};

static struct wide *wide;

int main(void)
{
	wide = calloc(1, sizeof(*wide));
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
