/*
 * process_read.h
 *		Reads the facts about a process from /proc, the side-band or its parent.
 */
#ifndef COLLECTOR_PROCESS_READ_H
#define COLLECTOR_PROCESS_READ_H

#include "process/process_entry.h"

/*
 * Reads everything about a process; if it has exited, keeps what is known. Releases the lock
 * during the wait. Does nothing while another thread waits for the process.
 */
void process_read(ProcessTable *table, Process *process, uint64_t now_ns);

/* Like process_read(), but within the rate limit of repeated reads. */
void process_reread(ProcessTable *table, Process *process, uint64_t now_ns);

/*
 * Gives a process that exited too early its parent's control group; and if it was forked and has
 * not executed anything, which the randomized address of its arguments proves, its parent's image,
 * too.
 */
void process_inherit(ProcessTable *table, Process *process);

/*
 * Opens files of a process through pid; some may stay NULL. Releases the lock during the wait.
 */
void process_open(ProcessTable *table, Process *process, uint32_t pid, WantedFile *wanted,
				  size_t count);

/*
 * Opens the file of a mapping in which a sample lies, if that was not tried: beyond
 * PROCESS_FILES_EAGER files are opened only then. Releases the lock during the wait.
 */
void process_open_late(ProcessTable *table, Process *process, Mapping *mapping);

/* The control group ids of a sample, and following a process into another control group. */
CgroupKey process_cgroup_key(const ProcessTable *table, const struct pfs_sample *sample);
void process_follow_cgroup(ProcessTable *table, Process *process, const struct pfs_sample *sample,
						   uint64_t now_ns);

/* Returns whether /proc/PID/stat may be about the image of the process. */
bool process_is_of_image(const ProcessTable *table, const Process *process, const ProcStat *stat);

/*
 * Returns whether /proc/PID is still about the sampled image; images never come back. True also if
 * /proc does not answer. Releases the lock during the wait.
 */
bool process_executes_still(ProcessTable *table, Process *process);

/*
 * Returns the process within whose root files are looked up by name: the process itself, its
 * parent, or 0 for our root.
 */
uint32_t process_root_pid(const Process *process);

#endif
