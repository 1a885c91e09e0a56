/*
 * stay.c
 *		Becomes the owner of its file if that is set-user-ID, as sudo does, and stays: stay FILE.
 *		Writes its process ID to the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;

	if (file == NULL || fprintf(file, "%d\n", (int) getpid()) < 0 || fclose(file) != 0 ||
		setuid(geteuid()) != 0)
		return 1;
	sleep(300);
	return 0;
}
