/*
 * off_cpu.h
 *		Bounds of the sampling of waits.
 */
#ifndef COLLECTOR_OFF_CPU_H
#define COLLECTOR_OFF_CPU_H

#include <stdint.h>

/* The programs count with 32 bits; a wait stands for this long at least where waits are many. */
#define OFF_CPU_PERIOD_NS_MAX UINT64_C(4000000000)

/*
 * How many of the waits that go on may be stored in a round of that length. No more than half of
 * the samples; and of very many threads fewer, because the round visits all threads once for each
 * batch of waits: a million visits in 10 s, some 100 ns each, are 1 % of a CPU.
 */
uint64_t off_cpu_allowed_waits(uint64_t samples_a_second, uint64_t round_ns, uint64_t threads);

#endif
