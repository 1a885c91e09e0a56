/*
 * compare_libdw.c
 *		Stops a running process and unwinds all its threads twice: by our walker and by libdw.
 *
 *		compare_libdw PID...
 *
 * Prints a line per thread that differs, then the sums; exit 1 if any differs.
 *
 * libdw interprets the same CFI with an evaluator of its own, so frames must agree one by one.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "memory_tables.h"
#include "unwind/late_walk.h"

#define MAX_FRAMES 512
#define MAX_SPANS  4096

typedef struct Stack
{
	uint64_t pcs[MAX_FRAMES];
	size_t count;
} Stack;

typedef struct Sums
{
	unsigned threads;
	unsigned complete;
	unsigned differ;
	unsigned statuses[PFS_WALK_STATUS_COUNT];
} Sums;

typedef struct Loaded
{
	char path[512];
	UnwindBinary *binary;
	struct Loaded *next;
} Loaded;

static Loaded *loaded;

static int
read_memory(void *context, uint64_t address, uint64_t *value)
{
	pid_t pid = *(pid_t *) context;
	struct iovec local = { value, sizeof(*value) };
	struct iovec remote = { (void *) (uintptr_t) address, sizeof(*value) };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t) sizeof(*value) ? 0 : -1;
}

static bool
file_address(int fd, uint64_t offset, uint64_t *address)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	size_t count = 0;
	bool found = false;

	if (elf != NULL)
		elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count && !found; i++)
	{
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int) i, &header) == NULL || header.p_type != PT_LOAD ||
			!(header.p_flags & PF_X))
			continue;
		if (offset >= (header.p_offset & ~UINT64_C(4095)) &&
			offset < header.p_offset + header.p_filesz)
		{
			*address = offset - header.p_offset + header.p_vaddr;
			found = true;
		}
	}
	elf_end(elf);
	return found;
}

static UnwindBinary *
load_binary(Unwinder *unwinder, pid_t pid, const UnwindSpan *span, const char *path,
			uint64_t offset, uint64_t *address)
{
	Loaded *entry;
	char name[600];
	int fd;

	/* without the leading zeros that "maps" writes */
	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, span->start,
			 span->end);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !file_address(fd, offset, address))
	{
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	for (entry = loaded; entry != NULL; entry = entry->next)
	{
		if (strcmp(entry->path, path) == 0)
		{
			close(fd);
			return entry->binary;
		}
	}
	entry = calloc(1, sizeof(*entry));
	snprintf(entry->path, sizeof(entry->path), "%s", path);
	entry->binary = unwinder_binary_create(unwinder);
	if (unwinder_binary_load(unwinder, entry->binary, fd, 0) != 0)
		fprintf(stderr, "could not load \"%s\"\n", path);
	entry->next = loaded;
	loaded = entry;
	close(fd);
	return entry->binary;
}

/* Copies the ELF image of the vDSO, which has no file, from the process. */
static UnwindBinary *
load_vdso(Unwinder *unwinder, pid_t pid, uint64_t start, uint64_t end)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	UnwindBinary *binary = unwinder_binary_create(unwinder);

	for (uint64_t at = start; at < end; at += 8)
	{
		uint64_t word = 0;

		(void) read_memory(&pid, at, &word);
		if (write(fd, &word, sizeof(word)) != (ssize_t) sizeof(word))
			abort();
	}
	(void) unwinder_binary_load(unwinder, binary, fd, 0);
	close(fd);
	return binary;
}

static int
describe_process(Unwinder *unwinder, pid_t pid)
{
	static UnwindSpan spans[MAX_SPANS];
	ExecImage process = { .pid = (uint32_t) pid };
	uint32_t count = 0;
	char line[1024];
	char path[64];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return -errno;
	while (count < MAX_SPANS && fgets(line, sizeof(line), maps) != NULL)
	{
		UnwindSpan *span = &spans[count];
		char range[64];
		char permissions[8];
		char name[512] = "";
		uint64_t offset;
		uint64_t address;

		if (sscanf(line, "%63s %7s %" SCNx64 " %*s %*s %511[^\n]", range, permissions, &offset,
				   name) < 3 ||
			permissions[2] != 'x' ||
			sscanf(range, "%" SCNx64 "-%" SCNx64, &span->start, &span->end) != 2)
			continue;
		span->binary = NULL;
		span->bias = 0;
		if (name[0] == '/' &&
			(span->binary = load_binary(unwinder, pid, span, name, offset, &address)) != NULL)
			span->bias = span->start - address;
		else if (strcmp(name, "[vdso]") == 0)
		{
			span->binary = load_vdso(unwinder, pid, span->start, span->end);
			span->bias = span->start;
		}
		count++;
	}
	fclose(maps);
	return unwinder_process_set(unwinder, &process, spans, count, 0);
}

