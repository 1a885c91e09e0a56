/*
 * probes.h
 *		Reads of /proc and opens of mapped files, with a deadline.
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

/* Facts about a process that were read from /proc. */
typedef struct ProcessLook
{
	Probe probe;
	uint32_t pid;
	uint32_t tid; /* a thread of the process */
	int error;	  /* 0; otherwise the error of reading the mappings */
	/* id under which /proc was read: pid, or tid if the first thread has exited */
	uint32_t proc_id;
	MappingList mappings;
	char exe[EXE_PATH_BYTES]; /* "" if not known */
	bool exe_deleted;
	CgroupLabels cgroup;
	uint64_t cgroup_ns; /* time of reading the control group; 0: that failed */
	size_t mapping_limit;
	bool wants_environment;
	/* "NAME=value" strings, ended by an empty string; NULL: not known or not requested. */
	char *environment;
	uint32_t user; /* USER_UNKNOWN if not known */
	int stat_error;
	ProcStat stat; /* read last, to verify the rest */
} ProcessLook;

/* Arguments of process_look(). */
typedef struct LookAt
{
	uint32_t pid;
	uint32_t tid; /* a thread of the process */
	bool environment;
	size_t mappings; /* maximum number of mappings */
} LookAt;

/*
 * Reads the facts. Returns 0 and *look, for process_look_free(); otherwise -ETIMEDOUT, -EBUSY or
 * -ENOMEM.
 */
int process_look(Prober *prober, const LookAt *at, uint64_t wait_ns, ProcessLook **look);
void process_look_free(ProcessLook *look);

/*
 * Reads /proc/PID/stat alone, which blocks during an exec, too. Returns like proc_stat_read() or
 * process_look().
 */
int process_look_stat(Prober *prober, uint32_t pid, uint64_t wait_ns, ProcStat *stat);

/* Determines the compiler of a file. Returns like process_look(). */
int probe_compiler(Prober *prober, MappedFileTable *files, MappedFile *file, uint64_t wait_ns,
				   char compiler[COMPILER_BYTES]);

typedef enum WantedKind
{
	WANTED_MAPPING,	   /* file of a mapping of a living process */
	WANTED_EXECUTABLE, /* the executable of a living process; only map.name is used */
	/* file of an exited process: by name within the root of pid, or our own root (0) */
	WANTED_PAST,
} WantedKind;

/*
 * The process through whose /proc files are opened, and the owner that is charged (mapped_file.h).
 */
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
	MappedFile *file; /* a reference; NULL if not available */
	bool late;		  /* set by process_open(): the file did not answer, or was not asked */
} WantedFile;

/*
 * Opens the files in order. *tried is the number of finished attempts. If it is less than count,
 * the next file did not answer in time, or memory or threads ran out.
 */
void probe_files(Prober *prober, MappedFileTable *files, const FileOwner *owner, WantedFile *wanted,
				 size_t count, uint64_t wait_ns, size_t *tried);

#endif
