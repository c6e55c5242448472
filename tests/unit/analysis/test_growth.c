/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdicts on growth, of shapes as programs have them. */
#include "analysis/growth.h"

#include <math.h>
#include <stdlib.h>

#include "lib/tap.h"

#define MOMENTS 110u
#define SEEDS 40u

static uint64_t random_state;

/* From 0 to 1. */
static double chance(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

/* What is live at a moment from 0 to 1, of a million or so. */
typedef double shape(double at);

static double linear(double at)
{
	return 1e6 * at;
}

static double stepped(double at)
{
	return 2e5 * floor(at * 5 + 0.7);
}

static double sawtooth(double at)
{
	return 1e6 * fmod(at * 9.3, 1);
}

/* Goes up and down, and ends high. */
static double sawtooth_ending_high(double at)
{
	return 1e6 * fmod(at * 7.95, 1);
}

static double rising_sawtooth(double at)
{
	return 6e5 * fmod(at * 21, 1) + 5e5 * at;
}

static double logarithmic(double at)
{
	return 1.4e5 * log(1 + 1000 * at);
}

static double plateau(double at)
{
	return at < 0.4 ? 2.5e6 * at : 1e6;
}

static double noisy(double at)
{
	(void)at;
	return 5e5 + 5e5 * chance();
}

static double slow_under_churn(double at)
{
	return 5e5 * at + 4e5 * chance();
}

static double noisy_plateau(double at)
{
	return (at < 0.3 ? at / 0.3 : 1) * 1e6 + 1e5 * chance();
}

static double one_burst(double at)
{
	return at > 0.3 && at < 0.45 ? 1e6 : 1e4;
}

static double from_the_start(double at)
{
	return at > 0.01 ? 1e6 : 0;
}

static double late(double at)
{
	return at < 0.4 ? 0 : 1.5e6 * (at - 0.4);
}

static double quadratic(double at)
{
	return 1e6 * at * at;
}

static double doubling(double at)
{
	return 1e4 * pow(2, floor(log2(1 + 60 * at)));
}

static double freed_slowly(double at)
{
	return at < 0.2 ? 5e6 * at : 1e6 * (1 - at);
}

static double unused(double at)
{
	(void)at;
	return 0;
}

static enum growth_verdict judge(shape *f, uint64_t seed, bool irregular)
{
	uint64_t times[MOMENTS], bytes[MOMENTS];
	random_state = seed * 0x9e3779b97f4a7c15u + 1;
	for (unsigned i = 0; i < MOMENTS; i++) {
		double at = (double)i / (MOMENTS - 1);
		if (irregular && i && i + 1 < MOMENTS)
			at += (chance() - 0.5) * 0.9 / MOMENTS;
		times[i] = (uint64_t)(at * 1e10);
		bytes[i] = (uint64_t)f(at);
	}
	struct growth_row row = {.row = NULL};
	growth_evaluate(times, bytes, MOMENTS, &row);
	return row.verdict;
}

static const struct planted {
	const char *name;
	shape *shape;
	enum growth_verdict verdict;
} shapes[] = {
	{"linear", linear, GROWTH_LEAK},
	{"stepped", stepped, GROWTH_LEAK},
	{"sawtooth", sawtooth, GROWTH_STEADY},
	{"sawtooth that ends high", sawtooth_ending_high, GROWTH_STEADY},
	{"rising sawtooth", rising_sawtooth, GROWTH_LEAK},
	{"logarithmic", logarithmic, GROWTH_CACHE},
	{"plateau", plateau, GROWTH_CACHE},
	{"noisy", noisy, GROWTH_STEADY},
	{"slow under churn", slow_under_churn, GROWTH_LEAK},
	{"noisy plateau", noisy_plateau, GROWTH_CACHE},
	{"one burst", one_burst, GROWTH_BURST},
	{"from the start", from_the_start, GROWTH_STARTUP},
	{"late", late, GROWTH_LEAK},
	{"quadratic", quadratic, GROWTH_LEAK},
	{"doubling", doubling, GROWTH_CACHE},
	{"freed slowly", freed_slowly, GROWTH_STEADY},
	{"unused", unused, GROWTH_NONE},
};

static unsigned wrong_shapes(bool irregular)
{
	unsigned wrong = 0;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			enum growth_verdict verdict = judge(shapes[i].shape, seed, irregular);
			if (verdict == shapes[i].verdict)
				continue;
			printf("# %s, seed %u: %s, not %s\n", shapes[i].name, (unsigned)seed,
				growth_verdict_name(verdict),
				growth_verdict_name(shapes[i].verdict));
			wrong++;
		}
	return wrong;
}

CASE(regular, "each shape has its verdict, whatever chance adds")
{
	CHECK_U64(wrong_shapes(false), 0);
}

CASE(irregular, "so it has at moments that are not evenly apart")
{
	CHECK_U64(wrong_shapes(true), 0);
}

CASE(chance_alone, "of a thousand places that go up and down by chance none is a suspect")
{
	unsigned suspects = 0;
	for (uint64_t seed = 100; seed < 1100; seed++)
		suspects += judge(noisy, seed, true) == GROWTH_LEAK;
	CHECK_U64(suspects, 0);
}

CASE(few, "a handful of moments says nothing")
{
	const uint64_t times[] = {0, 1, 2}, bytes[] = {0, 100, 200};
	struct growth_row row = {.row = NULL};
	growth_evaluate(times, bytes, 3, &row);
	CHECK(row.verdict == GROWTH_NONE);
}

CASE(same_time, "moments of one time do no harm")
{
	uint64_t times[MOMENTS] = {0}, bytes[MOMENTS];
	for (unsigned i = 0; i < MOMENTS; i++)
		bytes[i] = i;
	struct growth_row row = {.row = NULL};
	growth_evaluate(times, bytes, MOMENTS, &row);
	CHECK(isfinite(row.bytes_per_s));
}

TAP_MAIN
