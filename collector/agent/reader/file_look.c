/*
 * file_look.c
 *		Reads files under a deadline. While a look runs it holds the file; it owns its results until
 *		the caller takes them.
 */
#include "agent/reader/file_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "threads/label_place.h"

#define WAIT_NS UINT64_C(1000000000)

/*
 * Limits the memory of all readings of CFI together, including readings that stopped answering
 * halfway. The pool is static because the threads of those readings may outlive all other objects.
 */
static MemoryPool cfi_pool = { .limit_bytes = 2 * CFI_SECTIONS_MAX_BYTES };

typedef struct LookProbe
{
	Probe probe;
	MappedFileTable *files; /* held, as is file */
	MappedFile *file;
	bool find_labels;
	FileFacts facts;
	CfiSections sections;
	uint64_t spent_ns; /* CPU time */
	int error;
} LookProbe;

void
file_look_limit(size_t cfi_bytes)
{
	cfi_pool.limit_bytes = cfi_bytes;
}

/* Reads the file's segments, labels and runtime, in the reading thread. */
static void
run_facts(Probe *base)
{
	LookProbe *probe = (LookProbe *) base;
	FileFacts *facts = &probe->facts;
	ElfSource source = { .fd = mapped_file_descriptor(probe->file) };
	struct stat status;
	ElfFile file;

	if (fstat(source.fd, &status) != 0)
		return;
	source.size_bytes = (uint64_t) status.st_size;
	memset(&file, 0, sizeof(file));
	if (elf_file_init(&file, &source) == 0 && file.segment_count > 0)
	{
		facts->segments = calloc(file.segment_count, sizeof(*facts->segments));
		if (facts->segments != NULL)
		{
			memcpy(facts->segments, file.segments, file.segment_count * sizeof(*facts->segments));
			facts->segment_count = file.segment_count;
		}
	}
	elf_file_fini(&file);
	if (probe->find_labels)
		label_place_read(&source, mapped_file_name(probe->file), &facts->labels);
	facts->runtime = runtime_file_read(&source, mapped_file_name(probe->file));
}

static void
run_cfi(Probe *base)
{
	LookProbe *probe = (LookProbe *) base;
	int64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	probe->error =
		cfi_sections_init_within(&probe->sections, mapped_file_descriptor(probe->file), &cfi_pool);
	probe->spent_ns = (uint64_t) (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
}

static void
look_probe_free(Probe *base)
{
	LookProbe *probe = (LookProbe *) base;

	file_facts_fini(&probe->facts);
	cfi_sections_fini(&probe->sections);
	mapped_file_release(probe->files, probe->file);
	mapped_file_table_let_go(probe->files);
	free(probe);
}

/*
 * Runs a look in a reading thread. Returns the finished look; NULL, with *error set, if it did not
 * finish.
 */
static LookProbe *
look_probe_run(Patience *patience, MappedFileTable *files, MappedFile *file,
			   void (*reads)(Probe *probe), bool find_labels, int *error)
{
	LookProbe *probe = calloc(1, sizeof(*probe));

	*error = probe == NULL ? -ENOMEM : 0;
	if (probe == NULL)
		return NULL;
	probe->probe = (Probe){
		.run = reads,
		.discard = look_probe_free,
		.subject = { .device = mapped_file_device(file), .owner = mapped_file_payer(file) },
	};
	probe->files = mapped_file_table_hold(files);
	probe->file = file;
	probe->find_labels = find_labels;
	/* An abandoned thread may use table and file long after this call, so the probe holds both. */
	mapped_file_retain(files, file);
	if (patience_run(patience, &probe->probe, WAIT_NS) == 0)
		return probe;
	*error = -EAGAIN;
	return NULL;
}

int
file_look(Patience *patience, MappedFileTable *files, MappedFile *file, bool find_labels,
		  FileFacts *facts)
{
	int error;
	LookProbe *probe = look_probe_run(patience, files, file, run_facts, find_labels, &error);

	if (probe == NULL)
		return error;
	*facts = probe->facts;
	probe->facts = (FileFacts){ 0 };
	look_probe_free(&probe->probe);
	return 0;
}

void
file_facts_fini(FileFacts *facts)
{
	free(facts->segments);
	free(facts->runtime);
	*facts = (FileFacts){ 0 };
}

int
file_look_at_cfi(Patience *patience, MappedFileTable *files, MappedFile *file,
				 CfiSections *sections, uint64_t *spent_ns)
{
	int error;
	LookProbe *probe = look_probe_run(patience, files, file, run_cfi, false, &error);

	*spent_ns = 0;
	if (probe == NULL)
		return error;
	*spent_ns = probe->spent_ns;
	error = probe->error;
	/* The sections move to the caller, so look_probe_free() must not free them. */
	if (error == 0)
		*sections = probe->sections;
	memset(&probe->sections, 0, sizeof(probe->sections));
	look_probe_free(&probe->probe);
	return error;
}
