/*
 * resolve.c
 *		Symbolization of an interval.
 *
 * Each distinct frame is looked up once. Frames without a file have address 0 and are distinguished
 * by name: kernel functions (so that neither a reboot nor another kernel build makes new locations
 * of them), generated and interpreted code, and the placeholders in brackets. A stack that does not
 * reach a root gets the outermost frame "[incomplete]", so that it is not shown below a function
 * that did not call it.
 */
#include "agent/flusher/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/flusher/batch_lines.h"
#include "agent/flusher/file_binary.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "events.h"
#include "labels/labeller.h"
#include "unwind/roots.h"

#define KERNEL_FILE		 "[kernel.kallsyms]"
#define KERNEL_PARTITION "kernel"
#define NO_PARTITION	 "unknown"

#define CUDA_RUNTIME "[cuda]" /* mapping of GPU kernels (agent/reader/gpu_join.c) */

#define FRAME_NAME_INCOMPLETE  "[incomplete]"
#define FRAME_NAME_JIT		   "[jit]"
#define FRAME_NAME_INTERPRETED "[interpreted]"
#define FRAME_NAME_UNKNOWN	   "[unknown]"
#define FRAME_NAME_GONE		   "[process gone]"
#define FRAME_NAME_CUT		   "[frames cut]"
#define FRAME_NAME_KERNEL	   "[kernel]"

#define MAX_FRAMES	 (PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES + 2)
#define TABLES_BYTES (64 * 1024 * 1024)
#define WANTED_MAX	 (8 * MAX_FRAMES) /* limit of addresses that are asked for together */

/* Kernel functions that show that user mode was interrupted, and how. */
typedef enum KernelPlace
{
	KERNEL_ANYWHERE,
	KERNEL_INTERRUPT, /* entry of an interrupt; exceptions and system calls are not meant */
	KERNEL_EXIT,	  /* code that runs on the return to user mode */
} KernelPlace;

/* A frame after its look-up. */
typedef struct Resolved
{
	Frame frame;
	uint32_t location; /* index in the batch */
	/* the location has a function; the fields below are about its outermost function */
	bool named;
	RootKind root; /* ROOT_NONE, or the kind of root that the function is */
	bool is_main;
	KernelPlace place; /* kernel frames only */
} Resolved;

typedef struct Resolution
{
	const ResolveContext *context;
	const Interval *interval;
	Batch *batch;
	Budget budget;
	Table frames;		 /* table of Resolved */
	uint64_t looked_up;	 /* number of addresses that the symbolizer was asked for */
	bool stacks;		 /* at least one stack was resolved */
	uint64_t not_looked; /* number of addresses that the symbolizer has not answered */
	/* accounts of the stack whose frames are resolved, for names that belong to no binary */
	uint64_t owners;
} Resolution;

/* Adds a location with one function and no address. mapping is an index or BATCH_NO_MAPPING. */
static int
add_named_location(Batch *batch, uint32_t mapping, const char *name, uint32_t *location)
{
	BatchFunction function = { .name = name, .system_name = name, .filename = "" };
	BatchLine line = { 0 };
	BatchLocation added = { .mapping = mapping, .line_count = 1, .lines = &line };
	int result = batch_add_function(batch, &function, &line.function);

	return result != 0 ? result : batch_add_location(batch, &added, location);
}

static KernelPlace
kernel_place(const char *name)
{
	static const char *const exits[] = { "irqentry_exit_to_user_mode", "exit_to_user_mode_loop",
										 "exit_to_user_mode_prepare", "irqentry_exit" };

	if (strncmp(name, "asm_sysvec_", strlen("asm_sysvec_")) == 0 ||
		strcmp(name, "asm_common_interrupt") == 0)
		return KERNEL_INTERRUPT;
	for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
	{
		if (strcmp(name, exits[i]) == 0)
			return KERNEL_EXIT;
	}
	return KERNEL_ANYWHERE;
}

