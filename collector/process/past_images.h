/*
 * past_images.h
 *		What processes mapped and when, also those that are gone: a memory of the side-band.
 *
 * Of each exec image the executable mappings are known, in the order in which they came. That one
 * was taken away is not told, only what was mapped over it. An image whose beginning was not seen
 * is known from the first mapping on that was.
 *
 * Bounded: processes that have ended go first, then those that were silent for longest; of an
 * image with many mappings the oldest half. Not thread-safe: its owner has a lock.
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
 * limit_bytes is of the heap, counted to within some percent; the kernel's buffers are not in it.
 * 0 or -ENOMEM.
 */
int past_images_create(size_t process_limit, size_t limit_bytes, PastImages **images);
void past_images_free(PastImages *images); /* accepts NULL */

/*
 * Starts to listen, with buffers of limit_bytes in all (see sideband_create); -errno where the
 * kernel does not let us, and nothing is known then.
 */
int past_images_listen(PastImages *images, size_t limit_bytes);

/* Of the kernel's memory, for buffers. */
size_t past_images_buffer_bytes(const PastImages *images);

/* Takes in what was told since. Call often: the kernel's buffers are small. */
void past_images_update(PastImages *images);

/* The same, unless all that was told up to a moment is taken in already. */
void past_images_update_to(PastImages *images, uint64_t time_ns);

/* Waits as sideband_wait does. The only function that needs no lock. */
void past_images_wait(const PastImages *images, int other, int timeout_ms);

/* A SidebandHandler; for tests, too. */
void past_images_note(void *images, const SidebandEvent *event);

/* CPUs come and go: call about once a second. */
void past_images_follow_cpus(PastImages *images);

/*
 * The mappings of the image that the process executed at time_ns: those with which it ended, or
 * that it has now. By ascending start, disjoint. 0 where its beginning is not known. *last_ns is
 * when the last of them came. They are the table's, and hold until the next call of any function.
 */
size_t past_images_find(PastImages *images, uint32_t pid, uint64_t time_ns,
						const ProcMapping **mappings, uint64_t *last_ns);

/*
 * The executable of that image: its first mapping with a file, which the kernel maps before all
 * others. NULL: none.
 */
const ProcMapping *past_images_executable(PastImages *images, uint32_t pid, uint64_t time_ns);

/* When that image began, be it by a fork; 0 where it is not known. */
uint64_t past_images_since_ns(PastImages *images, uint32_t pid, uint64_t time_ns);

/* The last mapping that was told of an address up to that time; NULL: none. */
const ProcMapping *past_images_at(PastImages *images, uint32_t pid, uint64_t address,
								  uint64_t time_ns);

typedef enum PastChange
{
	PAST_UNCHANGED,
	PAST_CHANGED,
	PAST_UNTOLD, /* not as far as is known, but not all is */
} PastChange;

/*
 * Was other code mapped at the address after from_ns, up to to_ns? Both lie in the life of one
 * image.
 */
PastChange past_images_changed(PastImages *images, uint32_t pid, uint64_t address, uint64_t from_ns,
							   uint64_t to_ns);

/*
 * When the process that was sampled at time_ns last mapped executable memory, or may have, as far
 * as that is taken in. UINT64_MAX where nothing is told.
 */
uint64_t past_images_mapped_ns(PastImages *images, uint32_t pid, uint64_t time_ns);

/* When the process last mapped code of a file where other code was, or none; 0: never. */
uint64_t past_images_file_mapped_ns(PastImages *images, uint32_t pid);

/* What a process that runs mapped before this moment may not be known. */
uint64_t past_images_untold_ns(PastImages *images, uint32_t pid);

/*
 * Counts since the last call: records that did not fit the kernel's buffers; times that a CPU had
 * not been listened to; processes that were forgotten because all together took limit_bytes.
 */
uint64_t past_images_take_lost(PastImages *images);
uint64_t past_images_take_gaps(PastImages *images);

/* Counts when code of the kernel came or went: BPF programs, trampolines. */
uint64_t past_images_kernel_changes(const PastImages *images);
uint64_t past_images_take_pushed_out(PastImages *images);

#endif
