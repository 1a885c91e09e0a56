/*
 * past_images.h
 *		A history of the mappings of processes, including those that have exited, built from the
 *		side-band.
 *
 * For each exec image the executable mappings are known in the order of their creation. The kernel
 * does not report munmap(), so a mapping counts until another one covers it. An image whose exec
 * was not seen is known from its first observed mapping on.
 *
 * The memory is bounded: processes that have exited are dropped first, then those without events
 * for longest; of an image with many mappings the older half. Not thread-safe: the owner has a
 * lock.
 */
#ifndef COLLECTOR_PAST_IMAGES_H
#define COLLECTOR_PAST_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#include "process/proc_file.h"
#include "process/sideband.h"

typedef struct PastImages PastImages;

/* All moments (…_ns) are CLOCK_MONOTONIC. */

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

/* Like past_images_update(), but does nothing if all events up to time_ns have been processed. */
void past_images_update_to(PastImages *images, uint64_t time_ns);

/* Waits like sideband_wait(). The only function that needs no lock. */
void past_images_wait(const PastImages *images, int other, int timeout_ms);

/* Processes one event. Has the type SidebandHandler; tests call it directly. */
void past_images_note(void *images, const SidebandEvent *event);

/* Follows CPUs that go offline or online. Call it about once a second. */
void past_images_follow_cpus(PastImages *images);

/*
 * Returns the mappings of the image that the process executed at time_ns: those at its end, or the
 * present ones. Disjoint, by ascending start; 0 if the image's exec was not seen. *last_ns is the
 * time of the newest one. *mappings is valid until the next call of any function.
 */
size_t past_images_find(PastImages *images, uint32_t pid, uint64_t time_ns,
						const ProcMapping **mappings, uint64_t *last_ns);

/*
 * Returns the executable of that image: its first mapping with a file, because the kernel maps it
 * first. NULL if not known.
 */
const ProcMapping *past_images_executable(PastImages *images, uint32_t pid, uint64_t time_ns);

/* Returns the start of that image, by exec or fork; 0 if not known. */
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
 * Returns whether other code was mapped at the address after from_ns and up to to_ns. Both must lie
 * within one image.
 */
PastChange past_images_changed(PastImages *images, uint32_t pid, uint64_t address, uint64_t from_ns,
							   uint64_t to_ns);

/*
 * Returns when the process that was sampled at time_ns last mapped executable memory, or may have
 * done so. UINT64_MAX if nothing is recorded because we do not listen.
 */
uint64_t past_images_mapped_ns(PastImages *images, uint32_t pid, uint64_t time_ns);

/* Returns when the process last mapped code of a file over other memory; 0 if it has not. */
uint64_t past_images_file_mapped_ns(PastImages *images, uint32_t pid);

/* Returns the moment before which mappings of a running process may be missing. */
uint64_t past_images_untold_ns(PastImages *images, uint32_t pid);

/*
 * Counters since the last call: records that did not fit the kernel's buffers; times that a CPU was
 * not observed; processes dropped because of limit_bytes.
 */
uint64_t past_images_take_lost(PastImages *images);
uint64_t past_images_take_gaps(PastImages *images);

/* Changes whenever the kernel loads or unloads code: BPF programs and trampolines. */
uint64_t past_images_kernel_changes(const PastImages *images);
uint64_t past_images_take_pushed_out(PastImages *images);

#endif
