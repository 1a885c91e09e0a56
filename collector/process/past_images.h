/*
 * past_images.h
 *		What processes mapped and when, also those that are gone: a memory of the side-band.
 *
 * An image is what a process executes from one exec to the next. Of each image the executable
 * mappings are known in the order in which they came; that one was taken away is not told, only
 * what was mapped over it. Images whose beginning was not seen are known from the first mapping on
 * that was. Bounded: processes that were silent for longest go, and so do the oldest mappings of an
 * image with many. Not thread-safe: its owner has a lock.
 */
#ifndef COLLECTOR_PAST_IMAGES_H
#define COLLECTOR_PAST_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#include "process/proc_file.h"
#include "process/sideband.h"

typedef struct PastImages PastImages;

/* Times are CLOCK_MONOTONIC, all of them. */

/* limit_bytes: of the heap, counted to within some percent; the kernel's buffers are not in it. */
int past_images_create(size_t process_limit, size_t limit_bytes, PastImages **images);
void past_images_free(PastImages *images); /* accepts NULL */

/* Starts to listen; -errno where the kernel does not let us, and nothing is known then. */
int past_images_listen(PastImages *images);

/* Takes in what was told since. Call often: the kernel's buffers are small. */
void past_images_update(PastImages *images);

/*
 * Waits for what update should take in soon, or what sideband_wait says. The only function that
 * needs no lock.
 */
void past_images_wait(const PastImages *images, int other, int timeout_ms);

/* The same as update where what was told up to a moment is not taken in yet. */
void past_images_update_to(PastImages *images, uint64_t time_ns);

/* A SidebandHandler; for tests, too. */
void past_images_note(void *images, const SidebandEvent *event);

/* CPUs come and go: call about once a minute. */
void past_images_follow_cpus(PastImages *images);

/*
 * The mappings, by ascending start, with which the image ended that the process executed at that
 * time, or as they are up to now; 0 where its beginning is not known. *last_ns is when the last of
 * them came. They belong to the table and hold until the next call of any function.
 */
size_t past_images_find(PastImages *images, uint32_t pid, uint64_t time_ns,
						const ProcMapping **mappings, uint64_t *last_ns);

/*
 * Of the executable: the first mapping of that image that has a file; NULL: none. The kernel maps
 * it before all others.
 */
const ProcMapping *past_images_executable(PastImages *images, uint32_t pid, uint64_t time_ns);

/* The mapping that was told last of an address up to that time; NULL: none. */
const ProcMapping *past_images_at(PastImages *images, uint32_t pid, uint64_t address,
								  uint64_t time_ns);

typedef enum PastChange
{
	PAST_UNCHANGED,
	PAST_CHANGED,
	PAST_UNTOLD, /* not that we know, but not all is known */
} PastChange;

/*
 * Was other code mapped at the address after from_ns, up to to_ns? Both lie in the life of one
 * image.
 */
PastChange past_images_changed(PastImages *images, uint32_t pid, uint64_t address, uint64_t from_ns,
							   uint64_t to_ns);

/*
 * When the process that was sampled at time_ns last mapped executable memory, or may have, up to
 * the last update. UINT64_MAX where nothing is told.
 */
uint64_t past_images_mapped_ns(PastImages *images, uint32_t pid, uint64_t time_ns);

/* What the process, which runs, mapped before this may be unknown. */
uint64_t past_images_untold_ns(PastImages *images, uint32_t pid);

/* Records of the kernel that did not fit its buffers, since this was last asked. */
uint64_t past_images_take_lost(PastImages *images);

/*
 * Processes that were forgotten because all together took limit_bytes, since this was last asked.
 */
uint64_t past_images_take_pushed_out(PastImages *images);

/* When it last mapped code of a file where other code was, or none; 0: never that we know. */
uint64_t past_images_file_mapped_ns(PastImages *images, uint32_t pid);

#endif
