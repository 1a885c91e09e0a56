/*
 * replay.c
 *		Walks recorded processes (record.c) with the walker's C in plain memory: no root, no kernel,
 *		the same each time. Prints a line "ok" or "not ok" for all moments of one name.
 *
 *		replay NAME FILE     NAME goes into the results
 *
 * The walker is that of the architecture which this program is compiled for, or of
 * __TARGET_ARCH_arm64. Each stack must be the one that libgcc's unwinder saw in the process itself,
 * frame by frame, up to a proven root; on arm64, where frame pointers are needed and the program
 * keeps none, it may end before. Then the walk is repeated with reads that fail after the first,
 * the second and so on: it must end there, with the frames so far.
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory_tables.h"
#include "recording.h"
#include "unwind/late_walk.h"

_Static_assert(PFS_REGISTER_COUNT <= RECORDING_REGISTERS, "a recording has all registers");

typedef struct Replay
{
	Recording recording;
	uint8_t *stack;
	RecordedSpan described[RECORDING_SPANS]; /* the program's files, as the unwinder reads them */
	uint64_t described_count;
	int files[RECORDING_SPANS];
	KernelTables *tables;
	Unwinder *unwinder;
	ExecImage process;
	unsigned reads_left;
} Replay;

static int
read_recorded(void *context, uint64_t address, uint64_t *value)
{
	Replay *replay = context;
	const Recording *recording = &replay->recording;
	uint64_t offset = address - recording->stack_address;

	if (replay->reads_left-- == 0)
	{
		replay->reads_left = 0;
		return -1;
	}
	if (address >= recording->stack_address && offset + 8 <= recording->stack_bytes)
	{
		memcpy(value, replay->stack + offset, 8);
		return 0;
	}
	for (uint64_t i = 0; i < recording->span_count; i++)
	{
		const RecordedSpan *span = &recording->spans[i];

		if (address >= span->start && address + 8 <= span->end)
			return pread(replay->files[i], value, 8,
						 (off_t) (span->offset + address - span->start)) == 8
					   ? 0
					   : -1;
	}
	return -1;
}

/* Returns the ELF virtual address of a file offset in the executable segment. */
static uint64_t
elf_address(int fd, uint64_t offset)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	uint64_t address = 0;
	size_t count = 0;

	(void) elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++)
	{
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int) i, &header) != NULL && header.p_type == PT_LOAD &&
			(header.p_flags & PF_X) && offset + 65536 > header.p_offset &&
			offset < header.p_offset + header.p_filesz)
			address = offset - header.p_offset + header.p_vaddr;
	}
	elf_end(elf);
	return address;
}

static void
forget(Replay *replay)
{
	for (uint64_t i = 0; i < replay->described_count; i++)
	{
		if (replay->files[i] >= 0)
			close(replay->files[i]);
	}
	replay->described_count = 0;
	unwinder_free(replay->unwinder);
	replay->unwinder = NULL;
}

/*
 * Prepares the tables: moments of one program mostly have equal mappings, whose tables are compiled
 * once.
 */
static bool
describe(Replay *replay)
{
	UnwindSpan spans[RECORDING_SPANS] = { 0 };
	const Recording *recording = &replay->recording;

	if (replay->unwinder != NULL && replay->described_count == recording->span_count &&
		memcmp(replay->described, recording->spans, sizeof(replay->described)) == 0)
		return true;
	forget(replay);
	if (unwinder_create(replay->tables, &replay->unwinder) != 0)
		return false;
	memcpy(replay->described, recording->spans, sizeof(replay->described));
	replay->described_count = recording->span_count;
	for (uint64_t i = 0; i < recording->span_count; i++)
		replay->files[i] = -1;
	for (uint64_t i = 0; i < recording->span_count; i++)
	{
		const RecordedSpan *recorded = &recording->spans[i];

		spans[i] = (UnwindSpan){ .start = recorded->start, .end = recorded->end };
		if (recorded->path[0] == '\0')
			continue;
		replay->files[i] = open(recorded->path, O_RDONLY | O_CLOEXEC);
		spans[i].binary = unwinder_binary_create(replay->unwinder);
		if (unwinder_binary_load(replay->unwinder, spans[i].binary, replay->files[i], 0) != 0)
			return false;
		spans[i].bias = recorded->start - elf_address(replay->files[i], recorded->offset);
	}
	replay->process = (ExecImage){ 1, 1, 1 };
	return unwinder_process_set(replay->unwinder, &replay->process, spans,
								(uint32_t) recording->span_count, 0) == 0;
}

static size_t
walk(Replay *replay, unsigned reads, uint64_t *frames, int *status)
{
	const uint64_t *registers = replay->recording.registers;
	struct pfs_walk_state at = { .innermost = 1 };

	for (int i = 0; i < PFS_REGISTER_COUNT; i++)
		at.registers[i] = registers[i];
	at.pc = registers[PFS_REGISTER_PC];
	at.sp = registers[PFS_REGISTER_SP];
	at.fp = registers[PFS_REGISTER_FP];
	replay->reads_left = reads;
	return late_walk(replay->unwinder,
					 &(LateWalk){ &replay->process, &at, read_recorded, replay, false }, frames,
					 RECORDING_FRAMES, status);
}

