/*
 * run.c
 *		Loads some of many libraries, another choice for each number, and runs code of all of them
 *		until it is ended.
 *
 *		run DIR NUMBER COUNT
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOADED 60

typedef unsigned (*Work)(unsigned n);

int
main(int argc, char **argv)
{
	unsigned number = argc > 3 ? (unsigned) strtoul(argv[2], NULL, 10) : 0;
	unsigned count = argc > 3 ? (unsigned) strtoul(argv[3], NULL, 10) : 1;
	Work works[LOADED];
	unsigned sum = 0;
	int loaded = 0;

	for (unsigned i = 0; i < LOADED; i++)
	{
		char path[4096];
		void *library;

		snprintf(path, sizeof(path), "%s/lib%u.so", argv[1], (number * 7 + i * i + i) % count);
		library = dlopen(path, RTLD_NOW);
		if (library != NULL)
			works[loaded] = (Work) dlsym(library, "work");
		if (library != NULL && works[loaded] != NULL)
			loaded++;
	}
	for (;;)
	{
		for (int i = 0; i < loaded; i++)
			for (int round = 0; round < 200; round++)
				sum += works[i](sum);
		usleep(200000);
	}
}
