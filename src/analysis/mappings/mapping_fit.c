/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/mapping_series.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

#define LARGEST_STEP 0.6
#define DOWN_PART 0.1
/* Of many looks at a few steps a slope is certain, but they are no line. */
#define DETERMINATION_LEAST 0.9
#define STEPS_LEAST 3u

const char *mapping_shape_name(enum mapping_shape shape)
{
	static const char *const names[MAPPING_SHAPES] = {[MAPPING_SAME] = "same",
		[MAPPING_STEADY] = "steady",
		[MAPPING_ONCE] = "once",
		[MAPPING_UNEVEN] = "uneven",
		[MAPPING_WAVES] = "waves",
		[MAPPING_SHRANK] = "shrank",
		[MAPPING_UNKNOWN] = "unknown"};
	return names[shape];
}

/* Student's t, two-sided, 95 %, by degrees of freedom. */
static double student_t(size_t freedom)
{
	static const double table[] = {0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
		2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
	return freedom < ARRAY_SIZE(table) ? table[freedom] : 1.96 + 2.5 / (double)freedom;
}

struct fit_steps {
	double up, down, largest_up;
};

static struct fit_steps steps_count(const uint64_t *values, size_t count, struct mapping_fit *ret)
{
	struct fit_steps steps = {.up = 0};
	uint64_t before = MAPPING_NO_FIGURE;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = values[i];
		if (value == MAPPING_NO_FIGURE)
			continue;
		if (before != MAPPING_NO_FIGURE && value > before) {
			double step = (double)(value - before);
			steps.up += step;
			ret->ups++;
			if (step > steps.largest_up) {
				steps.largest_up = step;
				ret->step = i;
			}
		} else if (before != MAPPING_NO_FIGURE && value < before) {
			steps.down += (double)(before - value);
			ret->downs++;
		}
		ret->first = ret->looks ? ret->first : value;
		ret->least = ret->looks ? min(ret->least, value) : value;
		ret->most = ret->looks ? max(ret->most, value) : value;
		ret->last = before = value;
		ret->looks++;
	}
	return steps;
}

/* Least squares, around the means: sums of large numbers would lose digits. */
static void line_fit(
	const double *seconds, const uint64_t *values, size_t count, struct mapping_fit *ret)
{
	double n = (double)ret->looks, x_mean = 0, y_mean = 0, xx = 0, xy = 0, yy = 0;
	for (size_t i = 0; i < count; i++) {
		if (values[i] == MAPPING_NO_FIGURE)
			continue;
		x_mean += seconds[i] / n;
		y_mean += (double)values[i] / n;
	}
	for (size_t i = 0; i < count; i++) {
		if (values[i] == MAPPING_NO_FIGURE)
			continue;
		double x = seconds[i] - x_mean, y = (double)values[i] - y_mean;
		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	if (!(xx > 0))
		return;
	double rest = fmax(yy - xy * xy / xx, 0);
	double error = student_t(ret->looks - 2) * sqrt(rest / (n - 2) / xx);
	ret->has_line = true;
	ret->slope = xy / xx;
	ret->low = ret->slope - error;
	ret->high = ret->slope + error;
	ret->determination = yy > 0 ? 1 - rest / yy : 1;
}

static enum mapping_shape shape_of(const struct mapping_fit *fit, const struct fit_steps *steps)
{
	if (!fit->ups && !fit->downs)
		return MAPPING_SAME;
	if (!fit->ups)
		return MAPPING_SHRANK;
	if (steps->down > DOWN_PART * steps->up)
		return steps->up > DOWN_PART * steps->down ? MAPPING_WAVES : MAPPING_SHRANK;
	size_t least = fit->looks <= STEPS_LEAST ? fit->looks - 1 : STEPS_LEAST;
	if (fit->has_line && fit->low > 0 && fit->determination >= DETERMINATION_LEAST &&
		fit->ups >= least && steps->largest_up <= LARGEST_STEP * steps->up)
		return MAPPING_STEADY;
	return fit->ups == 1 && fit->looks > 2 ? MAPPING_ONCE : MAPPING_UNEVEN;
}

void mapping_fit(
	const double *seconds, const uint64_t *values, size_t count, struct mapping_fit *ret)
{
	*ret = (struct mapping_fit){.shape = MAPPING_UNKNOWN,
		.first = MAPPING_NO_FIGURE,
		.last = MAPPING_NO_FIGURE,
		.least = MAPPING_NO_FIGURE,
		.most = MAPPING_NO_FIGURE};
	const struct fit_steps steps = steps_count(values, count, ret);
	if (!ret->looks)
		return;
	ret->change = (int64_t)(ret->last - ret->first);
	if (values[0] == MAPPING_NO_FIGURE || values[count - 1] == MAPPING_NO_FIGURE)
		return;
	if (seconds && ret->looks > 2)
		line_fit(seconds, values, count, ret);
	ret->shape = shape_of(ret, &steps);
}
