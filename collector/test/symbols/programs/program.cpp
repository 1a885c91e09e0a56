/* Templates, lambdas, constructors of virtual bases, local classes, exceptions. */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace shop {
template <typename T> struct Basket {
	std::vector<T> items;
	Basket() : items{} { items.reserve(16); }
	~Basket() { items.clear(); }
	void add(const T &item) { items.push_back(item); }
	template <typename F> T fold(T start, F f) const {
		for (const T &item : items)
			start = f(start, item);
		return start;
	}
};

namespace {
struct Hidden {
	std::string text;
	explicit Hidden(int n) : text(n, 'x') {}
	int size() const { return static_cast<int>(text.size()); }
};
int hidden(int a, const std::string &s) { return a + Hidden(a % 3).size() + static_cast<int>(s.size()); }
}

struct Base {
	int tax;
	Base() : tax(3) {}
	virtual ~Base() {}
	virtual int price(int) const = 0;
};
struct Fruit : virtual Base {
	std::string name;
	explicit Fruit(const char *n) : name(n) {}
	~Fruit() override {}
};
struct Apple : Fruit {
	Apple() : Fruit("apple") {}
	int price(int n) const override { return n * 3 + tax; }
};
struct Pear : Fruit {
	Pear() : Fruit("pear") {}
	int price(int n) const override {
		if (n > 1000)
			throw std::out_of_range(name + " is too dear");
		return n * 4 + tax;
	}
};

template <typename... Prices> int sum_of(Prices... prices) { return (0 + ... + prices); }

__attribute__((noinline)) int total(const Base &b, int n) {
	Basket<int> basket;
	for (int i = 0; i < n; i++)
		basket.add(b.price(i));
	std::sort(basket.items.begin(), basket.items.end(), [](int l, int r) { return l > r; });
	return basket.fold(0, [&](int s, int i) { return s + hidden(i, "x"); }) + sum_of(n, 2, b.price(2));
}
}

int operator+(const shop::Apple &a, int n) { return shop::total(a, n); }

static int catch_all(const std::function<int(int)> &f, int n) {
	struct Counter {
		int count = 0;
		int next(int by) { return count += by; }
	} counter;
	try {
		return f(n) + counter.next(n);
	} catch (const std::exception &e) {
		return counter.next(-1);
	}
}

int main(int argc, char **) {
	std::map<std::string, int> prices;
	std::unordered_map<int, std::vector<std::string>> names;
	auto pear = std::make_unique<shop::Pear>();
	prices["apple"] = shop::Apple() + argc;
	prices["pear"] = catch_all([&](int n) { return pear->price(n) + shop::total(*pear, n); }, argc);
	for (const auto &[name, price] : prices)
		names[price % 7].push_back(name);
	return std::accumulate(names.begin(), names.end(), 0, [](int s, const auto &e) { return s + static_cast<int>(e.second.size()); }) == 7;
}
