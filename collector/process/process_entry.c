/*
 * process_entry.c
 *		What the table knows about a process without reading /proc.
 */
#include "process/process_entry.h"

#include <string.h>

#include "process/owner.h"

ExecImage
process_identity(const Process *process)
{
	return (ExecImage){ (uint32_t) process->key.pid, process->key.start_time_ns,
						process->key.exec_id };
}

ProcessState
process_state(const Process *process)
{
	return process->state;
}

MappedFile *
process_executable(const Process *process)
{
	return process->executable;
}

const char *
process_exe(const Process *process)
{
	return process->exe != NULL ? process->exe : "";
}

IssuedLabels *
process_labels(Process *process)
{
	return &process->labels;
}

const char *
process_compiler(const Process *process)
{
	const char *compiler =
		process->executable != NULL ? mapped_file_compiler(process->executable) : NULL;

	return compiler != NULL ? compiler : "";
}

const char *
process_runtime(const Process *process)
{
	if (process->runtime != NULL && process->runtime[0] != '\0')
		return process->runtime;
	/*
	 * Go programs are recognized by their compiler, because no library of theirs has a telling
	 * name.
	 */
	return strncmp(process_compiler(process), "go ", 3) == 0 ? "go" : "";
}

const char *
process_environment(const Process *process)
{
	return process->environment;
}

const CgroupLabels *
process_cgroup(const Process *process)
{
	return &process->cgroup;
}

uint64_t
process_owner(const Process *process)
{
	/* from the present group; process->owner is the account of the group at the first sample */
	return owner_of(process->uid, process->cgroup.path);
}

Allowance *
process_series(Process *process)
{
	return process->owner != NULL ? &process->owner->series : NULL;
}

bool
process_covers(const Process *process, uint64_t address)
{
	return mapping_list_find(&process->mappings, address) != NULL;
}

bool
process_is_generated(const Process *process, uint64_t address)
{
	const Mapping *mapping = mapping_list_find(&process->mappings, address);

	return mapping != NULL && mapping->kind == MAPPING_ANONYMOUS;
}

uint64_t
process_read_ns(const Process *process)
{
	return process->mappings.begin_ns;
}

bool
process_owns_past(const ProcessTable *table, const Process *process, uint64_t time_ns)
{
	uint64_t since_ns = past_images_since_ns(table->past, (uint32_t) process->key.pid, time_ns);

	/* An image that began before the process did belongs to an earlier process with this pid. */
	return since_ns == 0 || since_ns >= process->born_ns;
}

PastChange
process_code_changed(const ProcessTable *table, const Process *process, uint64_t address,
					 uint64_t a_ns, uint64_t b_ns)
{
	uint64_t from_ns = a_ns < b_ns ? a_ns : b_ns;
	uint64_t to_ns = a_ns < b_ns ? b_ns : a_ns;

	if (table->past == NULL || !process_owns_past(table, process, from_ns))
		return PAST_UNTOLD;
	return past_images_changed(table->past, (uint32_t) process->key.pid, address, from_ns, to_ns);
}
