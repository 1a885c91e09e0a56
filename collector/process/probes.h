/*
 * probes.h
 *		What is asked of the kernel about a process, with a deadline: what /proc tells, and the
 *		files that it maps.
 */
#ifndef COLLECTOR_PROBES_H
#define COLLECTOR_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/compiler.h"
#include "labels/cgroup.h"
#include "process/mapped_file.h"
#include "process/mapping_list.h"
#include "process/prober.h"
#include "process/proc_file.h"

#define EXE_PATH_BYTES 4096

/* What /proc tells about a process. */
typedef struct ProcessLook
{
	Probe probe;
	uint32_t pid;
	uint32_t tid;	  /* of a thread of it */
	int error;		  /* why it tells nothing about the mappings; 0 */
	uint32_t proc_id; /* that /proc was asked by: the first thread may have ended */
	MappingList mappings;
	char exe[EXE_PATH_BYTES]; /* "" where not known */
	bool exe_deleted;
	CgroupLabels cgroup;
	uint64_t cgroup_ns; /* when /proc told it; 0: it did not */
	size_t mapping_limit;
	bool wants_environment;
	char *environment; /* a string each, then an empty one; NULL: not known, or not wanted */
	uint32_t user;	   /* USER_UNKNOWN: not known */
	int stat_error;
	ProcStat stat; /* read last of all */
} ProcessLook;

/* What is looked at. */
typedef struct LookAt
{
	uint32_t pid;
	uint32_t tid; /* of a thread of it */
	bool environment;
	size_t mappings; /* that are read at most */
} LookAt;

/*
 * 0: the look is to be ended by process_look_free. -ETIMEDOUT, -EBUSY, -ENOMEM: there is none.
 */
int process_look(Prober *prober, const LookAt *at, uint64_t wait_ns, ProcessLook **look);
void process_look_free(ProcessLook *look);

/* /proc/PID/stat alone, which waits for the end of an exec, too. As proc_stat_read, or as above. */
int process_look_stat(Prober *prober, uint32_t pid, uint64_t wait_ns, ProcStat *stat);

/* What a file was compiled by. 0 or as process_look. */
int probe_compiler(Prober *prober, MappedFileTable *files, MappedFile *file, uint64_t wait_ns,
				   char compiler[COMPILER_BYTES]);

typedef enum WantedKind
{
	WANTED_MAPPING,	   /* of a process that lives */
	WANTED_EXECUTABLE, /* its own, which is known by map.name */
	WANTED_PAST,	   /* of one that is gone: by name in the root of pid, or in ours (0) */
} WantedKind;

/* By which process files are opened, and who answers for their number (mapped_file.h). */
typedef struct FileOwner
{
	uint32_t pid;
	uint64_t owner;
} FileOwner;

/* A file to be opened. */
typedef struct WantedFile
{
	WantedKind kind;
	ProcMapping map;
	MappedFile *file; /* held; NULL: it cannot be had */
} WantedFile;

/*
 * Opens them in order, for an owner. *tried are done with; if that is not all, the next one did not
 * answer in time, or memory or threads are out.
 */
void probe_files(Prober *prober, MappedFileTable *files, const FileOwner *owner, WantedFile *wanted,
				 size_t count, uint64_t wait_ns, size_t *tried);

#endif
