/*
 * names.c
 *		The names of kernels. Number n is at place n - 1; a hash table finds names by content, and a
 *		cache finds them by the pointers of the current window.
 */
#include "gpu_library/names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NAMES		(PFS_GPU_NAMES_MAX - 1)
#define NAME_SLOTS	(2 * PFS_GPU_NAMES_MAX)
#define PLACE_SLOTS (2 * PFS_GPU_NAMES_MAX)
#define PAGE_BYTES	4096

/* The number of a name that was found at a pointer. */
typedef struct NamePlace
{
	const char *pointer; /* NULL: free */
	uint32_t number;
} NamePlace;

static KernelName names[NAMES];
static uint32_t name_count;
static uint16_t name_slots[NAME_SLOTS]; /* number of a name; 0: free */
static NamePlace name_places[PLACE_SLOTS];
static uint32_t place_count;

void
names_begin_window(void)
{
	if (place_count > 0)
		memset(name_places, 0, sizeof(name_places));
	place_count = 0;
}

/*
 * Returns whether the page of a text can be read. The kernel reads a set of signals there before it
 * refuses what is to be done with it, so nothing changes.
 */
static bool
name_is_mapped(const char *text)
{
	uintptr_t word = (uintptr_t) text & ~(uintptr_t) 7;

	return syscall(SYS_rt_sigprocmask, -1, word, NULL, sizeof(uint64_t)) != 0 && errno != EFAULT;
}

/*
 * Copies at most PFS_GPU_NAME_BYTES of a text without a fault if its memory is gone, because the
 * module of a kernel may have been unloaded meanwhile. Reads page by page: the text may end just
 * before one that cannot be read. Returns the length; 0 if nothing can be read.
 */
static uint32_t
name_copy(const char *text, char copy[PFS_GPU_NAME_BYTES])
{
	uint32_t length = 0;

	while (length < PFS_GPU_NAME_BYTES)
	{
		const char *from = text + length;
		size_t left = PAGE_BYTES - ((uintptr_t) from & (PAGE_BYTES - 1));
		size_t wanted = left < PFS_GPU_NAME_BYTES - length ? left : PFS_GPU_NAME_BYTES - length;
		struct iovec here = { copy + length, wanted };
		struct iovec there = { (void *) (uintptr_t) from, wanted };
		ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
		size_t part;

		if (got < 0 && (errno == EPERM || errno == ENOSYS))
		{
			/* a filter of system calls forbids this way */
			if (!name_is_mapped(from))
				return 0;
			part = strnlen(from, wanted);
			memcpy(copy + length, from, part);
		}
		else if (got <= 0)
			return 0;
		else
		{
			wanted = (size_t) got;
			part = strnlen(copy + length, wanted);
		}
		length += (uint32_t) part;
		if (part < wanted)
			break;
	}
	return length;
}

static uint32_t
name_hash(const char *text, uint32_t length)
{
	uint64_t hash = UINT64_C(0xCBF29CE484222325);

	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t) text[i]) * UINT64_C(0x100000001B3);
	return (uint32_t) (hash ^ hash >> 32);
}

/* Finds a name by its content, or adds it. */
static uint32_t
name_find(const char *text, uint32_t length)
{
	uint32_t hash = name_hash(text, length);
	uint32_t at = hash & (NAME_SLOTS - 1);
	KernelName *name;

	while (name_slots[at] != 0)
	{
		name = &names[name_slots[at] - 1];
		if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0)
			return name_slots[at];
		at = (at + 1) & (NAME_SLOTS - 1);
	}
	if (name_count == NAMES)
		return PFS_GPU_OTHER_NAME;
	name = &names[name_count++];
	name->hash = hash;
	name->length = length;
	memcpy(name->text, text, length);
	name_slots[at] = (uint16_t) name_count;
	return name_count;
}

uint32_t
name_number(const char *text)
{
	uint32_t at =
		(uint32_t) (((uintptr_t) text * UINT64_C(0x9E3779B97F4A7C15)) >> 40) & (PLACE_SLOTS - 1);
	char copy[PFS_GPU_NAME_BYTES];
	uint32_t number = PFS_GPU_OTHER_NAME;
	uint32_t length;

	if (text == NULL)
		return PFS_GPU_OTHER_NAME;
	while (name_places[at].pointer != NULL && name_places[at].pointer != text)
		at = (at + 1) & (PLACE_SLOTS - 1);
	if (name_places[at].pointer == text)
		return name_places[at].number;
	length = name_copy(text, copy);
	if (length > 0)
		number = name_find(copy, length);
	if (place_count < PLACE_SLOTS / 2)
	{
		name_places[at] = (NamePlace){ text, number };
		place_count++;
	}
	return number;
}

KernelName *
name_of(uint32_t number)
{
	return number != PFS_GPU_OTHER_NAME && number <= name_count ? &names[number - 1] : NULL;
}

void
names_forget_sent(void)
{
	for (uint32_t i = 0; i < name_count; i++)
		names[i].sent_ns = 0;
}
