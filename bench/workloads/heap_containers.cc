/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_containers ENTRIES: so many entries in a map, a hash map of vectors, a list and a vector of
 * objects with virtual functions; about 7 blocks an entry. Says its process number, and ends when a
 * line comes.
 */
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <unistd.h>

namespace
{

class Shape
{
      public:
	virtual ~Shape() = default;
	virtual long area() const = 0;
};

class Square : public Shape
{
	long side;

      public:
	explicit Square(long length) : side(length)
	{
	}
	long area() const override
	{
		return side * side;
	}
};

class Label : public Shape
{
	std::string text;

      public:
	explicit Label(long number) : text("the label of a shape, number " + std::to_string(number))
	{
	}
	long area() const override
	{
		return static_cast<long>(text.size());
	}
};

std::map<long, std::string> names;
std::unordered_map<long, std::vector<long>> numbers;
std::list<std::shared_ptr<long>> shared;
std::vector<std::unique_ptr<Shape>> shapes;

} // namespace

int main(int count, char **arguments)
{
	long entries = count == 2 ? std::atol(arguments[1]) : 0;
	for (long i = 0; i < entries; i++) {
		names[i * 7919 % entries] = std::string(140, 'n') + std::to_string(i);
		numbers[i].assign(3, i);
		shared.push_back(std::make_shared<long>(i));
		if (i % 2)
			shapes.push_back(std::make_unique<Square>(i));
		else
			shapes.push_back(std::make_unique<Label>(i));
	}
	std::printf("%d\n", static_cast<int>(getpid()));
	std::fflush(stdout);
	return std::getchar() != '\n';
}
