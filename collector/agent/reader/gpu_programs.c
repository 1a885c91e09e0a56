/*
 * gpu_programs.c
 *		Programs that have loaded the GPU library, within bounds.
 */
#include "agent/reader/gpu_programs.h"

#include <stdlib.h>
#include <string.h>

#define OWNER_BYTES (GPU_PROGRAMS_BYTES / 4)
#define NAME_BYTES	128 /* of a name, beside its text */

bool
gpu_program_charge(GpuPrograms *programs, GpuProgram *program, size_t bytes)
{
	/*
	 * Subtract rather than add, because a sum could overflow. Neither difference can be negative.
	 */
	if (bytes > GPU_PROGRAMS_BYTES - programs->bytes || bytes > OWNER_BYTES - program->owner->bytes)
		return false;
	program->bytes += bytes;
	program->owner->bytes += bytes;
	programs->bytes += bytes;
	return true;
}

void
gpu_program_release(GpuPrograms *programs, GpuProgram *program, size_t bytes)
{
	program->bytes -= bytes;
	program->owner->bytes -= bytes;
	programs->bytes -= bytes;
}

/* Returns the account of an owner, which one more program uses; NULL if there is no memory. */
static GpuOwner *
gpu_owner_take(GpuPrograms *programs, uint64_t number)
{
	GpuOwner *owner = NULL;

	HASH_FIND(hh, programs->owners, &number, sizeof(number), owner);
	if (owner == NULL)
	{
		owner = calloc(1, sizeof(*owner));
		if (owner == NULL)
			return NULL;
		owner->owner = number;
		HASH_ADD(hh, programs->owners, owner, sizeof(owner->owner), owner);
	}
	owner->programs++;
	return owner;
}

static void
gpu_owner_give(GpuPrograms *programs, GpuOwner *owner)
{
	if (owner == NULL || --owner->programs > 0)
		return;
	HASH_DEL(programs->owners, owner);
	free(owner);
}

/* Returns an image's identity as a key with zeroed padding, because keys are compared by bytes. */
static ExecImage
image_key(const ExecImage *image)
{
	ExecImage key;

	memset(&key, 0, sizeof(key));
	key.pid = image->pid;
	key.start_time_ns = image->start_time_ns;
	key.exec_id = image->exec_id;
	return key;
}

GpuProgram *
gpu_programs_find(const GpuPrograms *programs, const ExecImage *image)
{
	ExecImage key = image_key(image);
	GpuProgram *program = NULL;

	HASH_FIND(hh, programs->programs, &key, sizeof(key), program);
	return program;
}

GpuProgram *
gpu_programs_get(GpuPrograms *programs, const ExecImage *image, uint64_t owner, uint64_t now_ns)
{
	GpuProgram *program = gpu_programs_find(programs, image);

	if (program == NULL)
	{
		program = calloc(1, sizeof(*program));
		if (program == NULL)
			return NULL;
		program->image = image_key(image);
		program->owner = gpu_owner_take(programs, owner);
		/*
		 * The structure is charged as well, so that processes without a single launch cannot use up
		 * memory.
		 */
		if (program->owner == NULL || !gpu_program_charge(programs, program, sizeof(*program)))
		{
			gpu_owner_give(programs, program->owner);
			free(program);
			return NULL;
		}
		HASH_ADD(hh, programs->programs, image, sizeof(program->image), program);
	}
	program->used_ns = now_ns;
	return program;
}

GpuLaunch *
gpu_program_launch(const GpuProgram *program, uint32_t correlation)
{
	GpuLaunch *launch = NULL;

	HASH_FIND(hh, program->launches, &correlation, sizeof(correlation), launch);
	return launch;
}

static size_t
launch_bytes(uint16_t depth)
{
	return sizeof(GpuLaunch) + depth * sizeof(HeldFrame);
}

/* Takes a reference to the file or code object of a frame. */
static HeldFrame
hold_frame(const GpuPrograms *programs, const Interval *interval, const Frame *frame)
{
	HeldFrame held = { .address = frame->address, .kind = frame->kind };

	if (frame->kind == FRAME_FILE)
	{
		MappedFile *file = interval_file(interval, frame->item);

		mapped_file_retain_sampled(programs->files, file);
		held.item = file;
	}
	else if (frame->kind == FRAME_CODE)
		held.item = code_object_retain(interval_code(interval, frame->item));
	return held;
}

