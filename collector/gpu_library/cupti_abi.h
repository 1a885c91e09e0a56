/*
 * cupti_abi.h
 *		The part of CUPTI's binary interface that is used, in our own declarations.
 *
 * The offsets are the same in CUPTI 11.8, 12.1, 12.4, 13.0 and 13.4. Records are longer in some of
 * these versions, so they are read by offsets, and never copied as structures.
 */
#ifndef GPU_LIBRARY_CUPTI_ABI_H
#define GPU_LIBRARY_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum
{
	CUPTI_DONE = 0,
	CUPTI_TWO_SUBSCRIBERS = 39 /* another profiler has subscribed */
};

/* kinds of activity */
enum
{
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_KERNEL = 3,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_MEMCPY_PEER = 22
};

enum
{
	CUPTI_DRIVER = 1, /* the domain of the driver's functions */
	CUPTI_ENTER = 0,  /* the place of a callback: before the function */
	CUPTI_GRAPH_LAUNCH = 514,
	CUPTI_GRAPH_LAUNCH_PTSZ = 515
};

/* The driver's functions that launch work: of all versions, with and without a stream per thread */
#define CUPTI_LAUNCHES                                                                            \
	{                                                                                             \
		115, 116, 117, 307, 442, 477, 478, 480, CUPTI_GRAPH_LAUNCH, CUPTI_GRAPH_LAUNCH_PTSZ, 652, \
			653                                                                                   \
	}

/* the argument of a callback */
typedef struct CuptiCall
{
	int32_t site;
	const char *function;
	const void *parameters;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *data;
	uint32_t correlation;
} CuptiCall;

_Static_assert(offsetof(CuptiCall, symbol) == 32, "as CUPTI lays it out");
_Static_assert(offsetof(CuptiCall, data) == 56, "as CUPTI lays it out");
_Static_assert(offsetof(CuptiCall, correlation) == 64, "as CUPTI lays it out");

/* Offsets in a kernel's record. */
enum
{
	KERNEL_START = 16,
	KERNEL_END = 24,
	KERNEL_DEVICE = 40,
	KERNEL_STREAM = 48,
	KERNEL_CORRELATION = 92,
	KERNEL_NAME = 104,
	KERNEL_GRAPH = 156
};

/* Offsets in the record of a copy, and of memory that is set. */
enum
{
	COPY_KIND = 4, /* one byte; of copies only */
	COPY_SIZE = 8,
	COPY_START = 16,
	COPY_END = 24,
	COPY_DEVICE = 32,
	COPY_STREAM = 40
};

typedef void (*CuptiRequest)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*CuptiComplete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
							  size_t valid);
typedef void (*CuptiCallback)(void *user, int32_t domain, uint32_t callback, const void *call);
typedef uint64_t (*CuptiClock)(void);

#endif
