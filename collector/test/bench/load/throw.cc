/*
 * throw.cc
 *		Exceptions through many frames, virtual calls, and a signal's handler that works, without frame pointers.
 */
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/time.h>

static volatile unsigned long handled;

static void
on_tick(int)
{
	for (unsigned i = 0; i < 200000; i++)
		handled += i * handled + 1;
}

struct Shape
{
	virtual ~Shape() = default;
	virtual unsigned long area(unsigned depth) const = 0;
};

struct Nested : Shape
{
	std::unique_ptr<Shape> inner;
	std::map<std::string, unsigned> names;

	unsigned long
	area(unsigned depth) const override
	{
		if (depth == 0)
			throw std::runtime_error("bottom");
		std::vector<std::string> words;
		for (unsigned i = 0; i < 20; i++)
			words.push_back(std::to_string(depth * i));
		return inner->area(depth - 1) + words.size() + names.size();
	}
};

static unsigned long __attribute__((noinline))
try_deep(const Shape &shape, unsigned depth)
{
	try
	{
		return shape.area(depth);
	}
	catch (const std::exception &error)
	{
		return std::string(error.what()).size();
	}
}

int
main(int argc, char **argv)
{
	const time_t end = time(nullptr) + (argc > 1 ? atoi(argv[1]) : 10);
	const struct itimerval every = { { 0, 5000 }, { 0, 5000 } };
	std::unique_ptr<Nested> top = std::make_unique<Nested>();
	Nested *bottom = top.get();
	unsigned long sum = 0;

	for (unsigned i = 0; i < 40; i++)
	{
		auto next = std::make_unique<Nested>();
		Nested *raw = next.get();

		raw->names[std::to_string(i)] = i;
		bottom->inner = std::move(next);
		bottom = raw;
	}
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &every, nullptr);
	while (time(nullptr) < end)
		sum += try_deep(*top, 30);
	return sum == 1;
}
