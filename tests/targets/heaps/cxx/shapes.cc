/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is hard to read of types: namespaces of type units, pointers to members, arrays in arrays,
 * members as long as the block likes, texts, containers in members.
 */
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

namespace geo
{
struct Point {
	int x, y;
};
class Circle
{
      public:
	struct Style {
		Style *next;
		int width;
		bool dashed;
	};
	enum Kind { PLAIN, FILLED = 4 };
	enum class Mode : unsigned char { SLOW = 3, AUTOMATIC = 200 };

	Circle *next = nullptr;
	Style *style = nullptr;
	Point centre{1, -2};
	double radius = 2.5;
	Kind kind = FILLED;
	Mode mode = Mode::AUTOMATIC, other_mode{};
	std::string title;
	std::string *note = nullptr;
	std::vector<Point> *points = nullptr;
	long area(int scale) const
	{
		return static_cast<long>(radius) * scale;
	}
};
} // namespace geo

namespace chart
{
/* A name that another namespace has, too. */
struct Style {
	Style *first;
	double ratio[2];
};
struct Axis {
	Axis *next;
	Style *style;
	/* Neither leads to a block. */
	int geo::Point::*field;
	long (geo::Circle::*measure)(int) const;
	int ticks[3][4];
	geo::Point corners[20];
	short steps[30];
	char label[8];
};
struct Series {
	Series *next;
	unsigned count;
	geo::Point points[];
};
} // namespace chart

static geo::Circle *circles;
static chart::Axis *axes;
static chart::Series *series;
static std::map<std::string, int> ages;
static std::set<long> numbers;
static std::list<geo::Point> points;
static std::unordered_map<int, std::string> words;
static std::deque<geo::Point> queue;
static std::vector<std::vector<int>> rows;
static std::vector<int> row;

template <class T> static T *tell(T *block, const char *type)
{
	account(block, sizeof(T), 'r', type);
	return block;
}

static void add_circles()
{
	for (int i = 0; i < 8; i++) {
		geo::Circle *circle = tell(new geo::Circle, "geo::Circle");
		circle->next = circles;
		circle->style =
			tell(new geo::Circle::Style{nullptr, i, true}, "geo::Circle::Style");
		circle->title = i % 2 ? "a circle whose title is not short" : "short";
		circle->points = tell(new std::vector<geo::Point>(5), "std::vector<geo::Point>");
		circles = circle;
	}
}

static void add_axes()
{
	for (int i = 0; i < 4; i++) {
		chart::Axis *axis = tell(new chart::Axis{}, "chart::Axis");
		axis->next = axes;
		axis->style = tell(new chart::Style{nullptr, {0.5, 2}}, "chart::Style");
		axis->field = &geo::Point::y;
		axis->measure = &geo::Circle::area;
		for (int k = 0; k < 20; k++)
			axis->corners[k] = {k, -k};
		axis->ticks[2][3] = 23;
		axis->ticks[1][0] = 10;
		axis->steps[29] = 29;
		memcpy(axis->label, "x-label", 8);
		axes = axis;
	}
}

static void add_series()
{
	for (unsigned i = 1; i < 4; i++) {
		size_t size = sizeof(chart::Series) + 7 * i * sizeof(geo::Point);
		auto *one = static_cast<chart::Series *>(calloc(1, size));
		account(one, size, 'r', "chart::Series");
		one->next = series;
		one->count = 7 * i;
		for (unsigned k = 0; k < one->count; k++)
			one->points[k] = {static_cast<int>(k), 100};
		series = one;
	}
}

static void fill_containers()
{
	for (int i = 0; i < 5; i++) {
		ages["somebody"] = 40;
		ages["somebody whose name is long"] = 41;
		numbers.insert(1000 + i);
		points.push_back({i, 7});
		words[i] = "word";
		queue.push_back({i, 9});
		rows.push_back({1, 2, 3});
		row.push_back(i);
	}
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, nullptr, _IONBF, 0);
	add_circles();
	add_axes();
	add_series();
	fill_containers();
	account_end();
	return !circles || !axes || !series;
}
