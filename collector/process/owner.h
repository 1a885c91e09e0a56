/*
 * owner.h
 *		The owner of a process: who pays for what it makes the agent do.
 */
#ifndef COLLECTOR_OWNER_H
#define COLLECTOR_OWNER_H

#include <stdint.h>

/*
 * Its user, or its control group if that is root, as containers run as root. Processes that have
 * ended have one owner together. Never 0. The kernel answers at once, because neither question
 * takes a lock of the process's memory.
 */
uint64_t owner_of_process(uint32_t pid);

#endif
