// SPDX-License-Identifier: GPL-2.0-or-later
/* C++ whose stacks are mostly of inlined functions, and which keeps all that it allocates. */
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace app
{

struct base {
	virtual ~base() = default;
	virtual void fill() = 0;
};

template <typename T> struct cache : base {
	std::vector<T> values;
	std::map<std::string, std::list<T>> lists;

	void fill() override
	{
		values.reserve(77);
		lists["a key that is too long to be in the string itself"].push_back(T());
	}

	template <typename F> T *apply(F make)
	{
		return make(*this);
	}
};

static std::vector<void *> &kept = *new std::vector<void *>; // never destroyed

} // namespace app

static char *repeat(const char *what)
{
	std::string *text = new std::string;
	for (int i = 0; i < 100; i++)
		*text += what;
	app::kept.push_back(text);
	return text->data();
}

int main()
{
	auto ints = new app::cache<int>;
	app::kept.push_back(ints);
	ints->fill();
	app::kept.push_back(ints->apply([](app::cache<int> &) { return new int[33]; }));
	app::base *longs = new app::cache<long>;
	app::kept.push_back(longs);
	longs->fill();
	repeat("heap");
	auto shared = std::make_shared<std::vector<std::string>>(5, std::string(40, 'x'));
	app::kept.push_back(new std::function<size_t()>([shared] { return shared->size(); }));
	app::kept.push_back(new (std::nothrow) char[44]);
	return 0;
}
