/*
 * deep.c
 *		deep FRAMES BYTES: recurses to this depth, with frames of that size, and burns CPU time
 *		there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int frame_bytes;
static volatile long turns;

__attribute__((noinline)) static int
spin_for_ever(void)
{
	for (;;)
		turns++;
}

__attribute__((noinline)) static int
recurse(int frames)
{
	volatile char *bytes = __builtin_alloca((size_t) frame_bytes);

	bytes[0] = 1;
	return (frames > 0 ? recurse(frames - 1) : spin_for_ever()) + bytes[0];
}

static void *
run(void *frames)
{
	return (void *) (long) recurse((int) (long) frames);
}

int
main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int frames;

	if (argc != 3)
		return 2;
	frames = atoi(argv[1]);
	frame_bytes = atoi(argv[2]);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t) (frames + 10) * (size_t) (frame_bytes + 200));
	if (pthread_create(&thread, &attributes, run, (void *) (long) frames) != 0)
	{
		perror("thread");
		return 1;
	}
	pthread_join(thread, NULL);
	return 0;
}
