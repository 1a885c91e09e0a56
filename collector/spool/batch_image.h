/*
 * batch_image.h
 *		Converts a batch to bytes that outlive its process, and back.
 *
 * An image lists the items of each kind in the order of their indexes, so that indexes need no
 * translation when the batch is made again:
 *
 * version, 1 byte mappings, functions, locations, stacks, series, samples, traces, losses, unwound,
 * notes, receipts: of each kind the number of items, then the items
 *
 * Numbers are varints; those that may be negative are in zigzag form, and a sample's time is its
 * distance from the one before. A text is its length and its bytes.
 */
#ifndef COLLECTOR_BATCH_IMAGE_H
#define COLLECTOR_BATCH_IMAGE_H

#include "batch/batch.h"

typedef struct BatchImage
{
	uint8_t *bytes; /* allocated by malloc() */
	size_t length;
	size_t capacity;
} BatchImage;

/* Appends the image of a batch. Returns 0 or -ENOMEM. */
int batch_image_write(BatchImage *image, const Batch *batch);

/*
 * Makes a batch from an image. Returns 0; -EBADMSG if the bytes are not the image of a batch;
 * -ENOMEM if memory is exhausted, or if the batch would take more than budget_bytes.
 */
int batch_image_read(const uint8_t *bytes, size_t length, size_t budget_bytes, Batch **batch);

#endif
