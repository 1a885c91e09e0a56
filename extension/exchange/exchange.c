/*
 * exchange.c
 *		Settings and memory of the room.
 */
#include "exchange/exchange.h"

#include "utils/guc.h"
#include "utils/memutils.h"

#define IMPORT_MAX_SIZE_KB_DEFAULT (64 * 1024)
#define IMPORT_MAX_SIZE_KB_MIN	   64
#define IMPORT_MAX_SIZE_KB_MAX	   (1023 * 1024)

int pfs_import_max_size_kb = IMPORT_MAX_SIZE_KB_DEFAULT;

void
pfs_exchange_init(void)
{
	DefineCustomIntVariable("profstore.import_max_size",
							"Largest profile that is imported, as it is when unpacked.",
							"The memory that an import may take follows from it.",
							&pfs_import_max_size_kb, IMPORT_MAX_SIZE_KB_DEFAULT,
							IMPORT_MAX_SIZE_KB_MIN, IMPORT_MAX_SIZE_KB_MAX, PGC_SUSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}

static void *
palloc_realloc(void *context, void *pointer, size_t bytes)
{
	if (bytes == 0)
	{
		if (pointer != NULL)
			pfree(pointer);
		return NULL;
	}
	return pointer == NULL ? MemoryContextAllocHuge(context, bytes) : repalloc_huge(pointer, bytes);
}

PfsAllocator
pfs_exchange_allocator(void)
{
	return (PfsAllocator){ palloc_realloc, CurrentMemoryContext };
}
