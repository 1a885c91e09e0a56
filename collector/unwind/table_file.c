/*
 * table_file.c
 *		Encodes and decodes unwind tables, completely or in parts.
 */
#include "unwind/table_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <lzma.h>

#include "base/cache_directory.h"
#include "base/hash.h"

#define MAGIC		   "PFSUNWND"
#define CRC_END		   12 /* the checksum covers the bytes from here up to the lines of rows */
/* the number of distinct offsets in a page limits its lines */
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
	uint32_t part_count;
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
 * Numbers the rules of a table in the order of their first use. numbers[i] becomes the number of
 * rule i plus one; 0: the table does not use the rule. Returns the number of rules used.
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
			/*
			 * A row contains the rule's number in this process's rule set. The file numbers its
			 * rules from 0, in the order of rows, because the set's numbers differ in the next run.
			 */
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

/* Returns the first page after the part to which this page belongs. */
static size_t
part_end(const PackedTable *packed, size_t page)
{
	uint64_t part = packed_page_part(packed->pages[page].page);
	size_t end = page + 1;

	while (end < packed->page_count && packed_page_part(packed->pages[end].page) == part)
		end++;
	return end;
}

static uint32_t
count_parts(const PackedTable *packed)
{
	uint32_t count = 0;

	for (size_t page = 0; page < packed->page_count; page = part_end(packed, page))
		count++;
	return count;
}

/* Counts the lines of the pages from page to before end. */
static size_t
page_count_lines(const PackedTable *packed, size_t page, size_t end)
{
	/* the lines of adjacent pages are contiguous in a complete table */
	return packed->pages[end - 1].first_line + packed->pages[end - 1].line_count -
		   packed->pages[page].first_line;
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
			/*
			 * numbers[] contains the number plus one; each rule of a row has a number, from
			 * collect_rules()
			 */
			line.rows[row].rule = (uint16_t) (numbers[line.rows[row].rule] - 1);
		memcpy(bytes + i * sizeof(line), &line, sizeof(line));
	}
}

static void
encode_checks(const TableFileIndex *index, uint8_t *bytes)
{
	for (uint32_t i = 0; i < index->part_count; i++)
		memcpy(bytes + i * sizeof(uint32_t), &index->parts[i].check, sizeof(uint32_t));
}

/* Positions of a file's sections, and its length. */
typedef struct Layout
{
	uint64_t pages;
	uint64_t checks;
	uint64_t lines;
	uint64_t length;
} Layout;

static Layout
layout_of(const FileHeader *header)
{
	Layout layout;

	/*
	 * The counts have 32 bits and items at most 64 bytes, so a forged header cannot overflow these
	 * sums.
	 */
	layout.pages = sizeof(*header) + (uint64_t) header->rule_count * sizeof(struct pfs_unwind_rule);
	layout.checks = layout.pages + (uint64_t) header->page_count * sizeof(FilePage);
	layout.lines = layout.checks + (uint64_t) header->part_count * sizeof(uint32_t);
	layout.length = layout.lines + (uint64_t) header->line_count * sizeof(struct pfs_unwind_line);
	return layout;
}

static uint32_t
check_of_head(const uint8_t *bytes, const Layout *layout)
{
	return lzma_crc32(bytes + CRC_END, layout->lines - CRC_END, 0);
}

void
table_file_index_fini(TableFileIndex *index)
{
	free(index->numbers);
	free(index->parts);
	*index = (TableFileIndex){ 0 };
}

/* Allocates an index for the rules and parts of a file. */
static int
index_init(TableFileIndex *index, const FileHeader *header)
{
	*index = (TableFileIndex){ .seed = header->seed,
							   .check = header->check,
							   .lines = layout_of(header).lines,
							   .rule_count = header->rule_count,
							   .part_count = header->part_count };
	/*
	 * header_is_valid() and the encoder allow neither 0 rules nor 0 pages, and each page is in a
	 * part, so that NULL means out of memory
	 */
	index->numbers = calloc(header->rule_count, sizeof(*index->numbers));
	index->parts = calloc(header->part_count, sizeof(*index->parts));
	if (index->numbers != NULL && index->parts != NULL)
		return 0;
	table_file_index_fini(index);
	return -ENOMEM;
}

/* Sets the parts in the index of a complete table, without their checksums. */
static void
index_parts(TableFileIndex *index, const PackedTable *packed)
{
	TableFilePart *part = index->parts;

	for (size_t page = 0; page < packed->page_count; page = part_end(packed, page))
		*part++ = (TableFilePart){ .number = packed_page_part(packed->pages[page].page),
								   .first_line = packed->pages[page].first_line };
}

