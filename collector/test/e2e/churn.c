/*
 * churn.c
 *		Makes processes, libraries and threads come and go.
 *
 *		churn processes COUNT MS AT_ONCE PROGRAM...
 *			each PROGRAM in turn, for MS of CPU time; prints how many ms they took
 *		churn reuse COUNT MS PROGRAM...
 *			the same, all under one pid; prints how often that worked
 *		churn libraries MS LIBRARY MS LIBRARY SECONDS
 *			two libraries in turn, never both at once; prints at how many addresses
 *		churn fixed MS LIBRARY MS LIBRARY SECONDS
 *			code of two libraries in turn at one address, by MAP_FIXED
 *		churn threads COUNT
 *			one after the other
 *		churn crowd COUNT
 *			all at once, named crowd_0 to crowd_9
 *		churn orphan MS
 *			a thread that works on after the first one has ended
 *
 * While code of LIBRARY runs the process bears its name, without directory and ending, which is
 * thus part of each sample.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void
run_program(char *program, char *ms)
{
	char *arguments[] = { program, ms, NULL };

	execv(program, arguments);
	_exit(127);
}

static int
wait_for_one(void)
{
	int status;

	while (wait(&status) < 0)
	{
		if (errno != EINTR)
			return 1;
	}
	return status != 0;
}

/* Returns the CPU time of all children that were waited for. */
static void
print_childrens_time(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	printf("%ld\n", (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
						(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
}

static int
processes(int count, char *ms, int at_once, int program_count, char **programs)
{
	int running = 0;
	int failed = 0;

	for (int i = 0; i < count; i++)
	{
		pid_t pid;

		if (running == at_once)
		{
			failed |= wait_for_one();
			running--;
		}
		pid = fork();
		if (pid == 0)
			run_program(programs[i % program_count], ms);
		failed |= pid < 0;
		running += pid > 0;
	}
	while (running-- > 0)
		failed |= wait_for_one();
	print_childrens_time();
	return failed;
}

/*
 * Starts a child whose pid is set by clone3(): it is free again as soon as the previous process was
 * waited for, unless another process gets it.
 */
static int
reuse(int count, char *ms, int program_count, char **programs)
{
	pid_t chosen = fork();
	int reused = 0;

	if (chosen == 0)
		_exit(0);
	(void) wait_for_one();
	for (int i = 0; i < count; i++)
	{
		struct clone_args arguments = {
			.exit_signal = SIGCHLD,
			.set_tid = (uint64_t) (uintptr_t) &chosen,
			.set_tid_size = 1,
		};
		long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

		if (pid == 0)
			run_program(programs[i % program_count], ms);
		if (pid < 0)
			continue;
		reused += wait_for_one() == 0;
	}
	printf("%d\n", reused);
	return 0;
}

static void
bear_name_of(const char *library)
{
	const char *slash = strrchr(library, '/');
	char name[16];

	snprintf(name, sizeof(name), "%s", slash != NULL ? slash + 1 : library);
	name[strcspn(name, ".")] = '\0';
	prctl(PR_SET_NAME, name);
}

#define MAX_PLACES 16
static void *places[MAX_PLACES];
static int place_count;

static void
note_place(void *address)
{
	for (int i = 0; i < place_count; i++)
	{
		if (places[i] == address)
			return;
	}
	if (place_count < MAX_PLACES)
		places[place_count++] = address;
}

static int
work_in(const char *library, long ms)
{
	void (*work_for)(long ms);
	void *handle = dlopen(library, RTLD_NOW);

	if (handle == NULL)
		return 1;
	*(void **) &work_for = dlsym(handle, "work_for");
	if (work_for == NULL)
		return 1;
	note_place(*(void **) &work_for);
	bear_name_of(library);
	work_for(ms);
	bear_name_of("churn");
	return dlclose(handle);
}

static int
libraries(char **arguments)
{
	clock_t until = clock() + atol(arguments[4]) * CLOCKS_PER_SEC;
	int failed = 0;

	while (clock() < until && !failed)
		failed =
			work_in(arguments[1], atol(arguments[0])) || work_in(arguments[3], atol(arguments[2]));
	printf("%d\n", place_count);
	return failed;
}

/* The code of a loaded library, and the offset of its function "spin". */
typedef struct Code
{
	const char *library;
	int fd;
	off_t offset;
	size_t length;
	size_t spin; /* offset from the start of the mapped segment */
} Code;

static int
open_code(const char *library, Code *code)
{
	void *handle = dlopen(library, RTLD_NOW);
	struct link_map *map;
	const ElfW(Ehdr) * header;
	const ElfW(Phdr) * segments;
	const char *spin;

	if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return 1;
	spin = dlsym(handle, "spin");
	header = (const void *) map->l_addr;
	segments = (const void *) (map->l_addr + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++)
	{
		size_t before = segments[i].p_offset % 4096;

		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X))
			continue;
		*code = (Code){
			.library = library,
			.fd = open(library, O_RDONLY | O_CLOEXEC),
			.offset = (off_t) (segments[i].p_offset - before),
			.length = segments[i].p_filesz + before,
			.spin = (size_t) (spin - (const char *) map->l_addr) - segments[i].p_vaddr + before,
		};
	}
	return spin == NULL || code->fd < 0;
}

static int
spin_in(const Code *code, char *place, long ms)
{
	clock_t until = clock() + ms * (CLOCKS_PER_SEC / 1000);
	void (*spin)(unsigned rounds);

	if (mmap(place, code->length, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, code->fd,
			 code->offset) != place)
		return 1;
	*(void **) &spin = place + code->spin;
	bear_name_of(code->library);
	while (clock() < until)
		spin(20000);
	bear_name_of("churn");
	return 0;
}

static int
fixed(char **arguments)
{
	clock_t until = clock() + atol(arguments[4]) * CLOCKS_PER_SEC;
	Code codes[2];
	char *place;
	int failed;

	if (open_code(arguments[1], &codes[0]) || open_code(arguments[3], &codes[1]))
		return 1;
	place = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	failed = place == MAP_FAILED;
	while (clock() < until && !failed)
		failed = spin_in(&codes[0], place, atol(arguments[0])) ||
				 spin_in(&codes[1], place, atol(arguments[2]));
	return failed;
}

static void *
thread_run(void *argument)
{
	volatile unsigned *sum = argument;

	for (unsigned i = 0; i < 100000; i++)
		*sum += i;
	return NULL;
}

static int
threads(int count)
{
	for (int i = 0; i < count; i += 4)
	{
		pthread_t started[4];
		unsigned sums[4] = { 0 };

		for (int j = 0; j < 4; j++)
		{
			if (pthread_create(&started[j], NULL, thread_run, &sums[j]) != 0)
				return 1;
		}
		for (int j = 0; j < 4; j++)
			pthread_join(started[j], NULL);
	}
	return 0;
}

static pthread_barrier_t all_are_there;

__attribute__((noinline)) static void
crowd_work(long ns)
{
	struct timespec now;
	volatile unsigned sum = 0;

	do
	{
		for (unsigned i = 0; i < 1000; i++)
			sum += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec == 0 && now.tv_nsec < ns);
}

static void *
crowd_run(void *number)
{
	unsigned hash = (unsigned) (intptr_t) number * 2654435761u;
	char name[16];

	snprintf(name, sizeof(name), "crowd_%d", (int) (intptr_t) number % 10);
	prctl(PR_SET_NAME, name);
	pthread_barrier_wait(&all_are_there);
	/*
	 * about 2 ms: turns of equal length could keep step with the samples, so that a name is never
	 * sampled
	 */
	crowd_work(1000000 + (hash >> 12) * 2);
	return NULL;
}

static int
crowd(int count)
{
	pthread_t *threads = calloc((size_t) count, sizeof(*threads));
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	if (threads == NULL || pthread_barrier_init(&all_are_there, NULL, (unsigned) count) != 0)
		return 1;
	for (int i = 0; i < count; i++)
	{
		/* threads that wait already end with the process */
		if (pthread_create(&threads[i], &attributes, crowd_run, (void *) (intptr_t) i) != 0)
			return 1;
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

__attribute__((noinline)) static void
orphan_work(clock_t until)
{
	volatile unsigned sum = 0;

	while (clock() < until)
	{
		for (unsigned i = 0; i < 10000; i++)
			sum += i;
	}
}

static void *
orphan_run(void *ms)
{
	prctl(PR_SET_NAME, "orphan");
	orphan_work(clock() + (clock_t) (intptr_t) ms * (CLOCKS_PER_SEC / 1000));
	exit(0);
}

static int
orphan(int ms)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, orphan_run, (void *) (intptr_t) ms) != 0)
		return 1;
	pthread_exit(NULL);
}

int
main(int argc, char **argv)
{
	if (argc > 5 && strcmp(argv[1], "processes") == 0)
		return processes(atoi(argv[2]), argv[3], atoi(argv[4]), argc - 5, argv + 5);
	if (argc > 4 && strcmp(argv[1], "reuse") == 0)
		return reuse(atoi(argv[2]), argv[3], argc - 4, argv + 4);
	if (argc == 7 && strcmp(argv[1], "libraries") == 0)
		return libraries(argv + 2);
	if (argc == 7 && strcmp(argv[1], "fixed") == 0)
		return fixed(argv + 2);
	if (argc == 3 && strcmp(argv[1], "threads") == 0)
		return threads(atoi(argv[2]));
	if (argc == 3 && strcmp(argv[1], "crowd") == 0)
		return crowd(atoi(argv[2]));
	if (argc == 3 && strcmp(argv[1], "orphan") == 0)
		return orphan(atoi(argv[2]));
	return 2;
}
