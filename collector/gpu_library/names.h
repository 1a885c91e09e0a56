/*
 * names.h
 *		The names of kernels, each with a number that stays the same as long as the process lives.
 *
 * One thread at a time.
 */
#ifndef GPU_LIBRARY_NAMES_H
#define GPU_LIBRARY_NAMES_H

#include <stdint.h>

#include "gpu_rows.h"

/* The text is copied, and found again by its content. NULL terminated only if it is short. */
typedef struct KernelName
{
	uint32_t hash;
	uint32_t length;
	uint64_t sent_ns; /* when the name was sent to the collector; 0: never */
	char text[PFS_GPU_NAME_BYTES];
} KernelName;

/* Forgets which pointers stand for which names, because kernels may be unloaded. */
void names_begin_window(void);

/*
 * Returns the number of the name at a pointer of CUPTI's; PFS_GPU_OTHER_NAME if it cannot be read
 * or there are too many names.
 */
uint32_t name_number(const char *text);

/* Returns a name; NULL for PFS_GPU_OTHER_NAME. */
KernelName *name_of(uint32_t number);

/* Marks all names as not sent to the collector. */
void names_forget_sent(void);

#endif