/* Returns the number of lines of a part of a complete table. */
static uint32_t
index_part_lines(const TableFileIndex *index, uint32_t part, size_t line_count)
{
	/* a part ends where the next one begins */
	size_t end = part + 1 < index->part_count ? index->parts[part + 1].first_line : line_count;

	return (uint32_t) end - index->parts[part].first_line;
}

static uint32_t
lines_check(const void *lines, size_t count)
{
	return lzma_crc32(lines, count * sizeof(struct pfs_unwind_line), 0);
}

/* Makes the index of a file whose lines were encoded. */
static int
index_encoded(TableFileIndex *index, const FileHeader *header, const PackedTable *packed,
			  const uint16_t *numbers, const uint8_t *lines)
{
	int err = index_init(index, header);

	if (err != 0)
		return err;
	/* inverts the map: from the file's number to the set's */
	for (uint32_t rule = 0; rule < PFS_UNWIND_RULES; rule++)
	{
		if (numbers[rule] != 0)
			index->numbers[numbers[rule] - 1] = (uint16_t) rule;
	}
	index_parts(index, packed);
	for (uint32_t i = 0; i < index->part_count; i++)
		/* the lines are checked per part, so that a part can be read without the others */
		index->parts[i].check =
			lines_check(lines + index->parts[i].first_line * sizeof(*packed->lines),
						index_part_lines(index, i, packed->line_count));
	return 0;
}

int
table_file_encode(const CfiInput *input, const RuleSet *rules, const PackedTable *packed,
				  const CfiStats *stats, uint8_t **bytes, size_t *length, TableFileIndex *index)
{
	uint16_t *numbers = calloc(PFS_UNWIND_RULES, sizeof(*numbers));
	struct pfs_unwind_rule *used = calloc(rule_set_count(rules), sizeof(*used));
	FileHeader header = { .version = CFI_COMPILER_VERSION, .seed = hash_seed() };
	uint8_t *file = NULL;
	Layout layout;

	/* 1. Number the rules and count the parts, which determine the layout of the file. */
	if (numbers != NULL && used != NULL)
	{
		memcpy(header.magic, MAGIC, sizeof(header.magic));
		header.check = cfi_input_hash(header.seed, input);
		header.rule_count = collect_rules(rules, packed, numbers, used);
		header.page_count = (uint32_t) packed->page_count;
		header.line_count = (uint32_t) packed->line_count;
		header.part_count = count_parts(packed);
		header.rows_unsupported = stats->rows_unsupported;
		header.fdes_malformed = stats->fdes_malformed;
		layout = layout_of(&header);
		file = malloc(layout.length);
	}
	if (file != NULL)
	{
		/*
		 * 2. Encode the lines first, because the index has their checksums, and the head has the
		 * index.
		 */
		encode_lines(packed, numbers, file + layout.lines);
		if (index_encoded(index, &header, packed, numbers, file + layout.lines) != 0)
		{
			free(file);
			file = NULL;
		}
	}
	if (file != NULL)
	{
		/* 3. Write the head, then its checksum, which covers the head after CRC_END. */
		memcpy(file, &header, sizeof(header));
		memcpy(file + sizeof(header), used, header.rule_count * sizeof(*used));
		encode_pages(packed, file + layout.pages);
		encode_checks(index, file + layout.checks);
		header.crc = check_of_head(file, &layout);
		memcpy(file, &header, sizeof(header));
		*bytes = file;
		*length = layout.length;
	}
	free(numbers);
	free(used);
	return file != NULL ? 0 : -ENOMEM;
}

/* A file that is being read. */
typedef struct Reader
{
	int fd;
	FileHeader header;
	Layout layout;
	uint8_t *head; /* content of the file before the lines */
	TableFileIndex *index;
	PackedTable *packed;
} Reader;

static bool
header_is_valid(const Reader *reader)
{
	const FileHeader *header = &reader->header;
	struct stat status;

	/*
	 * The exact size bounds the counts in the header by the bytes that exist, so that a forged
	 * count cannot make this process allocate more than TABLE_FILE_MAX_BYTES.
	 */
	return memcmp(header->magic, MAGIC, sizeof(header->magic)) == 0 &&
		   header->version == CFI_COMPILER_VERSION && header->rule_count > 0 &&
		   header->rule_count <= PFS_UNWIND_RULES && header->page_count > 0 &&
		   header->line_count > 0 && reader->layout.length <= TABLE_FILE_MAX_BYTES &&
		   fstat(reader->fd, &status) == 0 && (uint64_t) status.st_size == reader->layout.length;
}

