/*
 * mapflood.c
 *		mapflood DIRECTORY DEPTH: maps a file as executable and unmaps it, as fast as it can.
 *
 * The file's path has DEPTH names of 240 characters. It runs until it is killed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY_NAME_LENGTH 240
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
	int fd;

	if (argc != 3 || chdir(argv[1]) != 0)
		return fail("mapflood");
	memset(name, 'd', DIRECTORY_NAME_LENGTH);
	name[DIRECTORY_NAME_LENGTH] = '\0';
	for (int depth = atoi(argv[2]); depth > 0; depth--)
		if (mkdir(name, 0755) != 0 || chdir(name) != 0)
			return fail("mkdir");
	fd = open("file", O_RDWR | O_CREAT, 0755);
	if (fd < 0 || ftruncate(fd, PAGE_BYTES) != 0)
		return fail("open");
	for (;;)
	{
		void *mapped = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (mapped == MAP_FAILED || munmap(mapped, PAGE_BYTES) != 0)
			return fail("mmap");
	}
}
