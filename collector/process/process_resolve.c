/*
 * process_resolve.c
 *		Determines which object was at an address at the time of a sample.
 *
 * A mapping's file is opened at the first sample in the mapping, because most mappings are never
 * sampled.
 */
#include <stdlib.h>
#include <string.h>

#include "process/process_evict.h"
#include "process/process_read.h"

/* After an address that no mapping contains, the pause before the next read doubles up to this. */
#define REREAD_LAST_NS	 (10 * NS_PER_S)
#define REREAD_UNTOLD_NS NS_PER_S /* pause if the side-band may be incomplete */

/*
 * Returns PAST_UNCHANGED if the object that the list has at the address is the object that was
 * there at time_ns.
 */
static PastChange
mapping_list_changed(const ProcessTable *table, const Process *process, const MappingList *list,
					 uint64_t address, uint64_t time_ns)
{
	return process_code_changed(table, process, address,
								time_ns < list->begin_ns ? time_ns : list->begin_ns,
								time_ns > list->end_ns ? time_ns : list->end_ns);
}

/*
 * Returns a mapping that the side-band reported, with its file if it can be opened; NULL on out of
 * memory.
 */
static Mapping *
get_told(ProcessTable *table, Process *process, const ProcMapping *map)
{
	Mapping *told;

	for (int i = 0; i < TOLD_MAPPINGS; i++)
	{
		told = &process->told[i];
		if (told->map.name != NULL && told->map.start == map->start && told->map.end == map->end &&
			told->map.file_offset == map->file_offset && told->map.inode == map->inode &&
			told->map.device == map->device && strcmp(told->map.name, map->name) == 0)
			return told;
	}
	told = &process->told[process->told_next++ % TOLD_MAPPINGS];
	process_release_told(table, told);
	told->map = *map;
	told->map.name = strdup(map->name);
	if (told->map.name == NULL)
		return NULL;
	told->kind = mapping_kind(map);
	told->file_tried = true;
	if (told->kind == MAPPING_FILE)
	{
		WantedFile wanted = { .kind = WANTED_PAST, .map = told->map };

		/*
		 * this releases the lock, but only the walker resolves addresses, so the slot is not reused
		 */
		process_open(table, process, process_root_pid(process), &wanted, 1);
		told->file = wanted.file;
	}
	return told;
}

/*
 * Returns the mapping of an address at time_ns: from the lists if nothing has changed since,
 * otherwise from the side-band. If the side-band is incomplete, takes the current list unless an
 * earlier list has another file there.
 */
static Mapping *
mapping_at(ProcessTable *table, Process *process, uint64_t address, uint64_t time_ns)
{
	Mapping *mapping = mapping_list_find(&process->mappings, address);
	Mapping *older = mapping_list_find(&process->older, address);
	PastChange change = mapping_list_changed(table, process, &process->mappings, address, time_ns);
	const ProcMapping *told;

	if (mapping != NULL && change == PAST_UNCHANGED)
		return mapping;
	if (older != NULL &&
		mapping_list_changed(table, process, &process->older, address, time_ns) == PAST_UNCHANGED)
		return older;
	if (table->past == NULL)
		return mapping;
	told = past_images_at(table->past, (uint32_t) process->key.pid, address, time_ns);
	if (told != NULL && process_owns_past(table, process, time_ns))
		return get_told(table, process, told);
	/* the side-band is complete, and shows that other code was there, which it cannot name */
	if (change != PAST_UNTOLD)
		return NULL;
	/* nothing contradicts the present list */
	if (mapping == NULL || older == NULL || mapping->file == older->file)
		return mapping;
	return NULL;
}

void
process_seek(ProcessTable *table, Process *process, uint64_t address, uint64_t now_ns)
{
	process_settle(table, process);
	if (process->state != PROCESS_LIVE || process_covers(process, address) ||
		now_ns - process->read_ns < process->reread_delay_ns)
		return;
	process_reread(table, process, now_ns);
	/*
	 * If reading helped, the process has mapped code since, and may do so again soon. Otherwise the
	 * address is probably not code.
	 */
	if (process_covers(process, address))
		process->reread_delay_ns = PROCESS_REREAD_NS;
	else if (process->reread_delay_ns < REREAD_LAST_NS)
		process->reread_delay_ns *= 2;
}

bool
process_resolve(ProcessTable *table, Process *process, uint64_t address, uint64_t time_ns,
				bool is_leaf, uint64_t now_ns, ProcessAddress *result)
{
	Mapping *mapping;

	/*
	 * wait while another thread reads the process, because we must not open files of its mappings
	 * meanwhile
	 */
	process_settle(table, process);
	if (process->state != PROCESS_LIVE)
		return false;
	mapping = mapping_at(table, process, address, time_ns);
	if (mapping == NULL && is_leaf)
	{
		process_seek(table, process, address, now_ns);
		mapping = mapping_at(table, process, address, time_ns);
	}
	if (mapping == NULL)
		return false;
	/* A file beyond PROCESS_FILES_EAGER is opened if a sample was taken in it. */
	if (is_leaf)
		process_open_late(table, process, mapping);
	result->kind = mapping->kind;
	result->file = mapping_file(table->files, mapping);
	result->address = address;
	/* an offset in the file; addresses in memory without a file stay as they are */
	if (mapping->file != NULL)
		result->address = address - mapping->map.start + mapping->map.file_offset;
	return true;
}

void
process_follow(ProcessTable *table, Process *process, uint64_t now_ns)
{
	uint32_t pid = (uint32_t) process->key.pid;
	uint64_t since_ns = now_ns - process->read_ns;

	if (process->state != PROCESS_LIVE || table->past == NULL)
		return;
	/*
	 * the side-band has reported code of another file, or has lost records, since the list was read
	 */
	if ((since_ns >= PROCESS_REREAD_NS &&
		 past_images_file_mapped_ns(table->past, pid) > process->mappings.begin_ns) ||
		(since_ns >= REREAD_UNTOLD_NS &&
		 past_images_untold_ns(table->past, pid) > process->mappings.begin_ns))
		process_reread(table, process, now_ns);
}

void
process_reread_before(ProcessTable *table, Process *process, uint64_t moment_ns, uint64_t now_ns)
{
	if (process->state == PROCESS_LIVE && process->mappings.begin_ns < moment_ns)
		process_reread(table, process, now_ns);
}
