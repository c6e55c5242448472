// SPDX-License-Identifier: GPL-2.0-or-later
// Errors in C++: methods, constructors and functions that differ in their parameters alone.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace app
{
class Table
{
      public:
	explicit Table(int size) : rows(new int[size])
	{
		sum = rows[size];
	}
	__attribute__((noinline)) int read(int row) const
	{
		return rows[row];
	}
	__attribute__((noinline)) int read(long row) const
	{
		return rows[row];
	}
	__attribute__((noinline)) void drop()
	{
		free(rows); // of new[]
	}
	int *rows;
	volatile int sum;
};
} // namespace app

int main()
{
	app::Table table(5);
	table.sum = table.read(5);
	table.sum = table.read(5L);
	table.drop();
	int *volatile one = new int(4);
	delete[] one;
	std::puts("done");
	return 0;
}