/* Compares the frames from the second on with the oracle's; the first is the recorded pc. */
static bool
agrees(const Recording *recording, const uint64_t *frames, size_t count)
{
	for (size_t i = 1; i < count; i++)
	{
		if (PFS_FRAME_ADDRESS(frames[i]) != recording->frames[i])
		{
			printf("# frame %zu: %" PRIx64 ", expected %" PRIx64 "\n", i,
				   (uint64_t) PFS_FRAME_ADDRESS(frames[i]), recording->frames[i]);
			return false;
		}
	}
	return true;
}

/* Counts return addresses on the stack that carry an authentication code above the address. */
static unsigned
count_signed(const Replay *replay)
{
	const Recording *recording = &replay->recording;
	unsigned count = 0;

	for (uint64_t at = 0; at + 8 <= recording->stack_bytes; at += 8)
	{
		uint64_t word;

		memcpy(&word, replay->stack + at, sizeof(word));
		for (uint64_t i = 1; i < recording->frame_count; i++)
		{
			if (word == recording->frames[i] ||
				(word & ((UINT64_C(1) << 48) - 1)) != recording->frames[i])
				continue;
			count++;
			break;
		}
	}
	return count;
}

/* Returns true for code without CFI, whose callers can only be found by frame pointers. */
static bool
may_end_early(const char *name)
{
#ifdef PFS_ARM64
	return strcmp(name, "generated") == 0 || strcmp(name, "jit") == 0;
#else
	(void) name;
	return false;
#endif
}

/*
 * Each walk ends at the first read that fails; the last walk, with enough reads, is the whole one
 * again.
 */
static bool
check_failing_reads(Replay *replay, size_t count)
{
	uint64_t frames[RECORDING_FRAMES];

	for (unsigned reads = 0; reads < 10000; reads++)
	{
		int status = -1;
		size_t cut = walk(replay, reads, frames, &status);

		if (!agrees(&replay->recording, frames, cut))
			return false;
		if (status == PFS_WALK_END_OF_STACK)
			return cut == count && reads > 0;
		if (status != PFS_WALK_READ_FAILED || cut == 0 || cut >= count)
			return false;
	}
	return false;
}

static bool
check(Replay *replay, bool tell)
{
	const Recording *recording = &replay->recording;
	uint64_t frames[RECORDING_FRAMES];
	uint64_t not_called = 0; /* a signal's trampoline, and the frame that it interrupted */
	int status = -1;
	size_t count = walk(replay, UINT32_MAX, frames, &status);
	bool same;

	if (status == PFS_WALK_NO_RULE && may_end_early(recording->name))
	{
		printf("# ends after %zu of %" PRIu64 " frames\n", count, recording->frame_count);
		return count >= 3 && agrees(recording, frames, count);
	}
	for (size_t i = 1; i < count; i++)
		not_called += !(frames[i] & PFS_FRAME_RETURN_ADDRESS);
	same = status == PFS_WALK_END_OF_STACK && count >= 4 && count == recording->frame_count &&
		   not_called == 2 * recording->signals && agrees(recording, frames, count);
	if (tell || !same)
		printf("# at %" PRIx64 ": %zu frames, %" PRIu64 " expected, status %d, %" PRIu64
			   " not called, %u signed\n",
			   recording->registers[PFS_REGISTER_PC], count, recording->frame_count, status,
			   not_called, count_signed(replay));
	return same && check_failing_reads(replay, count);
}

/* Reads the next recording of the file, with its stack. Returns false at the end. */
static bool
next_recording(Replay *replay, FILE *file)
{
	if (fread(&replay->recording, sizeof(Recording), 1, file) != 1)
		return false;
	free(replay->stack);
	replay->stack = malloc(replay->recording.stack_bytes);
	if (replay->stack == NULL || fread(replay->stack, replay->recording.stack_bytes, 1, file) != 1)
	{
		fprintf(stderr, "replay: the recording is cut short\n");
		exit(2);
	}
	return true;
}

int
main(int argc, char **argv)
{
	static Replay replay;
	char name[sizeof(replay.recording.name)];
	bool failed = false;
	bool more;
	FILE *file;

	elf_version(EV_CURRENT);
	replay.tables = memory_tables_create();
	if (argc != 3 || replay.tables == NULL || (file = fopen(argv[2], "re")) == NULL)
		return 2;
	more = next_recording(&replay, file);
	while (more)
	{
		unsigned moments = 0;
		bool same = true;

		memcpy(name, replay.recording.name, sizeof(name));
		do
		{
			bool right = describe(&replay) && check(&replay, moments == 0);

			moments++;
			same = same && right;
			more = next_recording(&replay, file);
		} while (more && strcmp(name, replay.recording.name) == 0);
		failed = failed || !same;
		printf("%sok - %s: %s, moments: %u\n", same ? "" : "not ", argv[1], name, moments);
	}
	fclose(file);
	forget(&replay);
	memory_tables_free(replay.tables);
	free(replay.stack);
	return failed;
}