bool
gpu_program_keep(GpuPrograms *programs, GpuProgram *program, const GpuLaunch *launch,
				 const Interval *interval, const IntervalStack *stack)
{
	GpuLaunch *known = gpu_program_launch(program, launch->correlation);
	GpuLaunch *kept;

	/* Correlations have 32 bits here, so a program may use one again. */
	if (known != NULL)
		gpu_program_forget(programs, program, known);
	if (HASH_COUNT(program->launches) >= GPU_PROGRAM_LAUNCHES ||
		!gpu_program_charge(programs, program, launch_bytes(stack->depth)))
		return false;
	kept = calloc(1, launch_bytes(stack->depth));
	if (kept == NULL)
	{
		gpu_program_release(programs, program, launch_bytes(stack->depth));
		return false;
	}
	*kept = *launch;
	kept->side = stack->side;
	kept->walk = stack->walk;
	kept->depth = stack->depth;
	/*
	 * The interval is freed after its flush, but the launch may wait longer, so it holds the items
	 * itself.
	 */
	for (uint16_t i = 0; i < stack->depth; i++)
		kept->frames[i] = hold_frame(programs, interval, &stack->frames[i]);
	HASH_ADD(hh, program->launches, correlation, sizeof(kept->correlation), kept);
	return true;
}

void
gpu_program_forget(GpuPrograms *programs, GpuProgram *program, GpuLaunch *launch)
{
	HASH_DEL(program->launches, launch);
	gpu_program_release(programs, program, launch_bytes(launch->depth));
	for (uint16_t i = 0; i < launch->depth; i++)
	{
		if (launch->frames[i].kind == FRAME_FILE)
			mapped_file_release(programs->files, launch->frames[i].item);
		else if (launch->frames[i].kind == FRAME_CODE)
			code_object_release(launch->frames[i].item);
	}
	free(launch);
}

void
gpu_waiting_free(GpuPrograms *programs, GpuProgram *program, GpuWaiting *waiting)
{
	gpu_program_release(programs, program, waiting->bytes);
	for (uint32_t i = 0; i < waiting->labels_count; i++)
		label_set_release(waiting->labels[i].labels);
	free(waiting->window.rows);
	free(waiting);
}

/* Programs of several owners may share an object, which is charged to each of them. */
static size_t
gpu_name_bytes(const CodeObject *name)
{
	return name != NULL ? NAME_BYTES + strlen(code_object_name(name)->name) : 0;
}

bool
gpu_program_name(GpuPrograms *programs, GpuProgram *program, uint32_t number, CodeObject *name)
{
	if (number >= program->names_count)
	{
		/* Grow by several at a time, because names arrive one by one. */
		uint32_t count = number + 64;
		size_t bytes = (count - program->names_count) * sizeof(*program->names);
		CodeObject **names;

		if (!gpu_program_charge(programs, program, bytes))
			return false;
		names = realloc(program->names, count * sizeof(*names));
		if (names == NULL)
		{
			gpu_program_release(programs, program, bytes);
			return false;
		}
		memset(names + program->names_count, 0, bytes);
		program->names = names;
		program->names_count = count;
	}
	if (!gpu_program_charge(programs, program, gpu_name_bytes(name)))
		return false;
	/* The new name was charged before, so that the old one stays if there is no room. */
	gpu_program_release(programs, program, gpu_name_bytes(program->names[number]));
	code_object_release(program->names[number]);
	program->names[number] = name;
	return true;
}

void
gpu_programs_drop(GpuPrograms *programs, GpuProgram *program)
{
	HASH_DEL(programs->programs, program);
	while (program->launches != NULL)
		gpu_program_forget(programs, program, program->launches);
	while (program->waiting != NULL)
	{
		GpuWaiting *waiting = program->waiting;

		program->waiting = waiting->next;
		gpu_waiting_free(programs, program, waiting);
	}
	for (uint32_t i = 0; i < program->names_count; i++)
		code_object_release(program->names[i]);
	gpu_decoder_fini(&program->decoder);
	mapped_file_release(programs->files, program->executable);
	free(program->names);
	/*
	 * What is still charged belongs to the structure, its names and the decoder's incomplete
	 * window.
	 */
	gpu_program_release(programs, program, program->bytes);
	gpu_owner_give(programs, program->owner);
	free(program);
}

void
gpu_programs_fini(GpuPrograms *programs)
{
	while (programs->programs != NULL)
		gpu_programs_drop(programs, programs->programs);
}
