/*
 * table_file.c
 *		Encoding and decoding of unwind tables.
 */
#include "unwind/table_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <lzma.h>

#include "base/hash.h"

#define MAGIC		   "PFSUNWND"
#define CRC_END		   12 /* the checksum covers what comes after it */
/* as many as rows can differ in their offset */
#define MAX_PAGE_LINES ((1U << PFS_UNWIND_PAGE_BITS) / PFS_UNWIND_LINE_ROWS)

typedef struct FileHeader
{
	char magic[8];
	uint32_t crc;
	uint32_t version;
	uint64_t seed;
	uint64_t check;
	uint32_t rule_count;
	uint32_t page_count;
	uint32_t line_count;
	uint32_t unused;
	uint64_t rows_unsupported;
	uint64_t fdes_malformed;
} FileHeader;

typedef struct FilePage
{
	uint64_t page;
	uint32_t first_line;
	uint32_t line_count;
} FilePage;

_Static_assert(sizeof(FileHeader) == 64, "the header has no hidden padding");
_Static_assert(sizeof(FilePage) == 16, "pages have no hidden padding");

/*
 * The rules that a table uses, numbered by first use; numbers holds place + 1, 0: not used. Their
 * count.
 */
static uint32_t
collect_rules(const RuleSet *rules, const PackedTable *packed, uint16_t *numbers,
			  struct pfs_unwind_rule *used)
{
	uint32_t count = 0;

	for (size_t line = 0; line < packed->line_count; line++)
	{
		for (int i = 0; i < PFS_UNWIND_LINE_ROWS; i++)
		{
			uint16_t rule = packed->lines[line].rows[i].rule;

			if (numbers[rule] == 0)
			{
				used[count] = *rule_set_get(rules, rule);
				numbers[rule] = (uint16_t) ++count;
			}
		}
	}
	return count;
}

static void
encode_pages(const PackedTable *packed, uint8_t *bytes)
{
	for (size_t i = 0; i < packed->page_count; i++)
	{
		const PackedPage *page = &packed->pages[i];
		FilePage encoded = { page->page, page->first_line, page->line_count };

		memcpy(bytes + i * sizeof(encoded), &encoded, sizeof(encoded));
	}
}

static void
encode_lines(const PackedTable *packed, const uint16_t *numbers, uint8_t *bytes)
{
	for (size_t i = 0; i < packed->line_count; i++)
	{
		struct pfs_unwind_line line = packed->lines[i];

		for (int row = 0; row < PFS_UNWIND_LINE_ROWS; row++)
			line.rows[row].rule = (uint16_t) (numbers[line.rows[row].rule] - 1);
		memcpy(bytes + i * sizeof(line), &line, sizeof(line));
	}
}

int
table_file_encode(const CfiInput *input, const RuleSet *rules, const PackedTable *packed,
				  const CfiStats *stats, uint8_t **bytes, size_t *length)
{
	uint16_t *numbers = calloc(PFS_UNWIND_RULES, sizeof(*numbers));
	struct pfs_unwind_rule *used = calloc(rule_set_count(rules), sizeof(*used));
	FileHeader header = { .version = CFI_COMPILER_VERSION, .seed = hash_seed() };
	uint8_t *file = NULL;
	size_t pages_at;
	size_t lines_at;

	if (numbers != NULL && used != NULL)
	{
		header.rule_count = collect_rules(rules, packed, numbers, used);
		pages_at = sizeof(header) + header.rule_count * sizeof(*used);
		lines_at = pages_at + packed->page_count * sizeof(FilePage);
		*length = lines_at + packed->line_count * sizeof(*packed->lines);
		file = malloc(*length);
	}
	if (file != NULL)
	{
		memcpy(header.magic, MAGIC, sizeof(header.magic));
		header.check = cfi_input_hash(header.seed, input);
		header.page_count = (uint32_t) packed->page_count;
		header.line_count = (uint32_t) packed->line_count;
		header.rows_unsupported = stats->rows_unsupported;
		header.fdes_malformed = stats->fdes_malformed;
		memcpy(file, &header, sizeof(header));
		memcpy(file + sizeof(header), used, header.rule_count * sizeof(*used));
		encode_pages(packed, file + pages_at);
		encode_lines(packed, numbers, file + lines_at);
		header.crc = lzma_crc32(file + CRC_END, *length - CRC_END, 0);
		memcpy(file, &header, sizeof(header));
		*bytes = file;
	}
	free(numbers);
	free(used);
	return file != NULL ? 0 : -ENOMEM;
}

