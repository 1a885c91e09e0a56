/*
 * capabilities.h
 *		The rights that the agent keeps; whatever else it was started with goes.
 */
#ifndef COLLECTOR_CAPABILITIES_H
#define COLLECTOR_CAPABILITIES_H

#include <stdint.h>

/*
 * BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE, SYS_NICE, SYSLOG, SYS_RESOURCE;
 * and SETUID, SETGID, KILL for the symbol worker. Bit i is capability i.
 */
uint64_t capabilities_needed(void);

/*
 * Drops all others, those that programs it starts could get included. Call it before any thread is
 * started. 0 or -errno.
 */
int capabilities_drop(void);

#endif
