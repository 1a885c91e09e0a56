/*
 * setmm.c
 *		setmm DIRECTORY: moves its arguments, as setproctitle() of systemd and LXC does, and then
 *		runs code of files that it maps afterwards.
 *
 * It burns CPU time until there is a file DIRECTORY/go. The files are copies of this program.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPIES	   12
#define PAGE_BYTES 4096
#define TURNS	   3000000

/* Numbers of fields in /proc/PID/stat, from 1. */
enum
{
	STAT_START_CODE = 26,
	STAT_END_CODE,
	STAT_START_STACK,
	STAT_START_DATA = 45,
	STAT_END_DATA,
	STAT_START_BRK,
	STAT_ARG_START,
	STAT_ARG_END,
	STAT_ENV_START,
	STAT_ENV_END,
	STAT_FIELDS
};

typedef void (*Work)(long);

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

__attribute__((noinline)) static void
early_work(const char *until)
{
	while (access(until, F_OK) != 0)
		for (volatile long i = 0; i < TURNS; i++)
			;
}

/*
 * Burns CPU time. Uses nothing outside of itself, so that it runs at whatever address it is mapped.
 */
__attribute__((noinline)) static void
late_work(long turns)
{
	for (volatile long i = 0; i < turns; i++)
		;
}

static void
read_stat(uint64_t fields[STAT_FIELDS])
{
	char text[4096];
	FILE *file = fopen("/proc/self/stat", "r");
	size_t length = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
	char *at;

	text[length] = '\0';
	at = strrchr(text, ')');
	if (at == NULL)
		fail("stat");
	fclose(file);
	at += strlen(") S");
	for (int i = 4; i < STAT_FIELDS; i++)
		fields[i] = (uint64_t) strtoll(at, &at, 10);
}

static void
move_arguments(void)
{
	uint64_t fields[STAT_FIELDS] = { 0 };
	char *title =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct prctl_mm_map map = { .brk = (uint64_t) (uintptr_t) sbrk(0), .exe_fd = (uint32_t) -1 };

	if (title == MAP_FAILED)
		fail("mmap");
	strcpy(title, "title");
	read_stat(fields);
	map.start_code = fields[STAT_START_CODE];
	map.end_code = fields[STAT_END_CODE];
	map.start_stack = fields[STAT_START_STACK];
	map.start_data = fields[STAT_START_DATA];
	map.end_data = fields[STAT_END_DATA];
	map.start_brk = fields[STAT_START_BRK];
	map.arg_start = (uint64_t) (uintptr_t) title;
	map.arg_end = map.arg_start + sizeof("title");
	map.env_start = fields[STAT_ENV_START];
	map.env_end = fields[STAT_ENV_END];
	if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) != 0)
		fail("PR_SET_MM_MAP");
}

/* Finds the mapping of this program that contains late_work(). */
static void
find_code(uint64_t *start, uint64_t *end, uint64_t *offset)
{
	uint64_t wanted = (uint64_t) (uintptr_t) late_work;
	char line[512];
	FILE *file = fopen("/proc/self/maps", "r");

	if (file == NULL)
		fail("maps");
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "%lx-%lx %*s %lx", start, end, offset) == 3 && *start <= wanted &&
			wanted < *end)
			break;
	fclose(file);
}

/* Copies this program to DIRECTORY/NUMBER and maps its code from there. */
static Work
map_copy(const char *directory, int number)
{
	char path[512];
	struct stat status;
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	char *code;
	int from = open("/proc/self/exe", O_RDONLY);
	int to;

	snprintf(path, sizeof(path), "%s/%d", directory, number);
	to = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (from < 0 || to < 0 || fstat(from, &status) != 0 ||
		sendfile(to, from, NULL, (size_t) status.st_size) != status.st_size)
		fail("copy");
	find_code(&start, &end, &offset);
	code = mmap(NULL, end - start, PROT_READ | PROT_EXEC, MAP_PRIVATE, to, (off_t) offset);
	if (code == MAP_FAILED)
		fail("mmap");
	close(from);
	close(to);
	return (Work) (code + ((uint64_t) (uintptr_t) late_work - start));
}

int
main(int argc, char **argv)
{
	Work copies[COPIES];
	char go[512];

	if (argc != 2)
		return 2;
	snprintf(go, sizeof(go), "%s/go", argv[1]);
	early_work(go);
	move_arguments();
	for (int i = 0; i < COPIES; i++)
		copies[i] = map_copy(argv[1], i);
	for (int i = 0;; i = (i + 1) % COPIES)
		copies[i](TURNS);
}
