// Processor time and memory, profiled by gperftools: recursion, inlining, overloads, templates, two heaps.
//
//	work DIRECTORY      writes cpu.prof, heap.*.heap, growth and, where TCMALLOC_SAMPLE_PARAMETER says so, sampled there
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>
#include <gperftools/profiler.h>

namespace
{

volatile unsigned sink;

__attribute__((noinline)) unsigned
fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

inline __attribute__((always_inline)) unsigned
mix(unsigned value)
{
	for (int i = 0; i < 50; i++)
		value = value * 1664525u + 1013904223u;
	return value;
}

template <typename Number>
__attribute__((noinline)) void
spin(Number rounds)
{
	for (Number i = 0; i < rounds; i++)
		sink = mix(sink);
}

/* Calls itself through another function. */
__attribute__((noinline)) void ping(int depth, double until);

__attribute__((noinline)) void
pong(int depth, double until)
{
	ping(depth - 1, until);
	sink = sink + 1;
}

double
processor_seconds()
{
	return double(std::clock()) / CLOCKS_PER_SEC;
}

__attribute__((noinline)) void
ping(int depth, double until)
{
	if (depth > 0)
		pong(depth, until);
	else
		while (processor_seconds() < until)
		{
			sink = fibonacci(18);
			spin<int>(2000);
			spin<long>(1000);
		}
	sink = sink + 1;
}

struct Keeper
{
	std::vector<std::string *> texts;
	__attribute__((noinline)) void
	keep(int count, std::size_t bytes)
	{
		for (int i = 0; i < count; i++)
			texts.push_back(new std::string(bytes, 'x'));
	}
	__attribute__((noinline)) void
	drop(std::size_t left)
	{
		while (texts.size() > left)
		{
			delete texts.back();
			texts.pop_back();
		}
	}
};

} // namespace

int
main(int, char **arguments)
{
	const std::string directory = arguments[1];
	Keeper keeper;

	ProfilerStart((directory + "/cpu.prof").c_str());
	ping(20, processor_seconds() + 0.5);
	ProfilerStop();

	HeapProfilerStart((directory + "/heap").c_str());
	keeper.keep(1000, 100);
	sink = sink + *static_cast<unsigned char *>(std::calloc(300, 10));
	HeapProfilerDump("first");
	keeper.keep(200, 5000);
	keeper.drop(700);
	HeapProfilerDump("second");
	HeapProfilerStop();

	std::string growth;
	MallocExtension::instance()->GetHeapGrowthStacks(&growth);
	std::ofstream(directory + "/growth") << growth;
	std::string sampled;
	MallocExtension::instance()->GetHeapSample(&sampled);
	std::ofstream(directory + "/sampled") << sampled;
	return 0;
}