/* Reads the file up to its lines. */
static int
table_head_read(Reader *reader)
{
	int err = cache_file_read(reader->fd, 0, &reader->header, sizeof(reader->header));

	if (err != 0)
		return err;
	reader->layout = layout_of(&reader->header);
	if (!header_is_valid(reader))
		return -EBADMSG;
	reader->head = malloc(reader->layout.lines);
	if (reader->head == NULL)
		return -ENOMEM;
	err = cache_file_read(reader->fd, 0, reader->head, reader->layout.lines);
	/*
	 * The header was read twice. If its second copy differs, the file is being changed, and the
	 * checked layout is not that of the head.
	 */
	if (err == 0 && (memcmp(reader->head, &reader->header, sizeof(reader->header)) != 0 ||
					 check_of_head(reader->head, &reader->layout) != reader->header.crc))
		err = -EBADMSG;
	return err;
}

/* Adds the file's rules to the set, and stores their numbers. */
static int
decode_rules(Reader *reader, RuleSet *rules)
{
	for (uint32_t i = 0; i < reader->header.rule_count; i++)
	{
		struct pfs_unwind_rule rule;

		memcpy(&rule, reader->head + sizeof(reader->header) + i * sizeof(rule), sizeof(rule));
		/*
		 * The walk, in the kernel too, uses kind, fp and flags without further checks. Other fields
		 * are offsets and register numbers, which the walk checks against the stack and its
		 * registers.
		 */
		if (rule.kind > PFS_UNWIND_SIGNAL || rule.fp > PFS_FP_LOST ||
			(rule.flags & ~(PFS_UNWIND_CFA_DEREF | PFS_UNWIND_RA_IN_REGISTER |
							PFS_UNWIND_OTHER_STACK | PFS_UNWIND_INDEX_MASK)) != 0)
			return -EBADMSG;
		reader->index->numbers[i] = rule_set_add(rules, &rule);
	}
	return 0;
}

/* Decodes pages, which must ascend, with contiguous lines. */
static int
decode_pages(Reader *reader)
{
	const FileHeader *header = &reader->header;
	PackedTable *packed = reader->packed;
	uint32_t lines = 0;

	packed->pages = calloc(header->page_count, sizeof(*packed->pages));
	if (packed->pages == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < header->page_count; i++)
	{
		FilePage page;

		memcpy(&page, reader->head + reader->layout.pages + i * sizeof(page), sizeof(page));
		/*
		 * Contiguous lines make first_line redundant, but a file that disagrees is damaged. The
		 * subtraction cannot wrap, because lines never exceeds header->line_count.
		 */
		if ((i > 0 && page.page <= packed->pages[i - 1].page) || page.first_line != lines ||
			page.line_count == 0 || page.line_count > MAX_PAGE_LINES ||
			page.line_count > header->line_count - lines)
			return -EBADMSG;
		packed->pages[i] = (PackedPage){ page.page, page.first_line, page.line_count };
		lines += page.line_count;
	}
	packed->page_count = header->page_count;
	return lines == header->line_count && count_parts(packed) == header->part_count ? 0 : -EBADMSG;
}

/* Decodes lines. Within a page rows must ascend, except for repetitions of the last row. */
static int
decode_lines(const TableFileIndex *index, struct pfs_unwind_line *lines, uint32_t count)
{
	uint16_t offset = 0;

	for (uint32_t i = 0; i < count; i++)
	{
		for (int row = 0; row < PFS_UNWIND_LINE_ROWS; row++)
		{
			struct pfs_unwind_row *each = &lines[i].rows[row];

			/*
			 * the walk's binary search relies on ascending rows, and numbers[] has rule_count items
			 */
			if (each->offset < offset || each->rule >= index->rule_count)
				return -EBADMSG;
			offset = each->offset;
			each->rule = index->numbers[each->rule];
		}
	}
	return 0;
}

/* Reads the lines of the part that contains these pages. */
static int
table_part_read(int fd, const TableFileIndex *index, const TableFilePart *part,
				const PackedPage *pages, size_t page_count, struct pfs_unwind_line *lines)
{
	size_t count = 0;
	int err;

	for (size_t i = 0; i < page_count; i++)
		count += packed_page_lines(&pages[i]);
	err = cache_file_read(fd, index->lines + (uint64_t) part->first_line * sizeof(*lines), lines,
						  count * sizeof(*lines));
	if (err == 0 && lines_check(lines, count) != part->check)
		err = -EBADMSG;
	/*
	 * The checksum is that of the file's bytes, so it is compared before decoding replaces the
	 * rules' numbers.
	 */
	for (size_t i = 0; err == 0 && i < page_count; i++)
	{
		uint32_t line_count = packed_page_lines(&pages[i]);

		err = decode_lines(index, lines, line_count);
		lines += line_count;
	}
	return err;
}

