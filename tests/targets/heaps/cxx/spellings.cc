/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types whose names are other in descriptions of classes, in debug information, and as people write
 * them; classes with long names that derive from one. */
#include <memory>
#include <string>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

namespace a_long_namespace
{
namespace that_is_not_the_only_one
{

template <class T> struct Base {
	T value;
	std::vector<T> values;
	virtual ~Base() = default;
};
struct DerivedWithALongName : Base<std::string> {
	std::string own;
};
template <class T> struct Other : Base<std::string> {
	T more;
};

} // namespace that_is_not_the_only_one
} // namespace a_long_namespace

using namespace a_long_namespace::that_is_not_the_only_one;

struct Holder {
	std::string text;
	std::vector<std::string> texts;
	std::unique_ptr<std::string> one;
};

static Base<std::string> *objects[3];
static Holder *holder;
static std::vector<std::string> *list;

int main(int argc, char **argv)
{
	account_open(argc, argv);
	objects[0] = new Base<std::string>;
	objects[1] = new DerivedWithALongName;
	objects[2] = new Other<int>;
	for (Base<std::string> *object : objects) {
		object->value = "a value";
		object->values = {"one", "two"};
	}
	holder = new Holder;
	holder->text = "text";
	holder->one = std::make_unique<std::string>("one");
	account(holder, sizeof(*holder), 'r', "Holder");
	account(holder->one.get(), sizeof(std::string), 'r', "std::string");
	list = new std::vector<std::string>{"three"};
	account(list, sizeof(*list), 'r', "std::vector<std::string>");
	account_end();
	return !objects[0] || !holder || !list;
}
