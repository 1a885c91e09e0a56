/*
 * short_turns.c
 *		Reads and sets the length of a thread's turns. Older C libraries have no functions for this.
 */
#include "base/short_turns.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The fields of the kernel's struct sched_attr that all kernels have. The kernel's header cannot be
 * included, because it defines a struct of the C library again.
 */
typedef struct SchedulingAttributes
{
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns; /* length of a turn under the default policy */
	uint64_t deadline_ns;
	uint64_t period_ns;
} SchedulingAttributes;

/* Reads the calling thread's attributes. Returns false if its policy is not the default one. */
static bool
read_attributes(SchedulingAttributes *attributes)
{
	*attributes = (SchedulingAttributes){ .size = sizeof(*attributes) };
	return syscall(SYS_sched_getattr, 0, attributes, sizeof(*attributes), 0) == 0 &&
		   attributes->policy == SCHED_OTHER;
}

void
short_turns_take(void)
{
	SchedulingAttributes attributes;

	if (!read_attributes(&attributes))
		return;
	attributes.runtime_ns = SHORT_TURN_NS;
	/* a refusal leaves turns of the usual length, which only make the thread later */
	(void) syscall(SYS_sched_setattr, 0, &attributes, 0);
}

uint64_t
short_turns_length_ns(void)
{
	SchedulingAttributes attributes;

	return read_attributes(&attributes) ? attributes.runtime_ns : 0;
}
