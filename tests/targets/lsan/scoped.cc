// SPDX-License-Identifier: GPL-2.0-or-later
// C++: the guard that disables, operators, and options that the program brings.
#include <string>
#include <vector>

#include "lsan_target.h"

extern "C" const char *__lsan_default_options()
{
	return "exitcode=7";
}

extern "C" const char *__lsan_default_suppressions()
{
	return "leak:lose_known\n";
}

namespace
{

__attribute__((noinline)) void lose_vector()
{
	auto *volatile block = new std::vector<std::string>(31, std::string(101, 'x'));
	block = nullptr;
}

void disabled_in_scope()
{
	if (!__lsan_disable)
		return;
	__lsan::ScopedDisabler disabler;
	lose_vector();
}

void lost_behind_scope()
{
	disabled_in_scope();
	lose_vector();
}

struct Known {
	static __attribute__((noinline)) void lose_known()
	{
		auto *volatile block = new std::string(501, 'x');
		block = nullptr;
	}
};

void suppressed_method()
{
	Known::lose_known();
}

const target_case cases[] = {{"disabled_in_scope", disabled_in_scope},
	{"lost_behind_scope", lost_behind_scope}, {"suppressed_method", suppressed_method},
	{nullptr, nullptr}};

} // namespace

int main(int argc, char **argv)
{
	if (argc == 1) {
		for (const target_case *c = cases; c->name; c++)
			printf("%s\n", c->name);
		return 0;
	}
	return run_case(argc, argv, cases);
}
