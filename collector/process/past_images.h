/*
 * past_images.h
 *		A history of the mappings of processes, including exited ones, built from the side-band.
 *
 * For each exec image the history has its executable mappings in the order of their creation. The
 * kernel does not report munmap(), so a mapping counts until another one covers it. If the exec of
 * an image was not observed, the image is known from its first observed mapping on.
 *
 * The memory is bounded: exited processes are dropped first, then those that have been without
 * events for longest; of an image with many mappings the older half is dropped. Not thread-safe:
 * the owner has a lock.
 */
#ifndef COLLECTOR_PAST_IMAGES_H
#define COLLECTOR_PAST_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#include "process/proc_file.h"
#include "process/sideband.h"

typedef struct PastImages PastImages;

/* All times (…_ns) are CLOCK_MONOTONIC. */

/*
 * Makes a history of up to process_limit processes and limit_bytes of heap, accurate to a few
 * percent, not counting the kernel's buffers. 0 or -ENOMEM.
 */
int past_images_create(size_t process_limit, size_t limit_bytes, PastImages **images);
void past_images_free(PastImages *images); /* accepts NULL */

/*
 * Starts listening, with kernel buffers of limit_bytes in total (see sideband_create()). Returns 0,
 * or -errno if the kernel refuses; the history then stays empty.
 */
int past_images_listen(PastImages *images, size_t limit_bytes);

/* Returns the kernel memory of the buffers. */
size_t past_images_buffer_bytes(const PastImages *images);

/* Processes the events so far. Call it often, because the kernel's buffers are small. */
void past_images_update(PastImages *images);

/*
 * Like past_images_update(), but returns at once if all events up to time_ns have been processed.
 */
void past_images_update_to(PastImages *images, uint64_t time_ns);

/* Waits like sideband_wait(). The only function that needs no lock. */
void past_images_wait(const PastImages *images, int other, int timeout_ms);

/* Processes one event. Has the type SidebandHandler; tests call it directly. */
void past_images_note(void *images, const SidebandEvent *event);

/* Follows CPUs that go offline or online. Call it about once a second. */
void past_images_follow_cpus(PastImages *images);

/*
 * Returns the mappings of the image that the process executed at time_ns: those at the end of the
 * image or, if it still runs, the present ones. They are disjoint and sorted by start; 0 if the
 * exec of the image was not observed. *last_ns is the time of the newest mapping. *mappings is
 * valid until the next call of any function.
 */
size_t past_images_find(PastImages *images, uint32_t pid, uint64_t time_ns,
						const ProcMapping **mappings, uint64_t *last_ns);

/*
 * Returns the executable of the image at time_ns: its first mapping with a file, because the kernel
 * maps the executable first. NULL if not known.
 */
const ProcMapping *past_images_executable(PastImages *images, uint32_t pid, uint64_t time_ns);

/* Returns the start, by exec or fork, of the image at time_ns; 0 if not known. */
uint64_t past_images_since_ns(PastImages *images, uint32_t pid, uint64_t time_ns);

/*
 * Returns the newest mapping that contains the address and was made up to time_ns; NULL if none is
 * known.
 */
const ProcMapping *past_images_at(PastImages *images, uint32_t pid, uint64_t address,
								  uint64_t time_ns);

typedef enum PastChange
{
	PAST_UNCHANGED,
	PAST_CHANGED,
	PAST_UNTOLD, /* no change is known, but the history is incomplete */
} PastChange;

/*
 * Returns PAST_CHANGED if other code was mapped at the address after from_ns and until to_ns. Both
 * times must be within one image.
 */
PastChange past_images_changed(PastImages *images, uint32_t pid, uint64_t address, uint64_t from_ns,
							   uint64_t to_ns);

/*
 * Returns the last time at which the process sampled at time_ns mapped executable memory, or may
 * have mapped some. UINT64_MAX if no events are recorded.
 */
uint64_t past_images_mapped_ns(PastImages *images, uint32_t pid, uint64_t time_ns);

/*
 * Returns the last time at which the process mapped code of a file over other memory; 0 if it has
 * not.
 */
uint64_t past_images_file_mapped_ns(PastImages *images, uint32_t pid);

/* Returns the time before which mappings of a running process may be missing. */
uint64_t past_images_untold_ns(PastImages *images, uint32_t pid);

/*
 * Each returns a count and resets it: records for which the kernel's buffers had no room; gaps in
 * which a CPU was not observed; processes dropped because of limit_bytes.
 */
uint64_t past_images_take_lost(PastImages *images);
uint64_t past_images_take_gaps(PastImages *images);

/*
 * Returns a count that changes whenever the kernel loads or unloads code: BPF programs and
 * trampolines.
 */
uint64_t past_images_kernel_changes(const PastImages *images);
uint64_t past_images_take_pushed_out(PastImages *images);

#endif
