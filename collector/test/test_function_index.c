/*
 * test_function_index.c
 *		DWARF whose functions, or whose lists of ranges, overlap so much that reading each of them
 *		would take quadratic time: the bytes that are read stay in proportion to the file's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/worker/function_index.h"

#define FUNCTIONS	   2000
#define CALLS		   2000
#define CODE_BEGIN	   0x1000
#define FUNCTION_BYTES 16
#define CODE_BYTES	   (FUNCTIONS * FUNCTION_BYTES)
#define UNIT_BYTES_MAX (1 << 20)

/* DWARF 4: abbreviations by their codes, each with its attributes and forms */
enum
{
	UNIT = 1,
	FUNCTION, /* with a sibling and addresses */
	NESTED,	  /* with addresses */
	LISTED,	  /* a function with a list of ranges and without children */
	CALL,	  /* inlined, with addresses */
	ABBREVIATIONS
};

static const uint8_t abbrevs[] = { UNIT,
								   DW_TAG_compile_unit,
								   1,
								   0,
								   0,
								   FUNCTION,
								   DW_TAG_subprogram,
								   1,
								   DW_AT_sibling,
								   DW_FORM_ref4,
								   DW_AT_low_pc,
								   DW_FORM_addr,
								   DW_AT_high_pc,
								   DW_FORM_data4,
								   0,
								   0,
								   NESTED,
								   DW_TAG_subprogram,
								   1,
								   DW_AT_low_pc,
								   DW_FORM_addr,
								   DW_AT_high_pc,
								   DW_FORM_data4,
								   0,
								   0,
								   LISTED,
								   DW_TAG_subprogram,
								   0,
								   DW_AT_ranges,
								   DW_FORM_sec_offset,
								   0,
								   0,
								   CALL,
								   DW_TAG_inlined_subroutine,
								   0,
								   DW_AT_low_pc,
								   DW_FORM_addr,
								   DW_AT_high_pc,
								   DW_FORM_data4,
								   0,
								   0,
								   0 };

/* A unit that is being written, and its reader. */
typedef struct Image
{
	uint8_t *bytes;
	uint64_t size_bytes;
	DwarfFile file;
	AddressRanges code;
	FunctionIndex index;
} Image;

static void
put(Image *image, uint64_t number, size_t size_bytes)
{
	assert_true(image->size_bytes + size_bytes <= UNIT_BYTES_MAX);
	memcpy(image->bytes + image->size_bytes, &number, size_bytes);
	image->size_bytes += size_bytes;
}

/* Begins a unit, whose length image_read() sets. */
static void
image_begin(Image *image)
{
	*image = (Image){ .bytes = malloc(UNIT_BYTES_MAX) };
	assert_non_null(image->bytes);
	put(image, 0, 4);
	put(image, 4, 2); /* version */
	put(image, 0, 4); /* offset of the abbreviations */
	put(image, 8, 1); /* bytes of an address */
	put(image, UNIT, 1);
}

static void
put_addresses(Image *image, uint64_t low, uint32_t size_bytes)
{
	put(image, low, 8);
	put(image, size_bytes, 4);
}

static uint64_t
function_address(uint32_t number)
{
	return CODE_BEGIN + (uint64_t) number * FUNCTION_BYTES;
}

static void
image_read(Image *image, DwarfSpan lists)
{
	static const DwarfFile empty;
	uint32_t length = (uint32_t) image->size_bytes - 4;

	memcpy(image->bytes, &length, sizeof(length));
	dwarf_file_init_part(&image->file, &empty);
	image->file.sections[DWARF_INFO] = (DwarfSpan){ image->bytes, image->size_bytes };
	image->file.sections[DWARF_ABBREV] = (DwarfSpan){ abbrevs, sizeof(abbrevs) };
	image->file.sections[DWARF_RANGES] = lists;
	assert_int_equal(dwarf_units_read(&image->file), 0);
	assert_int_equal(image->file.unit_count, 1);
	assert_true(dwarf_unit_read_root(&image->file.units[0], NULL));
	assert_int_equal(address_ranges_add(&image->code, CODE_BEGIN, CODE_BEGIN + CODE_BYTES, 0), 0);
	assert_int_equal(address_ranges_sort(&image->code), 0);
	image->index = (FunctionIndex){ .unit = &image->file.units[0], .code = &image->code };
}