/* Adds a kernel frame, identified by its function's name only; the mapping names the module. */
static int
add_kernel_location(const Resolution *resolution, uint64_t address, Resolved *resolved)
{
	const char *name;
	const char *module;
	uint64_t start;
	char file[128];
	BatchMapping mapping = { .build_id = "", .file = KERNEL_FILE };
	uint32_t mapping_index;
	int result;

	if (!kernel_symbolize(resolution->context->symbolizer, address, &name, &module, &start))
		name = FRAME_NAME_KERNEL;
	else if (module[0] != '\0')
	{
		snprintf(file, sizeof(file), "[%s]", module);
		mapping.file = file;
	}
	result = batch_add_mapping(resolution->batch, &mapping, &mapping_index);
	if (result != 0)
		return result;
	resolved->place = kernel_place(name);
	return add_named_location(resolution->batch, mapping_index, name, &resolved->location);
}

/*
 * Finds the name of code as it is shown. Names of GPU kernels are mangled and come from programs,
 * so the worker demangles them; a name that it cannot answer is shown as it is. Returns -EAGAIN at
 * the deadline, unless names are no longer waited for.
 */
static int
find_shown_name(Resolution *resolution, const CodeName *code, const char **name)
{
	const ResolveContext *context = resolution->context;
	const SymbolAsk terms = { .deadline_ns = context->addresses_only ? 0 : context->deadline_ns,
							  .owners = resolution->owners,
							  .round = context->round };
	SymbolLines lines;
	int result;

	*name = code->name;
	if (strcmp(code->runtime, CUDA_RUNTIME) != 0 || strncmp(code->name, "_Z", 2) != 0)
		return 0;
	result = symbolizer_demangle(context->symbolizer, code->name, &terms, &lines);
	if (result == -EINPROGRESS && !context->addresses_only)
		return -EAGAIN;
	if (result == -EINPROGRESS)
		resolution->not_looked++;
	else if (result == 0 && lines.count == 1)
		*name = lines.lines[0].name;
	return 0;
}

/*
 * Adds the location of code without an address in a file: its runtime is the mapping, its line the
 * line.
 */
static int
add_code_location(Resolution *resolution, const Frame *frame, Resolved *resolved)
{
	const CodeName *code = code_object_name(interval_code(resolution->interval, frame->item));
	BatchMapping mapping = { .build_id = "", .file = code->runtime };
	BatchFunction function = { .system_name = code->name,
							   .filename = code->file,
							   .start_line = code->start_line };
	BatchLine line = { .line = code->line };
	BatchLocation location = { .line_count = 1, .lines = &line };
	int result = find_shown_name(resolution, code, &function.name);

	if (result == 0)
		result = batch_add_mapping(resolution->batch, &mapping, &location.mapping);
	if (result == 0)
		result = batch_add_function(resolution->batch, &function, &line.function);
	if (result == 0)
		result = batch_add_location(resolution->batch, &location, &resolved->location);
	resolved->named = true;
	return result;
}

/*
 * Notes whether the outermost function of an answer is a root of stacks, such as main, or where in
 * the kernel it lies.
 */
static void
note_outermost(const SymbolLines *symbols, Resolved *resolved)
{
	const char *outermost;

	if (!symbol_lines_are_named(symbols))
		return;
	outermost = symbols->lines[symbols->count - 1].system_name;
	resolved->named = true;
	resolved->root = root_function(outermost);
	resolved->is_main = strcmp(outermost, "main") == 0;
}

/* Returns the conditions for asking for a file's addresses: owners, deadline and round. */
static SymbolAsk
ask_terms(const Resolution *resolution, uint32_t item)
{
	const ResolveContext *context = resolution->context;
	SymbolAsk terms = {
		.deadline_ns = context->deadline_ns,
		.owners = interval_file_owners(resolution->interval, item),
		.round = context->round,
	};

	if (context->addresses_only)
		terms.deadline_ns = 0;
	return terms;
}

/*
 * Adds a frame of a file with its functions and lines. Returns -EAGAIN after the deadline, but at
 * least one address is looked up per call, so that each slice makes progress. A frame whose symbols
 * are not known yet is added by address, and named later.
 */