static bool
page_is_wanted(const Reader *reader, const PackedParts *parts, size_t page)
{
	/* a table with few lines is loaded as a whole, although its file has parts, too */
	return parts == NULL || reader->header.line_count < PACKED_WHOLE_LINES ||
		   packed_parts_hold(parts, reader->packed->pages[page].page);
}

/* Reads the lines of the wanted parts; the lines of other pages are left out. */
static int
read_lines(Reader *reader, const PackedParts *parts)
{
	PackedTable *packed = reader->packed;
	const TableFilePart *part = reader->index->parts;
	size_t count = 0;
	int err = 0;

	/* Step 1: count the lines of the wanted parts. All pages of a part are wanted, or none is. */
	for (size_t page = 0, end; page < packed->page_count; page = end)
	{
		end = part_end(packed, page);
		count += page_is_wanted(reader, parts, page) ? page_count_lines(packed, page, end) : 0;
	}
	packed->lines = calloc(count + 1, sizeof(*packed->lines));
	if (packed->lines == NULL)
		return -ENOMEM;
	/*
	 * Step 2: read part by part. The lines of wanted pages become contiguous in packed->lines;
	 * other pages keep only their number of lines.
	 */
	for (size_t page = 0, end; err == 0 && page < packed->page_count; page = end, part++)
	{
		end = part_end(packed, page);
		if (page_is_wanted(reader, parts, page))
			err = table_part_read(reader->fd, reader->index, part, &packed->pages[page], end - page,
								  &packed->lines[packed->line_count]);
		for (; page < end; page++)
		{
			PackedPage *each = &packed->pages[page];

			if (!page_is_wanted(reader, parts, page))
			{
				*each = packed_page_without_lines(each);
				continue;
			}
			each->first_line = (uint32_t) packed->line_count;
			packed->line_count += each->line_count;
		}
	}
	return err;
}

/* Reads everything after the header. */
static int
table_file_read_packed(Reader *reader, const PackedParts *parts, RuleSet *rules)
{
	int err = decode_pages(reader);

	if (err == 0)
		err = index_init(reader->index, &reader->header);
	if (err == 0)
		err = decode_rules(reader, rules);
	if (err == 0)
	{
		const uint8_t *check = reader->head + reader->layout.checks;

		index_parts(reader->index, reader->packed);
		for (uint32_t i = 0; i < reader->index->part_count; i++)
			memcpy(&reader->index->parts[i].check, check + i * sizeof(uint32_t), sizeof(uint32_t));
		err = read_lines(reader, parts);
	}
	return err;
}

int
table_file_read(int fd, const CfiInput *input, const PackedParts *parts, RuleSet *rules,
				PackedTable *packed, CfiStats *stats, TableFileIndex *index)
{
	Reader reader = { .fd = fd, .packed = packed, .index = index };
	int err = table_head_read(&reader);

	memset(packed, 0, sizeof(*packed));
	*index = (TableFileIndex){ 0 };
	/* a build ID can be forged, so the hash decides whether the table is that of the input */
	if (err == 0 && reader.header.check != cfi_input_hash(reader.header.seed, input))
		err = -EBADMSG;
	if (err == 0)
		err = table_file_read_packed(&reader, parts, rules);
	free(reader.head);
	if (err != 0)
	{
		packed_table_free(packed);
		table_file_index_fini(index);
		return err;
	}
	stats->rows_unsupported = reader.header.rows_unsupported;
	stats->fdes_malformed = reader.header.fdes_malformed;
	return 0;
}

static int
compare_parts(const void *number, const void *part)
{
	uint64_t wanted = *(const uint64_t *) number;
	uint64_t found = ((const TableFilePart *) part)->number;

	return (wanted > found) - (wanted < found);
}

int
table_file_read_parts(int fd, const TableFileIndex *index, PackedTable *packed)
{
	FileHeader header;
	int err = cache_file_read(fd, 0, &header, sizeof(header));

	/*
	 * Since the index was made the cache may have replaced the file by one of another input. The
	 * index has bounded everything else, so the head is not read again.
	 */
	if (err == 0 && (header.seed != index->seed || header.check != index->check))
		err = -EBADMSG;
	for (size_t page = 0, end; err == 0 && page < packed->page_count; page = end)
	{
		uint64_t number = packed_page_part(packed->pages[page].page);
		const TableFilePart *part =
			bsearch(&number, index->parts, index->part_count, sizeof(*index->parts), compare_parts);

		end = part_end(packed, page);
		err = part == NULL ? -EBADMSG
						   : table_part_read(fd, index, part, &packed->pages[page], end - page,
											 &packed->lines[packed->pages[page].first_line]);
	}
	return err;
}
