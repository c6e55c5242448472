/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One object that has each container and the like of the C++ library, full and empty. */
#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

struct Point {
	int x;
	double y;
};

struct Counts {
	long calls;
	std::vector<Point> points;
	long operator()(int by)
	{
		return calls += by;
	}
};

static long add_one(int to)
{
	return to + 1L;
}

struct Held {
	std::string text, long_text, no_text;
	std::string_view view;
	std::vector<int> ids, no_ids;
	std::vector<std::string> names;
	std::vector<std::vector<short>> rows;
	std::vector<Point> points;
	std::vector<bool> flags;
	std::list<long> list;
	std::forward_list<int> forward;
	std::deque<int> deque;
	std::map<int, std::string> map;
	std::multimap<short, char> multimap;
	std::set<std::string> set;
	std::unordered_map<std::string, int> hash_map;
	std::unordered_set<long> hash_set;
	std::stack<int> stack;
	std::queue<int> queue;
	std::priority_queue<int> priority;
	std::array<int, 3> array;
	std::bitset<10> bits;
	std::tuple<int, std::string, double> tuple;
	std::pair<int, std::string> pair;
	std::optional<int> some, none;
	std::optional<std::string> some_text;
	std::variant<int, std::string, double> variant, other_variant;
	std::any any_int, any_point, no_any;
	std::function<long(int)> function, object, no_function, lambda, large_lambda;
	std::unique_ptr<Point> unique, no_unique;
	std::shared_ptr<Point> shared;
	std::weak_ptr<Point> weak;
	std::atomic<int> atomic;
	std::wstring wide, short_wide, no_wide;
	std::u16string of_16;
	std::u32string_view of_32;
};

static Held *held;

int main(int argc, char **argv)
{
	account_open(argc, argv);
	held = new Held{};
	account(held, sizeof(*held), 'r', "Held");
	held->text = "short";
	held->long_text = std::string(200, 'x') + "end";
	held->view = std::string_view(held->text).substr(1, 3);
	held->wide = std::wstring(70, L'w');
	held->short_wide = L"\u20ac1";
	held->of_16 = u"16 bits each, \U0001f600 32";
	held->of_32 = U"32 \U0001f600";
	for (int i = 0; i < 20; i++) {
		held->ids.push_back(i * i);
		held->deque.push_back(i);
	}
	for (int i = 0; i < 300; i++)
		held->deque.push_back(i);
	for (int i = 0; i < 5; i++)
		held->deque.pop_front();
	held->names = {"one", "a name that is longer than fifteen"};
	held->rows = {{1, 2}, {}, {3}};
	held->points = {{1, 1.5}, {2, 2.5}};
	for (int i = 0; i < 70; i++)
		held->flags.push_back(i % 3 == 0);
	held->list = {10, 20, 30};
	held->forward = {7, 8};
	held->map = {{3, "three"}, {1, "one"}, {2, "two"}};
	held->multimap = {{5, 'a'}, {5, 'b'}};
	held->set = {"b", "a"};
	held->hash_map = {{"key", 11}};
	held->hash_set = {42};
	held->stack.push(1);
	held->stack.push(2);
	held->queue.push(5);
	held->priority.push(3);
	held->array = {4, 5, 6};
	held->bits = 0x205;
	held->tuple = {1, "two", 3.5};
	held->pair = {8, "nine"};
	held->some = 17;
	held->some_text = "there";
	held->variant = "alternative";
	held->other_variant = 2.25;
	held->any_int = 12;
	held->any_point = Point{6, 6.5};
	held->function = add_one;
	held->object = Counts{};
	held->lambda = [](int to) { return to + 2L; };
	std::array<long, 9> many{1, 2, 3};
	held->large_lambda = [many](int to) { return many[0] + to; };
	held->unique = std::make_unique<Point>(Point{9, 9.5});
	held->shared = std::make_shared<Point>(Point{3, 3.5});
	held->weak = held->shared;
	held->atomic = 77;
	account(held->unique.get(), sizeof(Point), 'r', "Point");
	account(held->shared.get(), sizeof(Point), 'r', "shared Point");
	account_end();
	return !held;
}