static bool
header_is_valid(const FileHeader *header, const uint8_t *bytes, size_t length,
				const CfiInput *input)
{
	uint64_t expected = sizeof(*header) +
						(uint64_t) header->rule_count * sizeof(struct pfs_unwind_rule) +
						(uint64_t) header->page_count * sizeof(FilePage) +
						(uint64_t) header->line_count * sizeof(struct pfs_unwind_line);

	return memcmp(header->magic, MAGIC, sizeof(header->magic)) == 0 &&
		   header->version == CFI_COMPILER_VERSION && header->rule_count > 0 &&
		   header->rule_count <= PFS_UNWIND_RULES && header->page_count > 0 &&
		   header->line_count > 0 && expected == length &&
		   header->crc == lzma_crc32(bytes + CRC_END, length - CRC_END, 0) &&
		   header->check == cfi_input_hash(header->seed, input);
}

/* The file's rules as the set numbers them. */
static int
decode_rules(const uint8_t *bytes, uint32_t count, RuleSet *rules, uint16_t *numbers)
{
	for (uint32_t i = 0; i < count; i++)
	{
		struct pfs_unwind_rule rule;

		memcpy(&rule, bytes + i * sizeof(rule), sizeof(rule));
		if (rule.kind > PFS_UNWIND_SIGNAL || rule.fp > PFS_FP_LOST ||
			(rule.flags & ~(PFS_UNWIND_CFA_DEREF | PFS_UNWIND_RA_IN_REGISTER |
							PFS_UNWIND_OTHER_STACK | PFS_UNWIND_INDEX_MASK)) != 0)
			return -EBADMSG;
		numbers[i] = rule_set_add(rules, &rule);
	}
	return 0;
}

/* Pages ascend, and their lines follow one another without a gap. */
static int
decode_pages(const uint8_t *bytes, const FileHeader *header, PackedTable *packed)
{
	uint32_t lines = 0;

	for (uint32_t i = 0; i < header->page_count; i++)
	{
		FilePage page;

		memcpy(&page, bytes + i * sizeof(page), sizeof(page));
		if ((i > 0 && page.page <= packed->pages[i - 1].page) || page.first_line != lines ||
			page.line_count == 0 || page.line_count > MAX_PAGE_LINES ||
			page.line_count > header->line_count - lines)
			return -EBADMSG;
		packed->pages[i] = (PackedPage){ page.page, page.first_line, page.line_count };
		lines += page.line_count;
	}
	packed->page_count = header->page_count;
	return lines == header->line_count ? 0 : -EBADMSG;
}

/* Rows ascend within a page, but for those that repeat the last one. */
static int
decode_lines(const uint8_t *bytes, const FileHeader *header, const uint16_t *numbers,
			 PackedTable *packed)
{
	for (size_t page = 0; page < packed->page_count; page++)
	{
		size_t first = packed->pages[page].first_line;
		uint16_t offset = 0;

		for (size_t i = first; i < first + packed->pages[page].line_count; i++)
		{
			struct pfs_unwind_line *line = &packed->lines[i];

			memcpy(line, bytes + i * sizeof(*line), sizeof(*line));
			for (int row = 0; row < PFS_UNWIND_LINE_ROWS; row++)
			{
				if (line->rows[row].offset < offset || line->rows[row].rule >= header->rule_count)
					return -EBADMSG;
				offset = line->rows[row].offset;
				line->rows[row].rule = numbers[line->rows[row].rule];
			}
		}
	}
	packed->line_count = header->line_count;
	return 0;
}

int
table_file_decode(const uint8_t *bytes, size_t length, const CfiInput *input, RuleSet *rules,
				  PackedTable *packed, CfiStats *stats)
{
	FileHeader header;
	const uint8_t *pages;
	uint16_t *numbers;
	int err = -ENOMEM;

	memset(packed, 0, sizeof(*packed));
	if (length < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	if (!header_is_valid(&header, bytes, length, input))
		return -EBADMSG;

	pages = bytes + sizeof(header) + header.rule_count * sizeof(struct pfs_unwind_rule);
	numbers = calloc(header.rule_count, sizeof(*numbers));
	packed->pages = calloc(header.page_count, sizeof(*packed->pages));
	packed->lines = calloc(header.line_count, sizeof(*packed->lines));
	if (numbers != NULL && packed->pages != NULL && packed->lines != NULL)
		err = decode_pages(pages, &header, packed);
	if (err == 0)
		err = decode_rules(bytes + sizeof(header), header.rule_count, rules, numbers);
	if (err == 0)
		err = decode_lines(pages + header.page_count * sizeof(FilePage), &header, numbers, packed);
	free(numbers);
	if (err != 0)
	{
		packed_table_free(packed);
		return err;
	}
	stats->rows_unsupported = header.rows_unsupported;
	stats->fdes_malformed = header.fdes_malformed;
	return 0;
}
