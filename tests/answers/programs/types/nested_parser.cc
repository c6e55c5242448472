/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parser of lists into nested containers of the standard library, which keeps all that it reads.
 * True of it: lang::Parser::remember and lang::Parser::parse, called from lang::load, have nearly
 * all memory; no other function of the program allocates more than a few hundred bytes.
 */
#include <unistd.h>

#include <cctype>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace lang
{

struct Node {
	std::string text;
	std::vector<std::unique_ptr<Node>> children;
	std::map<std::string, std::vector<std::string>> attributes;
};

class Parser
{
      public:
	explicit Parser(const std::string &text) : text_(text)
	{
	}

	std::unique_ptr<Node> parse()
	{
		auto node = std::make_unique<Node>();
		while (at_ < text_.size() && text_[at_] != ')') {
			char c = text_[at_++];
			if (c == '(') {
				node->children.push_back(parse());
				at_++;
			} else if (std::isalpha(c)) {
				node->text += word(c);
				remember(*node);
			}
		}
		return node;
	}

      private:
	std::string word(char first)
	{
		std::string ret(1, first);
		while (at_ < text_.size() && std::isalpha(text_[at_]))
			ret.push_back(text_[at_++]);
		return ret;
	}

	void remember(Node &node)
	{
		auto &values = node.attributes["attribute-of-" + node.text];
		values.emplace_back("the value of the attribute called " + node.text);
		index_[node.text].push_back(values.back());
	}

	std::string text_;
	size_t at_ = 0;
	std::unordered_map<std::string, std::vector<std::string>> index_;
};

std::map<std::string, std::shared_ptr<Node>> cache;

void load(int i)
{
	Parser parser("(alpha (beta gamma) (delta (epsilon zeta eta)) theta (iota kappa))");
	std::function<void()> job = [&] {
		cache["document number " + std::to_string(i)] = parser.parse();
	};
	job();
}

} // namespace lang

int main()
{
	auto *keep = new std::map<std::string, std::shared_ptr<lang::Node>>;
	for (int i = 0; i < 200; i++)
		lang::load(i);
	keep->swap(lang::cache);
	std::cout << keep->size() << '\n';
	_exit(0);
}
