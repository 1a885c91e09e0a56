/*
 * main SECONDS: two threads that use that much CPU time: 60 % and 30 % with a custom label
 *		(version 1) for the work, and 10 % without labels.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef struct Text
{
	size_t length;
	const char *bytes;
} Text;

typedef struct Label
{
	Text key;
	Text value;
} Label;

typedef struct LabelSet
{
	Label *storage;
	size_t count;
	size_t capacity;
} LabelSet;

extern const uint32_t custom_labels_abi_version;
extern __thread LabelSet *custom_labels_current_set;
const uint32_t custom_labels_abi_version = 1;
__thread LabelSet *custom_labels_current_set;
/* so that the set is not the only thread-local variable */
static volatile __thread char before[100];

/*
 * Neither this program, nor anything in pages that the kernel maps together with these, reads the
 * texts: they are not resident until another process reads them.
 */
#define MAPPED_TOGETHER 65536
typedef struct Untouched
{
	char before[MAPPED_TOGETHER];
	char part[MAPPED_TOGETHER];
	char values[3][MAPPED_TOGETHER];
} Untouched;
static const Untouched texts = { "", "part", { "sixty", "thirty", "never" } };

static volatile uint32_t sink;

static void
work(int rounds)
{
	uint32_t value = 1;

	for (int i = 0; i < rounds; i++)
	{
		value = value * 1664525 + 1013904223;
		__asm__ volatile("" : "+r"(value) : : "memory"); /* the profiler reads the set */
	}
	sink = value;
}

static void *
run(void *argument)
{
	Label sixty[] = { { { 0, NULL }, { 0, NULL } }, { { 4, texts.part }, { 5, texts.values[0] } } };
	Label thirty[] = { { { 4, texts.part }, { 6, texts.values[1] } },
					   { { 4, texts.part }, { 5, texts.values[2] } } };
	LabelSet first = { sixty, 2, 2 };
	LabelSet second = { thirty, 2, 2 };
	clock_t until = *(const int *) argument * CLOCKS_PER_SEC;

	before[0] = 1;
	while (clock() < until)
	{
		custom_labels_current_set = &first;
		work(6000000);
		custom_labels_current_set = &second;
		work(3000000);
		custom_labels_current_set = NULL;
		work(1000000);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t other;

	if (pthread_create(&other, NULL, run, &seconds) != 0)
		return 1;
	(void) run(&seconds);
	return pthread_join(other, NULL);
}