static int
add_file_location(Resolution *resolution, const Frame *frame, Resolved *resolved)
{
	const ResolveContext *context = resolution->context;
	MappedFile *file = interval_file(resolution->interval, frame->item);
	const SymbolAsk terms = ask_terms(resolution, frame->item);
	Binary *binary;
	BatchLine lines[BATCH_LINES_MAX];
	BatchMapping mapping = { .build_id = "", .file = mapped_file_name(file) };
	BatchLocation location = { .lines = lines };
	SymbolLines symbols = { 0 };
	int result;

	if (!context->addresses_only && resolution->looked_up > 0 &&
		(resolution->stacks || !context->one_at_least) &&
		clock_ns(CLOCK_MONOTONIC) >= context->deadline_ns)
		return -EAGAIN;
	binary = file_binary(context->files, file, context->symbolizer);
	if (binary != NULL)
		mapping.build_id = binary_build_id(binary);
	result = batch_add_mapping(resolution->batch, &mapping, &location.mapping);
	if (result != 0)
		return result;
	if (binary == NULL || !binary_address(binary, frame->address, &location.address))
		return add_named_location(resolution->batch, location.mapping, FRAME_NAME_UNKNOWN,
								  &resolved->location);
	/*
	 * On failure the location keeps only binary and address, as if it had no symbol; the symbolizer
	 * counts the failure.
	 */
	result = binary_symbolize_within(binary, location.address, &terms, &symbols);
	if (result != 0)
		symbols.count = 0;
	if (result == -EAGAIN)
	{
		resolution->not_looked++;
		if (context->late != NULL)
			late_names_add(context->late, file, frame->address, terms.owners);
	}
	resolution->looked_up++;
	result = batch_lines_add(resolution->batch, &symbols, lines, &location.line_count);
	if (result != 0)
		return result;
	note_outermost(&symbols, resolved);
	return batch_add_location(resolution->batch, &location, &resolved->location);
}

/* A frame whose address will be asked for. */
typedef struct WantedAddress
{
	int64_t used_ns; /* time that the owners of the file have used */
	uint64_t address;
	uint32_t item; /* index of the file in the interval */
} WantedAddress;

static bool
frame_equal(const void *item, const void *key)
{
	return memcmp(&((const Resolved *) item)->frame, key, sizeof(Frame)) == 0;
}

/* Returns the location of a frame. Looks up its symbols at its first use in the interval. */
static int
resolve_frame(Resolution *resolution, const Frame *frame, Resolved *result)
{
	static const char *const names[] = {
		[FRAME_JIT] = FRAME_NAME_JIT,		  [FRAME_INTERPRETED] = FRAME_NAME_INTERPRETED,
		[FRAME_UNKNOWN] = FRAME_NAME_UNKNOWN, [FRAME_GONE] = FRAME_NAME_GONE,
		[FRAME_CUT] = FRAME_NAME_CUT,
	};
	Table *table = &resolution->frames;
	uint64_t hash = hash_bytes(table->seed, frame, sizeof(*frame));
	Resolved resolved = { .frame = *frame };
	uint32_t position;
	int error;

	if (table_find(table, hash, frame_equal, frame, &position))
	{
		*result = *(Resolved *) table_item(table, position);
		return 0;
	}
	if (frame->kind == FRAME_KERNEL)
		error = add_kernel_location(resolution, frame->address, &resolved);
	else if (frame->kind == FRAME_FILE)
		error = add_file_location(resolution, frame, &resolved);
	else if (frame->kind == FRAME_CODE)
		error = add_code_location(resolution, frame, &resolved);
	else
		error = add_named_location(resolution->batch, BATCH_NO_MAPPING, names[frame->kind],
								   &resolved.location);
	if (error == 0)
		error = table_reserve(table);
	if (error != 0)
		return error;
	*(Resolved *) table_append(table, hash) = resolved;
	*result = resolved;
	return 0;
}

