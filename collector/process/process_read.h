/*
 * process_read.h
 *		Reads the facts about a process from /proc, the side-band or its parent.
 */
#ifndef COLLECTOR_PROCESS_READ_H
#define COLLECTOR_PROCESS_READ_H

#include "process/process_entry.h"

/*
 * Reads all facts about a process; if it has exited, keeps the known facts. Releases the lock
 * during the wait. Does nothing while another thread waits for the process.
 */
void process_read(ProcessTable *table, Process *process, uint64_t now_ns);

/* Like process_read(), but within the rate limit of repeated reads. */
void process_reread(ProcessTable *table, Process *process, uint64_t now_ns);

/*
 * Gives a process that exited before it was read the control group of its parent. If the process
 * was forked and has not executed anything, which the randomized address of its arguments proves,
 * also gives it the parent's image.
 */
void process_inherit(ProcessTable *table, Process *process);

/*
 * Opens files of a process through the /proc of pid; the files of some may stay NULL. Releases the
 * lock during the wait.
 */
void process_open(ProcessTable *table, Process *process, uint32_t pid, WantedFile *wanted,
				  size_t count);

/*
 * Opens the file of a sampled mapping, if that was not tried: a process's files beyond
 * PROCESS_FILES_EAGER are opened only when sampled. Releases the lock during the wait.
 */
void process_open_late(ProcessTable *table, Process *process, Mapping *mapping);

/*
 * process_cgroup_key() returns the control group ids of a sample. process_follow_cgroup() reads the
 * group again when the ids have changed.
 */
CgroupKey process_cgroup_key(const ProcessTable *table, const struct pfs_sample *sample);
void process_follow_cgroup(ProcessTable *table, Process *process, const struct pfs_sample *sample,
						   uint64_t now_ns);

/* Returns whether /proc/PID/stat may be about the image of the process. */
bool process_is_of_image(const ProcessTable *table, const Process *process, const ProcStat *stat);

/*
 * Returns true if /proc/PID is still about the sampled image, because a process never returns to an
 * earlier image. Also returns true if /proc does not answer. Releases the lock during the wait.
 */
bool process_executes_still(ProcessTable *table, Process *process);

/*
 * Returns the process within whose root files are looked up by name: the process itself or its
 * parent; 0 for our own root.
 */
uint32_t process_root_pid(const Process *process);

#endif
