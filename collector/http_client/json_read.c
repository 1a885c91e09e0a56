/*
 * json_read.c
 *		Runs jansson with an allocator that counts the memory while a text is parsed.
 *
 * jansson has one allocator for the whole process, without a context. The count is thread-local, so
 * other threads may use jansson at any time.
 */
#include "http_client/json_read.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct Reading
{
	size_t used_bytes;
	size_t bytes_max;
	bool is_too_large;
} Reading;

static __thread Reading *reading; /* NULL: the thread is not reading */

static void *
allocate(size_t bytes)
{
	void *memory;

	if (reading != NULL && bytes > reading->bytes_max - reading->used_bytes)
	{
		reading->is_too_large = true;
		return NULL;
	}
	memory = malloc(bytes);
	if (reading == NULL || memory == NULL)
		return memory;
	reading->used_bytes += malloc_usable_size(memory) + sizeof(size_t);
	if (reading->used_bytes <= reading->bytes_max)
		return memory;
	reading->used_bytes -= malloc_usable_size(memory) + sizeof(size_t);
	reading->is_too_large = true;
	free(memory);
	return NULL;
}

static void
json_read_release(void *memory)
{
	if (reading != NULL && memory != NULL)
		reading->used_bytes -= malloc_usable_size(memory) + sizeof(size_t);
	free(memory);
}

static void
set_allocator(void)
{
	json_set_alloc_funcs(allocate, json_read_release);
}

json_t *
json_read(const char *bytes, size_t length, size_t flags, size_t bytes_max, const char **problem)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	Reading counted = { .bytes_max = bytes_max };
	json_t *value;

	pthread_once(&once, set_allocator);
	reading = &counted;
	value = json_loadb(bytes != NULL ? bytes : "", length, flags, NULL);
	reading = NULL;
	*problem = counted.is_too_large ? "The answer needs too much memory."
									: "The answer is not valid JSON.";
	return value;
}

json_t *
json_read_body(const HttpBody *body, size_t flags, size_t bytes_max, const char **problem)
{
	return json_read(body->bytes, body->length, flags, bytes_max, problem);
}
