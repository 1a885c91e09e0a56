/*
 * mapbomb.c
 *		mapbomb DIRECTORY FILES MAPPINGS DEPTH: maps files of a deep directory as executable, and
 *		spins.
 *
 * It creates MAPPINGS mappings, of FILES files whose path has DEPTH names of 240 characters and one
 * of 206. It runs until it is killed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY_NAME_LENGTH 240
#define FILE_NAME_LENGTH	  200
#define PAGE_BYTES			  4096

static int
fail(const char *what)
{
	perror(what);
	return 1;
}

int
main(int argc, char **argv)
{
	char name[DIRECTORY_NAME_LENGTH + 1];
	int files;
	int mappings;
	int depth;

	if (argc != 5 || chdir(argv[1]) != 0)
		return fail("mapbomb");
	files = atoi(argv[2]);
	mappings = atoi(argv[3]);
	depth = atoi(argv[4]);
	memset(name, 'd', DIRECTORY_NAME_LENGTH);
	name[DIRECTORY_NAME_LENGTH] = '\0';
	for (int i = 0; i < depth; i++)
		if ((mkdir(name, 0755) != 0 && access(name, X_OK) != 0) || chdir(name) != 0)
			return fail("mkdir");
	memset(name, 'f', FILE_NAME_LENGTH);
	for (int i = 0; i < mappings; i++)
	{
		int fd;

		snprintf(name + FILE_NAME_LENGTH, sizeof(name) - FILE_NAME_LENGTH, "%06d", i % files);
		fd = open(name, O_RDWR | O_CREAT, 0755);
		if (fd < 0 || ftruncate(fd, PAGE_BYTES) != 0)
			return fail("open");
		if (mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return fail("mmap");
		close(fd);
	}
	fprintf(stderr, "mapped %d\n", mappings);
	for (volatile unsigned long spun = 0;; spun++)
		;
}
