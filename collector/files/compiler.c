/*
 * compiler.c
 *		Reads the sections in which compilers record their version.
 */
#include "files/compiler.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define COMMENT_BYTES  4096
#define SECTIONS_MAX   256
#define GO_HEAD_BYTES  32
#define GO_INLINE_FLAG 2 /* the version follows the head, preceded by its length */

static const char go_magic[] = "\xff Go buildinf:";

/*
 * Text before the version in a line of .comment. The compiler with the highest rank is reported: a
 * Rust program, for example, has a line of GCC, too.
 */
static const struct
{
	const char *words;
	const char *name;
	int rank;
} compilers[] = {
	{ "rustc version ", "rustc", 3 },
	{ "clang version ", "clang", 2 },
	{ "GCC: ", "gcc", 1 },
};

/*
 * Writes name and the first word of rest. A text in parentheses, as in "(Debian 12.2.0-14) 12.2.0",
 * is skipped.
 */
static void
set_version(char compiler[COMPILER_BYTES], const char *name, const char *rest)
{
	const char *closed = rest[0] == '(' ? strchr(rest, ')') : NULL;
	int length = 0;

	if (closed != NULL)
		rest = closed + 1 + strspn(closed + 1, " ");
	while (length < 32 && (isalnum((unsigned char) rest[length]) || strchr(".-+", rest[length])) &&
		   rest[length] != '\0')
		length++;
	snprintf(compiler, COMPILER_BYTES, "%s%s%.*s", name, length > 0 ? " " : "", length, rest);
}

/* Replaces the compiler if the line names one of a higher rank than *best. */
static void
compiler_take_line(const char *line, int *best, char compiler[COMPILER_BYTES])
{
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++)
	{
		const char *found = strstr(line, compilers[i].words);

		if (found == NULL || compilers[i].rank <= *best)
			continue;
		*best = compilers[i].rank;
		set_version(compiler, compilers[i].name, found + strlen(compilers[i].words));
	}
}

void
compiler_parse_comment(const char *bytes, size_t length, char compiler[COMPILER_BYTES])
{
	int best = 0;

	compiler[0] = '\0';
	while (length > 0)
	{
		char line[256];
		size_t end = strnlen(bytes, length);

		snprintf(line, sizeof(line), "%.*s", (int) end, bytes);
		compiler_take_line(line, &best, compiler);
		end += end < length; /* skip the line's NUL */
		bytes += end;
		length -= end;
	}
}

/* Reads a Go version such as "go1.21.5", which its length precedes. */
static void
compiler_read_go(const ElfSource *source, const Elf64_Shdr *section, char compiler[COMPILER_BYTES])
{
	unsigned char bytes[GO_HEAD_BYTES + 1 + COMPILER_BYTES];
	size_t length;

	if (section->sh_size < GO_HEAD_BYTES ||
		!elf_source_read(source, section->sh_offset, bytes, GO_HEAD_BYTES) ||
		memcmp(bytes, go_magic, sizeof(go_magic) - 1) != 0)
		return;
	snprintf(compiler, COMPILER_BYTES, "go");
	if ((bytes[15] & GO_INLINE_FLAG) == 0 ||
		!elf_source_read(source, section->sh_offset + GO_HEAD_BYTES, bytes, 1))
		return;
	length = bytes[0];
	/* only unreleased versions of Go are longer: their length has two bytes */
	if (length < 3 || length >= COMPILER_BYTES - 2 ||
		!elf_source_read(source, section->sh_offset + GO_HEAD_BYTES + 1, bytes, length) ||
		memcmp(bytes, "go", 2) != 0)
		return;
	bytes[length] = '\0';
	set_version(compiler, "go", (const char *) bytes + 2);
}

static void
compiler_read_comment(const ElfSource *source, const Elf64_Shdr *section,
					  char compiler[COMPILER_BYTES])
{
	char bytes[COMMENT_BYTES];
	size_t length = section->sh_size < sizeof(bytes) ? section->sh_size : sizeof(bytes);

	if (section->sh_type != SHT_NOBITS &&
		elf_source_read(source, section->sh_offset, bytes, length))
		compiler_parse_comment(bytes, length, compiler);
}

void
compiler_read(const ElfSource *source, char compiler[COMPILER_BYTES])
{
	ElfHeaders headers;
	uint32_t count;

	compiler[0] = '\0';
	if (elf_headers_read(&headers, source) != 0)
		return;
	count = headers.section_count < SECTIONS_MAX ? headers.section_count : SECTIONS_MAX;
	for (uint32_t i = 0; i < count; i++)
	{
		char name[ELF_NAME_BYTES];
		Elf64_Shdr section;

		if (!elf_headers_section(&headers, i, &section) ||
			!elf_headers_name(&headers, &section, name))
			continue;
		if (strcmp(name, ".go.buildinfo") == 0)
		{
			/* read it after .comment, which Go programs with parts in C have, too */
			compiler_read_go(source, &section, compiler);
			if (compiler[0] != '\0')
				return;
		}
		else if (strcmp(name, ".comment") == 0)
			compiler_read_comment(source, &section, compiler);
	}
}