static void
image_free(Image *image)
{
	function_index_fini(&image->index);
	address_ranges_fini(&image->code);
	dwarf_file_fini(&image->file);
	free(image->bytes);
}

/* Asks about each function. Returns how many of them have an inlined call at their first byte. */
static uint32_t
ask_all(Image *image)
{
	uint32_t with_calls = 0;

	for (uint32_t i = 0; i < FUNCTIONS; i++)
	{
		ScopeChain chain;

		assert_int_equal(function_index_find(&image->index, function_address(i), &chain), 0);
		with_calls += chain.innermost > 0;
	}
	return with_calls;
}

/* Each function's sibling is the next function, but no list of children ends before the last. */
static void
bounds_siblings_that_overlap(void **state)
{
	Image image;

	image_begin(&image);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
	{
		put(&image, FUNCTION, 1);
		put(&image, image.size_bytes + 4 + 12 + 1 + 12, 4);
		put_addresses(&image, function_address(i), FUNCTION_BYTES);
		put(&image, CALL, 1);
		put_addresses(&image, function_address(i), FUNCTION_BYTES);
	}
	for (uint32_t i = 0; i < CALLS; i++)
	{
		put(&image, CALL, 1);
		put_addresses(&image, CODE_BEGIN, CODE_BYTES);
	}
	for (uint32_t i = 0; i <= FUNCTIONS; i++)
		put(&image, 0, 1);
	image_read(&image, (DwarfSpan){ NULL, 0 });
	assert_in_range(ask_all(&image), 16, 40);
	assert_in_range(image.index.walked_bytes, image.size_bytes, 18 * image.size_bytes);
	image_free(&image);
}

/* Each function is in the previous one, and none has a sibling, so its children must be skipped. */
static void
bounds_functions_in_functions(void **state)
{
	Image image;

	image_begin(&image);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
	{
		put(&image, NESTED, 1);
		put_addresses(&image, function_address(i), FUNCTION_BYTES);
		put(&image, CALL, 1);
		put_addresses(&image, function_address(i), FUNCTION_BYTES);
	}
	for (uint32_t i = 0; i <= FUNCTIONS; i++)
		put(&image, 0, 1);
	image_read(&image, (DwarfSpan){ NULL, 0 });
	assert_in_range(ask_all(&image), 16, 40);
	assert_in_range(image.index.walked_bytes, image.size_bytes, 18 * image.size_bytes);
	image_free(&image);
}

/* Functions one after the other: all inlined calls are read, each once. */
static void
reads_ordinary_functions_once(void **state)
{
	Image image;

	image_begin(&image);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
	{
		put(&image, NESTED, 1);
		put_addresses(&image, function_address(i), FUNCTION_BYTES);
		put(&image, CALL, 1);
		put_addresses(&image, function_address(i), FUNCTION_BYTES);
		put(&image, 0, 1);
	}
	put(&image, 0, 1);
	image_read(&image, (DwarfSpan){ NULL, 0 });
	assert_int_equal(ask_all(&image), FUNCTIONS);
	assert_true(image.index.walked_bytes < image.size_bytes);
	image_free(&image);
}

/* All functions share one list, which has as many ranges as there are functions. */
static void
bounds_lists_that_are_shared(void **state)
{
	uint64_t list[2 * FUNCTIONS + 2] = { 0 };
	ScopeChain chain;
	Image image;

	for (uint32_t i = 0; i < FUNCTIONS; i++)
	{
		list[2 * i] = function_address(i);
		list[2 * i + 1] = function_address(i) + FUNCTION_BYTES;
	}
	image_begin(&image);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
	{
		put(&image, LISTED, 1);
		put(&image, 0, 4);
	}
	put(&image, 0, 1);
	image_read(&image, (DwarfSpan){ (const uint8_t *) list, sizeof(list) });
	assert_int_equal(function_index_find(&image.index, CODE_BEGIN, &chain), 0);
	assert_in_range(image.file.list_bytes_read, 64 * sizeof(list), 80 * sizeof(list));
	assert_in_range(image.index.ranges.count, 1, 2 * 80 * FUNCTIONS);
	image_free(&image);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_siblings_that_overlap),
		cmocka_unit_test(bounds_functions_in_functions),
		cmocka_unit_test(reads_ordinary_functions_once),
		cmocka_unit_test(bounds_lists_that_are_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
