/*
 * cupti.c
 *		Finds CUPTI: the program's own, one beside the program's CUDA libraries, one that the loader
 *		finds, the toolkit's.
 */
#include "gpu_library/old_glibc.h"

#include "gpu_library/cupti.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 512

#if defined(__aarch64__)
#define TOOLKIT_TARGET "/usr/local/cuda/targets/sbsa-linux/lib"
#else
#define TOOLKIT_TARGET "/usr/local/cuda/targets/x86_64-linux/lib"
#endif

static const char *const cupti_names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
										   "libcupti.so" };

static const char *const cupti_directories[] = { "/usr/local/cuda/extras/CUPTI/lib64",
												 "/usr/local/cuda/lib64", TOOLKIT_TARGET };

#define CUPTI_NAMES		  (sizeof(cupti_names) / sizeof(cupti_names[0]))
#define CUPTI_DIRECTORIES (sizeof(cupti_directories) / sizeof(cupti_directories[0]))

/* Called with each loaded library; copies the directory of one that belongs to CUDA. */
static int
note_cuda_directory(struct dl_phdr_info *info, size_t size, void *directory)
{
	const char *name = info->dlpi_name;
	const char *slash = name != NULL ? strrchr(name, '/') : NULL;

	(void) size;
	if (slash == NULL || slash - name >= PATH_BYTES / 2 ||
		(strncmp(slash + 1, "libcudart.so", strlen("libcudart.so")) != 0 &&
		 strncmp(slash + 1, "libcupti.so", strlen("libcupti.so")) != 0))
		return 0;
	memcpy(directory, name, (size_t) (slash - name));
	((char *) directory)[slash - name] = '\0';
	return 1;
}

static void *
open_in_directory(const char *directory)
{
	void *handle = NULL;

	for (size_t i = 0; i < CUPTI_NAMES && handle == NULL; i++)
	{
		char path[PATH_BYTES];

		snprintf(path, sizeof(path), "%s/%s", directory, cupti_names[i]);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return handle;
}

/* Opens one of the names, wherever the loader finds it. */
static void *
open_by_name(int flags)
{
	void *handle = NULL;

	for (size_t i = 0; i < CUPTI_NAMES && handle == NULL; i++)
		handle = dlopen(cupti_names[i], RTLD_NOW | flags);
	return handle;
}

static void *
open_cupti(const char *path)
{
	char directory[PATH_BYTES] = "";
	void *handle;

	if (path != NULL)
		return dlopen(path, RTLD_NOW | RTLD_LOCAL);
	handle = open_by_name(RTLD_NOLOAD);
	if (handle == NULL)
		(void) dl_iterate_phdr(note_cuda_directory, directory);
	if (handle == NULL && directory[0] != '\0')
		handle = open_in_directory(directory);
	if (handle == NULL)
		handle = open_by_name(RTLD_LOCAL);
	for (size_t i = 0; i < CUPTI_DIRECTORIES && handle == NULL; i++)
		handle = open_in_directory(cupti_directories[i]);
	return handle;
}

bool
cupti_load(const char *path, Cupti *cupti)
{
	const struct
	{
		void **function;
		const char *name;
		bool is_needed;
	} functions[] = {
		{ (void **) &cupti->subscribe, "cuptiSubscribe", true },
		{ (void **) &cupti->unsubscribe, "cuptiUnsubscribe", true },
		{ (void **) &cupti->enable_callback, "cuptiEnableCallback", true },
		{ (void **) &cupti->register_buffers, "cuptiActivityRegisterCallbacks", true },
		{ (void **) &cupti->enable, "cuptiActivityEnable", true },
		{ (void **) &cupti->disable, "cuptiActivityDisable", true },
		{ (void **) &cupti->next_record, "cuptiActivityGetNextRecord", true },
		{ (void **) &cupti->flush, "cuptiActivityFlushAll", true },
		{ (void **) &cupti->dropped, "cuptiActivityGetNumDroppedRecords", true },
		{ (void **) &cupti->timestamp, "cuptiGetTimestamp", true },
		{ (void **) &cupti->register_clock, "cuptiActivityRegisterTimestampCallback", false },
	};
	void *handle = open_cupti(path);

	if (handle == NULL)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
	{
		*functions[i].function = dlsym(handle, functions[i].name);
		if (functions[i].is_needed && *functions[i].function == NULL)
			return false;
	}
	return true;
}