/*
 * Returns the dictionary partition of a stack: the build ID of its executable, the executable's
 * path if it has no build ID, or "kernel" for kernel threads.
 */
static const char *
stack_partition(const Resolution *resolution, const IntervalStack *stack)
{
	const ResolveContext *context = resolution->context;
	MappedFile *file;
	Binary *binary;

	if (stack->executable == INTERVAL_NO_ITEM)
		return stack->side == STACK_NO_USER_SIDE ? KERNEL_PARTITION : NO_PARTITION;
	file = interval_file(resolution->interval, stack->executable);
	binary = file_binary(context->files, file, context->symbolizer);
	if (binary != NULL && binary_build_id(binary)[0] != '\0')
		return binary_build_id(binary);
	return mapped_file_name(file);
}

/*
 * Counts the innermost kernel frames that say nothing about the sampled code. A timer tick that
 * falls due while interrupts are disabled is delivered when they are enabled again: on the return
 * to user mode or, if the task is being rescheduled, in the last loop of the kernel's exit code.
 * Both samples belong to the interrupted user code.
 */
static int
surplus_frames(Resolution *resolution, const IntervalStack *stack, uint16_t *count)
{
	Resolved resolved;
	uint16_t frames = 0;
	int error = 0;

	*count = 0;
	while (frames < stack->depth && stack->frames[frames].kind == FRAME_KERNEL)
		frames++;
	if (frames < 2 || frames == stack->depth || stack->side != STACK_USER_SIDE)
		return 0;
	for (uint16_t i = 0; i < frames; i++)
	{
		error = resolve_frame(resolution, &stack->frames[i], &resolved);
		if (error != 0 || resolved.place != (i + 1 == frames ? KERNEL_INTERRUPT : KERNEL_EXIT))
			return error;
	}
	*count = frames;
	return 0;
}

/* Sets the accounts that pay for names of the stack's frames that belong to no binary. */
static void
stack_sets_owners(Resolution *resolution, const IntervalStack *stack)
{
	resolution->owners = stack->executable != INTERVAL_NO_ITEM
							 ? interval_file_owners(resolution->interval, stack->executable)
							 : 0;
}

/*
 * Adds one stack to the batch. Returns -EAGAIN if the deadline has passed. Sets *complete if the
 * stack has no user side or its user side reaches a root: either the walk has proven that the stack
 * ends there, or the frame is a function at which stacks begin.
 *
 * Frames beyond a root are cut off, because start code has no frame pointers, so the walk reads
 * wrong callers there. A C library without CFI and without symbols (musl of Debian and Alpine)
 * calls main from a nameless function; no other code without a rule calls main, so this function is
 * a root, too.
 *
 * If unwind rules have proven the end, a function that is only named like a root (a program's own
 * "clone") may have callers, so only start code at the very end is reduced to its innermost
 * function. Stacks walked by frame pointers end at start code as well.
 */
static int
resolve_stack(Resolution *resolution, const IntervalStack *stack, uint32_t *index, bool *complete)
{
	uint32_t locations[MAX_FRAMES];
	BatchStack added = {
		.partition = stack_partition(resolution, stack),
		.locations = locations,
	};
	bool below_main = false;
	bool by_rules = stack->side == STACK_USER_SIDE && stack->walk == PFS_WALK_END_OF_STACK;
	uint32_t start_code = 0; /* number of frames at the end that are start code */
	uint16_t at;			 /* index of the next frame of the stack */
	int result;

	stack_sets_owners(resolution, stack);
	result = surplus_frames(resolution, stack, &at);
	if (result != 0)
		return result;

	*complete =
		stack->side == STACK_NO_USER_SIDE || by_rules || stack->walk == PFS_WALK_END_OF_FRAMES;
	while (at < stack->depth)
	{
		Resolved resolved;

		result = resolve_frame(resolution, &stack->frames[at++], &resolved);
		if (result != 0)
			return result;
		locations[added.depth++] = resolved.location;
		start_code = resolved.root != ROOT_NONE ? start_code + 1 : 0;
		if (resolved.root == ROOT_RUNTIME || (resolved.root == ROOT_C && !by_rules) ||
			(below_main && !resolved.named && resolved.frame.kind == FRAME_FILE &&
			 at == stack->depth && stack->walk == PFS_WALK_NO_RULE))
		{
			*complete = true;
			start_code = 0;
			break;
		}
		below_main = resolved.is_main;
	}
	if (start_code > 1)
		added.depth -= start_code - 1;
	if (!*complete)
	{
		result = add_named_location(resolution->batch, BATCH_NO_MAPPING, FRAME_NAME_INCOMPLETE,
									&locations[added.depth]);
		if (result != 0)
			return result;
		added.depth++;
	}
	return batch_add_stack(resolution->batch, &added, index);
}