static int
collect_frame(Dwfl_Frame *frame, void *context)
{
	Stack *stack = context;
	Dwarf_Addr pc;

	if (stack->count == MAX_FRAMES || !dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	stack->pcs[stack->count++] = pc;
	return DWARF_CB_OK;
}

static void
innermost_frame(const struct user_regs_struct *user, struct pfs_walk_state *state)
{
	const uint64_t values[] = { user->rax, user->rdx, user->rcx, user->rbx, user->rsi, user->rdi,
								user->rbp, user->rsp, user->r8,	 user->r9,	user->r10, user->r11,
								user->r12, user->r13, user->r14, user->r15, user->rip };

	memset(state, 0, sizeof(*state));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		state->registers[i] = values[i];
	state->pc = user->rip;
	state->sp = user->rsp;
	state->fp = user->rbp;
	state->innermost = 1;
}

static int
compare_thread(Dwfl_Thread *thread, void *context)
{
	void **arguments = context;
	const Unwinder *unwinder = arguments[0];
	Sums *sums = arguments[1];
	pid_t pid = *(pid_t *) arguments[2];
	pid_t tid = dwfl_thread_tid(thread);
	struct user_regs_struct user;
	struct iovec io = { &user, sizeof(user) };
	ExecImage process = { .pid = (uint32_t) pid };
	struct pfs_walk_state state;
	uint64_t frames[MAX_FRAMES];
	Stack theirs = { .count = 0 };
	size_t count;
	size_t same = 0;
	int status;

	if (ptrace(PTRACE_GETREGSET, tid, (void *) NT_PRSTATUS, &io) != 0)
		return DWARF_CB_OK;
	innermost_frame(&user, &state);
	dwfl_thread_getframes(thread, collect_frame, &theirs);
	count = late_walk(unwinder, &(LateWalk){ &process, &state, read_memory, &pid, false }, frames,
					  MAX_FRAMES, &status);

	while (same < count && same < theirs.count &&
		   PFS_FRAME_ADDRESS(frames[same]) == theirs.pcs[same])
		same++;
	sums->threads++;
	sums->statuses[status]++;
	if (status == PFS_WALK_END_OF_STACK || status == PFS_WALK_END_OF_FRAMES)
		sums->complete++;
	if (same < theirs.count || (same < count && status != PFS_WALK_END_OF_STACK))
	{
		sums->differ++;
		printf("%d/%d: status %d, ours %zu frames, libdw %zu, %zu agree; then %" PRIx64
			   " against %" PRIx64 "\n",
			   pid, tid, status, count, theirs.count, same,
			   same < count ? (uint64_t) PFS_FRAME_ADDRESS(frames[same]) : 0,
			   same < theirs.count ? theirs.pcs[same] : 0);
	}
	return DWARF_CB_OK;
}

/* Stops every thread, or continues all; threads that start meanwhile are missed. */
static void
for_each_thread(pid_t pid, bool stop)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks != NULL && (entry = readdir(tasks)) != NULL)
	{
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		if (!stop)
			ptrace(PTRACE_DETACH, tid, NULL, NULL);
		else if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 &&
				 ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0)
			waitpid(tid, NULL, __WALL);
	}
	if (tasks != NULL)
		closedir(tasks);
}

static int
compare_process(pid_t pid, Unwinder *unwinder, Sums *sums)
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
											  .find_debuginfo = dwfl_standard_find_debuginfo,
											  .debuginfo_path = &debug_path };
	Dwfl *dwfl = dwfl_begin(&callbacks);
	void *arguments[] = { unwinder, sums, &pid };
	int result = -1;

	for_each_thread(pid, true);
	if (dwfl_linux_proc_report(dwfl, pid) == 0 && dwfl_report_end(dwfl, NULL, NULL) == 0 &&
		dwfl_linux_proc_attach(dwfl, pid, true) == 0 && describe_process(unwinder, pid) == 0)
		result = dwfl_getthreads(dwfl, compare_thread, arguments);
	if (result != 0)
		fprintf(stderr, "could not unwind process %d: %s\n", pid, dwfl_errmsg(-1));
	dwfl_end(dwfl);
	for_each_thread(pid, false);
	return result;
}

int
main(int argc, char **argv)
{
	Sums sums = { 0 };
	KernelTables *tables = memory_tables_create();
	Unwinder *unwinder;

	elf_version(EV_CURRENT);
	if (argc < 2 || tables == NULL || unwinder_create(tables, &unwinder) != 0)
		return 2;
	for (int i = 1; i < argc; i++)
		(void) compare_process(atoi(argv[i]), unwinder, &sums);
	printf("%u threads, %u complete, %u differ\n", sums.threads, sums.complete, sums.differ);
	for (int i = 0; i < PFS_WALK_STATUS_COUNT; i++)
		if (sums.statuses[i] != 0)
			printf("status %d: %u\n", i, sums.statuses[i]);
	return sums.differ != 0;
}
