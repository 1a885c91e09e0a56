/*
 * fusehog.c
 *		Processes that start and end, and map a file of a FUSE file system that does not answer
 *		requests.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "fuse_file.h"

#define AT_A_TIME 8
#define LIFE_MS	  10

static FuseFile fuse;

/* Burns CPU time, so that the process is sampled often enough for the agent to read it. */
static void
spin(void)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec == 0 && now.tv_nsec < LIFE_MS * 1000000L);
}

int
main(void)
{
	void *code;
	int running = 0;
	int fd;

	if (!fuse_file_open(&fuse))
	{
		perror("fuse");
		return 1;
	}
	fd = open(fuse.path, O_RDONLY);
	code = mmap(NULL, FUSE_FILE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (fd < 0 || code == MAP_FAILED)
	{
		perror("mmap");
		return 1;
	}
	close(fd); /* otherwise only the server could end the wait of its exit */
	fuse_file_hold(&fuse, FUSE_GETATTR);
	for (;;)
	{
		pid_t pid = fork();

		if (pid == 0)
		{
			close(fuse.fd); /* all requests fail once no process has the descriptor any more */
			spin();
			_exit(0);
		}
		running += pid > 0;
		if (running >= AT_A_TIME && wait(NULL) > 0)
			running--;
	}
}