static int
compare_wanted(const void *a, const void *b)
{
	const WantedAddress *left = a;
	const WantedAddress *right = b;

	if (left->used_ns != right->used_ns)
		return left->used_ns < right->used_ns ? -1 : 1;
	if (left->item != right->item)
		return left->item < right->item ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

/*
 * Collects the frames of files that were not looked up yet, beginning with stack first, until there
 * might be no room for the frames of the next stack. Returns the index of that stack.
 */
static uint32_t
collect_wanted(const Resolution *resolution, uint32_t first, WantedAddress wanted[WANTED_MAX],
			   size_t *count)
{
	const Table *table = &resolution->frames;
	const IntervalStack *stacks;
	uint32_t end = interval_stacks(resolution->interval, &stacks);
	uint32_t stack;

	*count = 0;
	for (stack = first; stack < end && *count + MAX_FRAMES <= WANTED_MAX; stack++)
	{
		for (uint16_t i = 0; i < stacks[stack].depth; i++)
		{
			const Frame *frame = &stacks[stack].frames[i];
			uint32_t position;

			if (frame->kind == FRAME_FILE &&
				!table_find(table, hash_bytes(table->seed, frame, sizeof(*frame)), frame_equal,
							frame, &position))
				wanted[(*count)++] =
					(WantedAddress){ .item = frame->item, .address = frame->address };
		}
	}
	return stack;
}

/* Asks for the addresses of one file's frames, each once; wanted is sorted. */
static void
prepare_file(const Resolution *resolution, const WantedAddress *wanted, size_t count)
{
	const ResolveContext *context = resolution->context;
	MappedFile *file = interval_file(resolution->interval, wanted[0].item);
	Binary *binary = file_binary(context->files, file, context->symbolizer);
	uint64_t *addresses = malloc(count * sizeof(*addresses));
	uint32_t known = 0;

	for (size_t i = 0; binary != NULL && addresses != NULL && i < count; i++)
	{
		if ((i == 0 || wanted[i].address != wanted[i - 1].address) &&
			binary_address(binary, wanted[i].address, &addresses[known]))
			known++;
	}
	if (known > 0)
	{
		const SymbolAsk terms = ask_terms(resolution, wanted[0].item);

		binary_prepare(binary, addresses, known, &terms);
	}
	free(addresses);
}

/*
 * Looks up the addresses of the next stacks together, file by file, beginning with the owners who
 * have used the least symbolization time. The symbolizer's cache keeps the answers. Returns the
 * index of the stack after the last one. Addresses that were not looked up, because the deadline
 * passed or memory was short, are looked up one by one later.
 */
static uint32_t
prepare_stacks(const Resolution *resolution, uint32_t first)
{
	WantedAddress *wanted = malloc(WANTED_MAX * sizeof(*wanted));
	uint32_t end = UINT32_MAX;
	size_t count;

	if (wanted == NULL)
		return end;
	end = collect_wanted(resolution, first, wanted, &count);
	for (size_t i = 0; i < count; i++)
		wanted[i].used_ns =
			symbolizer_used(resolution->context->symbolizer,
							interval_file_owners(resolution->interval, wanted[i].item));
	qsort(wanted, count, sizeof(*wanted), compare_wanted);
	for (size_t i = 0, next;
		 i < count && clock_ns(CLOCK_MONOTONIC) < resolution->context->deadline_ns; i = next)
	{
		for (next = i + 1; next < count && wanted[next].item == wanted[i].item;)
			next++;
		prepare_file(resolution, wanted + i, next - i);
	}
	free(wanted);
	return end;
}

/*
 * Asks for the names of the kernels in stacks from first on, before any address: each takes
 * microseconds, while an address may keep the worker busy until the deadline.
 */
static void
prepare_kernels(Resolution *resolution, uint32_t first)
{
	const IntervalStack *stacks;
	uint32_t count = interval_stacks(resolution->interval, &stacks);

	for (uint32_t i = first; i < count; i++)
	{
		const Frame *leaf = stacks[i].frames;
		const char *name;

		if (stacks[i].depth == 0 || leaf->kind != FRAME_CODE)
			continue;
		stack_sets_owners(resolution, &stacks[i]);
		if (find_shown_name(resolution,
							code_object_name(interval_code(resolution->interval, leaf->item)),
							&name) != 0)
			break;
	}
}

/*
 * Sets the label that names the kind of samples, replacing a label of that name from relabeling
 * rules. room receives the copy of the labels.
 */
static void
add_label(BatchSeries *series, const BatchLabel *label, BatchLabel room[BATCH_MAX_LABELS])
{
	uint32_t at = 0;

	memcpy(room, series->labels, series->label_count * sizeof(BatchLabel));
	while (at < series->label_count && strcmp(room[at].name, label->name) != 0)
		at++;
	room[at] = *label;
	series->label_count += at == series->label_count;
	series->labels = room;
}

/* Adds all series of the interval to the batch and stores their indexes. */
static int
resolve_series(Resolution *resolution, uint32_t *indexes)
{
	static const struct
	{
		const char *profile_type;
		BatchLabel label; /* an empty name means that the kind has no label */
	} kinds[PFS_KIND_COUNT] = {
#define KIND(identifier, profile_type, label, value) { profile_type, { label, value } },
		PFS_KINDS(KIND)
#undef KIND
	};
	const IntervalSeries *series;
	uint32_t count = interval_series(resolution->interval, &series);

	for (uint32_t i = 0; i < count; i++)
	{
		BatchSeries added = { .profile_type = kinds[series[i].kind].profile_type,
							  .period = series[i].period };
		BatchLabel with_kind[BATCH_MAX_LABELS];
		int result;

		added.label_count = label_set_labels(series[i].labels, &added.labels);
		if (kinds[series[i].kind].label.name[0] != '\0')
			add_label(&added, &kinds[series[i].kind].label, with_kind);
		result = batch_add_series(resolution->batch, &added, &indexes[i]);
		if (result != 0)
			return result;
	}
	return 0;
}

/* Result of resolving one stack of the interval. */
typedef struct StackResult
{
	int error;
	uint32_t index;
	bool complete;
} StackResult;

static BatchSample
batch_sample_of(const IntervalSample *sample, const uint32_t *series, const StackResult *results)
{
	return (BatchSample){ .time_us = sample->time_us,
						  .series = series[sample->series],
						  .stack = results[sample->stack].index,
						  .value = (int64_t) sample->value };
}

/* Adds the samples of the stacks from first to before end, and marks those that are kept. */
static void
resolve_samples(Resolution *resolution, const uint32_t *series, const StackResult *results,
				uint32_t first, uint32_t end, bool *kept, ResolveStats *stats)
{
	const IntervalSample *samples;
	const IntervalSeries *all_series;
	const IntervalStack *stacks;
	uint32_t count = interval_samples(resolution->interval, &samples);

	interval_series(resolution->interval, &all_series);
	interval_stacks(resolution->interval, &stacks);
	for (uint32_t i = 0; i < count; i++)
	{
		const StackResult *stack = &results[samples[i].stack];
		BatchSample added = batch_sample_of(&samples[i], series, results);

		/* Other slices of the interval add the other samples. */
		if (samples[i].stack < first || samples[i].stack >= end)
			continue;
		if (stack->error != 0 || batch_add_sample(resolution->batch, &added) != 0)
		{
			stats->samples_failed += samples[i].count;
			continue;
		}
		kept[i] = true;
		stats->samples += samples[i].count;
		if (stacks[samples[i].stack].side == STACK_NO_USER_SIDE)
			continue;
		stats->user_samples += samples[i].count;
		unwind_counts_add(resolution->context->unwind_counts,
						  label_set_value(all_series[samples[i].series].labels, "exe"),
						  samples[i].count, stack->complete);
		if (stack->complete)
			stats->complete += samples[i].count;
		else
			stats->incomplete[stacks[samples[i].stack].walk] += samples[i].count;
	}
}

/* Adds the traces and spans of the samples that are marked in kept. */
static void
resolve_traces(Resolution *resolution, const uint32_t *series, const StackResult *results,
			   const bool *kept, ResolveStats *stats)
{
	const IntervalSample *samples;
	const IntervalTrace *traces;
	uint32_t count = interval_traces(resolution->interval, &traces);

	interval_samples(resolution->interval, &samples);
	for (uint32_t i = 0; i < count; i++)
	{
		BatchTrace added;

		if (!kept[traces[i].sample])
			continue;
		added.sample = batch_sample_of(&samples[traces[i].sample], series, results);
		added.sample.value = (int64_t) traces[i].value;
		memcpy(added.trace, traces[i].ids.trace, sizeof(added.trace));
		memcpy(added.span, traces[i].ids.span, sizeof(added.span));
		if (batch_add_trace(resolution->batch, &added) != 0)
			stats->traces_failed++;
	}
}

int
resolve_interval(const ResolveContext *context, const Interval *interval, uint32_t *next_stack,
				 Batch *batch, ResolveStats *stats)
{
	Resolution resolution = {
		.context = context,
		.interval = interval,
		.batch = batch,
		.budget = { .limit_bytes = TABLES_BYTES },
	};
	const IntervalSeries *series;
	const IntervalStack *stacks;
	const IntervalSample *samples;
	uint32_t series_count = interval_series(interval, &series);
	uint32_t stack_count = interval_stacks(interval, &stacks);
	uint32_t *series_indexes = calloc(series_count + 1, sizeof(*series_indexes));
	StackResult *results = calloc(stack_count + 1, sizeof(*results));
	/* by index of the sample: it was added to the batch */
	bool *kept = calloc(interval_samples(interval, &samples) + 1, sizeof(*kept));
	int error = -ENOMEM;

	table_init(&resolution.frames, &resolution.budget, sizeof(Resolved));
	if (series_indexes != NULL && results != NULL && kept != NULL)
		error = resolve_series(&resolution, series_indexes);
	if (error == 0)
	{
		uint32_t first = *next_stack;
		/*
		 * The first batch must be stored soon, so only the addresses of its own stacks are asked
		 * for.
		 */
		bool prepares = !context->addresses_only && !context->one_at_least;
		uint32_t prepared = prepares ? first : stack_count;

		if (!context->addresses_only)
			prepare_kernels(&resolution, first);
		for (; *next_stack < stack_count; ++*next_stack)
		{
			StackResult *stack = &results[*next_stack];

			if (*next_stack == prepared)
				prepared = prepare_stacks(&resolution, prepared);
			stack->error =
				resolve_stack(&resolution, &stacks[*next_stack], &stack->index, &stack->complete);
			/* The deadline has passed, and the next slice goes on with this stack. */
			if (stack->error == -EAGAIN)
				break;
			resolution.stacks = true;
		}
		resolve_samples(&resolution, series_indexes, results, first, *next_stack, kept, stats);
		resolve_traces(&resolution, series_indexes, results, kept, stats);
		stats->addresses_only += resolution.not_looked;
	}
	table_fini(&resolution.frames);
	free(series_indexes);
	free(results);
	free(kept);
	return error;
}
