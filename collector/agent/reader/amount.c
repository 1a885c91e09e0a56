/*
 * amount.c
 *		Adds values that are read from devices, such as GPU time, to the interval.
 */
#include "agent/reader/amount.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/reader/reader_parts.h"
#include "agent/reader/sample_builder.h"
#include "process/probes.h"
#include "symbols/worker/worker_accounts.h"

#define AMOUNT_PERIOD	 1
#define AMOUNT_STAT_NS	 UINT64_C(20000000) /* longest wait for /proc/PID/stat of a process */
#define COMM_LIMIT_BYTES 64

/* Reads the name of a process; "" if it has ended. */
static void
read_process_name(uint32_t pid, char comm[PFS_COMM_BYTES])
{
	char path[64];
	char *text;

	memset(comm, 0, PFS_COMM_BYTES);
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	if (proc_file_read(path, COMM_LIMIT_BYTES, &text, NULL) != 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	memcpy(comm, text, strnlen(text, PFS_COMM_BYTES));
	free(text);
}

/*
 * Returns the process and its name, or NULL if it has ended. The caller must hold the lock, which
 * may be released meanwhile.
 */
static Process *
amount_find_process(Reader *reader, uint32_t pid, char comm[PFS_COMM_BYTES])
{
	ProcStat stat;
	int result;

	if (pid == 0)
		return NULL;
	/* Reading /proc may take long, and no other thread may wait for it. */
	reader_unlock(reader);
	read_process_name(pid, comm);
	result = process_look_stat(reader->amounts_prober, pid, AMOUNT_STAT_NS, &stat);
	reader_lock(reader);
	return result == 0 ? process_table_get_pid(reader->processes, pid, &stat, reader->now_ns)
					   : NULL;
}

/*
 * Returns a reference to the labels of an amount. Returns NULL if there is no room for labels, or
 * with *dropped set if the process must not be sampled.
 */
static LabelSet *
labels_of_amount(Reader *reader, const ReaderAmount *amount, Process *process, const char *comm,
				 bool *dropped)
{
	const SampledThread thread = { .pid = amount->pid, .comm = comm, .process_comm = comm };
	LabelSet *labels;
	bool capped;

	*dropped = false;
	if (process == NULL)
		return labeller_issue_host(reader->labeller, amount->labels, amount->label_count,
								   reader->now_ns);
	/*
	 * Apply the rules as for a sample: a process that they drop must not appear by its use of a
	 * device.
	 */
	*dropped = sample_labels_of(reader, &thread, process) == NULL;
	if (*dropped)
		return NULL;
	labels = labeller_issue_with(reader->labeller, process_labels(process), amount->labels,
								 amount->label_count, &capped, reader->now_ns);
	if (capped)
		losses_add(reader->losses, LOSS_SERIES_CAPPED, 1);
	return labels;
}

/* Adds a stack that consists of the amount's frame. */
static int
amount_stack_add(Reader *reader, const ReaderAmount *amount, Process *process, uint32_t *index)
{
	Frame frame = { 0, INTERVAL_NO_ITEM, FRAME_CODE };
	IntervalStack stack = {
		.executable = INTERVAL_NO_ITEM, .side = STACK_NO_USER_SIDE, .depth = 1, .frames = &frame
	};
	MappedFile *executable = process != NULL ? process_executable(process) : NULL;
	int result = interval_add_code(reader->interval, amount->frame, &frame.item);

	/*
	 * The executable determines the partition of the dictionary, although the stack has no code of
	 * it.
	 */
	if (result == 0 && executable != NULL)
		result = interval_add_file(reader->interval, executable,
								   worker_account_of(process_owner(process)), &stack.executable);
	return result == 0 ? interval_add_stack(reader->interval, &stack, index) : result;
}

static int
amount_add(Reader *reader, const ReaderAmount *amount, Process *process, LabelSet *labels)
{
	const IntervalSeries series = { labels, AMOUNT_PERIOD, amount->kind };
	IntervalSample added = { .count = 1, .value = amount->value };
	uint32_t index;
	int result = reader->interval != NULL && labels != NULL ? 0 : -ENOMEM;

	if (result == 0)
		result = interval_add_series(reader->interval, series, &added.series);
	if (result == 0)
		result = amount_stack_add(reader, amount, process, &added.stack);
	added.time_us = sample_stored_time(reader, amount->time_ns);
	return result == 0 ? interval_add_sample(reader->interval, &added, &index) : result;
}

void
reader_add_amount(Reader *reader, const ReaderAmount *amount)
{
	char comm[PFS_COMM_BYTES];
	Process *process;
	LabelSet *labels;
	bool dropped;
	int result = 0;

	reader_lock(reader);
	process = amount_find_process(reader, amount->pid, comm);
	labels = labels_of_amount(reader, amount, process, comm, &dropped);
	if (dropped)
		reader->dropped++;
	else
		result = amount_add(reader, amount, process, labels);
	/* The series of the interval holds a reference of its own. */
	label_set_release(labels);
	if (result != 0)
		losses_add(reader->losses, result == -EOVERFLOW ? LOSS_VALUE_OVERFLOW : LOSS_INTERVAL_FULL,
				   1);
	reader_unlock(reader);
}

int64_t
reader_stored_time(Reader *reader, uint64_t time_ns)
{
	int64_t time_us;

	reader_lock(reader);
	time_us = sample_stored_time(reader, time_ns);
	reader_unlock(reader);
	return time_us;
}
