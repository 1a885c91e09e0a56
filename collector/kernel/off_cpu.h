/*
 * off_cpu.h
 *		Limits for the sampling of waits.
 */
#ifndef COLLECTOR_OFF_CPU_H
#define COLLECTOR_OFF_CPU_H

#include <stdint.h>

/*
 * Limit of the programs' 32-bit counters, and therefore of the wait time that one sample stands for
 * if there are many waits.
 */
#define OFF_CPU_PERIOD_NS_MAX UINT64_C(4000000000)

/*
 * Returns how many ongoing waits may be stored in a round of that length: at most half of the
 * samples, and fewer if there are very many threads, because a round visits all threads once for
 * each batch of waits. A million visits in 10 s, of some 100 ns each, take 1 % of a CPU.
 */
uint64_t off_cpu_allowed_waits(uint64_t samples_a_second, uint64_t round_ns, uint64_t threads);

#endif
