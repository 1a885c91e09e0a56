/*
 * capabilities.h
 *		The capabilities that the agent keeps; it drops all others.
 */
#ifndef COLLECTOR_CAPABILITIES_H
#define COLLECTOR_CAPABILITIES_H

#include <linux/capability.h>
#include <stdint.h>

/* the kernel's numbers, which older headers lack */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/*
 * Returns the capabilities that the agent keeps: BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH,
 * CHECKPOINT_RESTORE, SYS_NICE, SYSLOG, SYS_RESOURCE; and SETUID, SETGID, KILL for the symbol
 * worker. Bit i is capability i.
 */
uint64_t capabilities_needed(void);

/*
 * Drops all capabilities that the agent does not need, including those that started programs could
 * get. Call it before any thread is started. Returns 0 or -errno.
 */
int capabilities_drop(void);

#endif
