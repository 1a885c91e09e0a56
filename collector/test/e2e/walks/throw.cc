/*
 * throw.cc
 *		Exceptions without end: thrown below thirty frames, each with something to destroy, and caught above them.
 *
 *		throw MS
 */
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

static volatile int sink;

struct Guard
{
	~Guard() { sink = sink + 1; }
};

__attribute__((noinline)) static int
descend(int depth)
{
	Guard guard;

	if (depth == 0)
		throw std::runtime_error("thrown below thirty frames");
	return descend(depth - 1) + sink;
}

__attribute__((noinline)) static int
catch_one()
{
	try
	{
		return descend(30);
	}
	catch (const std::exception &caught)
	{
		return (int) std::string(caught.what()).size();
	}
}

int
main(int argc, char **argv)
{
	clock_t until = clock() + (argc > 1 ? atol(argv[1]) : 1000) * (CLOCKS_PER_SEC / 1000);

	while (clock() < until)
		sink = sink + catch_one();
	return 0;
}
