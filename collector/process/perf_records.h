/*
 * perf_records.h
 *		Records of perf events about forks, exits and mappings, as the kernel writes them
 *		(perf_event_open(2)), without the trailer of sample_id_all.
 */
#ifndef COLLECTOR_PERF_RECORDS_H
#define COLLECTOR_PERF_RECORDS_H

#include <stdint.h>

#include <linux/perf_event.h>

/* PERF_RECORD_FORK, PERF_RECORD_EXIT. */
typedef struct TaskRecord
{
	struct perf_event_header header;
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t tid;
	uint32_t parent_tid;
} TaskRecord;

/* PERF_RECORD_MMAP2. */
typedef struct MapRecord
{
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	uint64_t address;
	uint64_t length;
	uint64_t file_offset;
	uint32_t major;
	uint32_t minor;
	uint64_t inode;
	uint64_t inode_generation;
	uint32_t protection;
	uint32_t flags;
	char name[];
} MapRecord;

#endif
