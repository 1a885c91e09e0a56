/*
 * past_images.h
 *		What processes mapped, also of those that are gone: a memory of the side-band.
 *
 * An image is what a process executes from one exec to the next. Only images whose beginning was seen are known, with all
 * executable mappings that they ever had: newer ones cover older ones, since unmapping is not told. Bounded: the processes
 * that were silent for longest go. Not thread-safe: its owner has a lock.
 */
#ifndef COLLECTOR_PAST_IMAGES_H
#define COLLECTOR_PAST_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#include "agent/proc_file.h"
#include "agent/sideband.h"

typedef struct PastImages PastImages;

int past_images_create(size_t process_limit, PastImages **images);
void past_images_free(PastImages *images); /* accepts NULL */

/* Starts to listen; -errno where the kernel does not let us, and nothing is known then. */
int past_images_listen(PastImages *images);

/* Takes in what was told since. Call often: the kernel's buffers are small. */
void past_images_update(PastImages *images);

/* A SidebandHandler; for tests, too. */
void past_images_note(void *images, const SidebandEvent *event);

/* CPUs come and go: call about once a minute. */
void past_images_follow_cpus(PastImages *images);

/*
 * The mappings, by ascending start, of the image that the process executed at that time (CLOCK_MONOTONIC); 0 where it is
 * not known. They belong to the table and hold until the next call of any other function.
 */
size_t past_images_find(const PastImages *images, uint32_t pid, uint64_t time_ns,
						const ProcMapping **mappings);

/*
 * When the process last mapped executable memory, or may have: CLOCK_MONOTONIC, up to the last update. UINT64_MAX where
 * nothing is told.
 */
uint64_t past_images_mapped_ns(const PastImages *images, uint32_t pid);

/* Of the executable: its first mapping that has a file; NULL: none. The kernel maps it before all others. */
const ProcMapping *past_images_executable(const PastImages *images, uint32_t pid, uint64_t time_ns);

#endif
