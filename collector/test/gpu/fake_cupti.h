/*
 * fake_cupti.h
 *		Controls a libcupti.so whose launches the test makes.
 */
#ifndef TEST_FAKE_CUPTI_H
#define TEST_FAKE_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Everything that CUPTI has been seen to do wrong, and is read or announced to do. */
typedef struct FakeCuptiFaults
{
	size_t record_bytes; /* 160, 208 or 216, as in versions 5, 8 and 10 of the record; 0: 216 */
	bool has_profiler;	 /* another profiler has subscribed: error 39 */
	bool has_no_clock;	 /* it refuses to use our clock */
	int failing;		 /* error of cuptiActivityEnable */
	int failing_flush;	 /* error of cuptiActivityFlushAll */
	/* Each record whose number is a multiple of one of these has a fault; 0: none has. */
	uint32_t zero_every;	  /* its start is 0 */
	uint32_t backwards_every; /* it ends before it starts */
	uint32_t early_every;	  /* it began long before, as records beside graphs do */
	uint32_t unmatched_every; /* its correlation is that of no callback */
	uint32_t drop_every;	  /* it is lost and counted */
	bool ignores_time;		  /* kernels of a stream overlap: sums above the time that passed */
	bool is_late;			  /* flushes deliver nothing until this is false again */
} FakeCuptiFaults;

typedef struct FakeCuptiCounts
{
	uint64_t subscribed;
	uint64_t records; /* of kernels */
	uint64_t ns;
	bool is_subscribed; /* at this moment */
	bool is_active;		/* activity of kernels is on at this moment */
} FakeCuptiCounts;

/* Launches count kernels that take ns each: cuLaunchKernel if it is 1, otherwise cuGraphLaunch. */
typedef void FakeLaunch(const char *name, uint64_t ns, uint32_t count, uint32_t stream);
/*
 * Launches kernels whose activity is recorded although it is off: CUPTI switches it on for kernels
 * that wait.
 */
typedef void FakeLaunchWaiting(const char *name, uint64_t ns, uint32_t kernels);
/* A launch under capture of a stream: it is called back, and has no record. */
typedef void FakeCapture(void);
typedef void FakeCopy(uint8_t kind, uint64_t bytes, uint64_t ns);
typedef void FakeConfigure(const FakeCuptiFaults *faults);
typedef void FakeCounts(FakeCuptiCounts *counts);

#endif
