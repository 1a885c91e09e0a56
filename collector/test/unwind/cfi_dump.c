/*
 * cfi_dump.c
 *		Prints the compiled unwind table of an ELF file, one row a line, in the terms of readelf
 *		-wF.
 *
 *		ADDRESS CFA FP RA RBX      "u" if the rule does not restore it; "?" for PFS_UNWIND_INVALID
 *
 * compare_readelf.pl holds it against readelf's own reading.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_sections.h"

static const char *
register_name(uint16_t machine, int number)
{
	static const char *const x86_64[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
										  "rbp", "rsp", "r8",  "r9",  "r10", "r11",
										  "r12", "r13", "r14", "r15", "rip" };
	static char name[8];

	if (machine == EM_X86_64 && number >= 0 && number < (int) (sizeof(x86_64) / sizeof(x86_64[0])))
		return x86_64[number];
	if (machine == EM_AARCH64 && number == 31)
		return "sp";
	snprintf(name, sizeof(name), "x%d", number);
	return name;
}

static void
print_row(uint16_t machine, uint64_t address, const struct pfs_unwind_rule *rule)
{
	int unit = machine == EM_AARCH64 ? PFS_UNWIND_UNIT_AARCH64 : PFS_UNWIND_UNIT_X86_64;

	printf("%016" PRIx64 " ", address);
	switch ((enum pfs_unwind_kind) rule->kind)
	{
		case PFS_UNWIND_INVALID:
			puts("?");
			return;
		case PFS_UNWIND_END_OF_STACK:
			puts("end");
			return;
		case PFS_UNWIND_SIGNAL:
			puts("signal");
			return;
		case PFS_UNWIND_PLT:
			puts("exp");
			return;
		case PFS_UNWIND_CFI:
			break;
	}

	if (rule->flags & PFS_UNWIND_CFA_DEREF)
		printf("exp");
	else
		printf("%s%+d", register_name(machine, rule->cfa_register), rule->cfa_offset);
	switch ((enum pfs_unwind_fp) rule->fp)
	{
		case PFS_FP_SAME:
			printf(" u");
			break;
		case PFS_FP_AT_CFA:
			printf(" c%+d", rule->fp_offset * unit);
			break;
		case PFS_FP_AT_FP:
			printf(" exp");
			break;
		case PFS_FP_LOST:
			printf(" lost");
			break;
	}
	if (rule->flags & PFS_UNWIND_RA_IN_REGISTER)
		printf(" %s", register_name(machine, rule->ra_register));
	else
		printf(" c%+d", rule->ra_offset * unit);
	if (rule->bx_offset == PFS_BX_LOST)
		puts(" lost");
	else if (rule->bx_offset != 0)
		printf(" c%+d\n", rule->bx_offset);
	else
		puts(" u");
}

/* Prints rules of code that has rules without CFI. */
static void
print_start_code(const CfiSection *code)
{
	if (code->length > 0)
		fprintf(stderr, "start code %" PRIx64 "..%" PRIx64 "\n", code->address,
				code->address + code->length);
}

int
main(int argc, char **argv)
{
	CfiSections sections;
	UnwindTable table;
	RuleSet rules;
	int fd;
	int err;

	if (argc != 2)
	{
		fprintf(stderr, "usage: cfi_dump FILE\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || rule_set_init(&rules) != 0 || (err = cfi_sections_init(&sections, fd)) != 0 ||
		(err = cfi_compile(&sections.input, &rules, &table)) != 0)
	{
		fprintf(stderr, "cfi_dump: could not read \"%s\"\n", argv[1]);
		return 1;
	}
	for (size_t i = 0; i < table.count; i++)
		print_row(sections.input.machine, unwind_row_address(&table, i),
				  rule_set_get(&rules, table.rows[i].rule));
	for (size_t i = 0; i < CFI_START_CODE; i++)
		print_start_code(&sections.input.start_code[i]);
	print_start_code(&sections.input.plt);
	fprintf(stderr,
			"fdes %" PRIu64 " malformed %" PRIu64 " overlapped %" PRIu64 " unsupported %" PRIu64
			" cut %" PRIu64 " rows %zu\n",
			table.stats.fdes, table.stats.fdes_malformed, table.stats.fdes_overlapped,
			table.stats.rows_unsupported, table.stats.sections_cut, table.count);
	unwind_table_free(&table);
	cfi_sections_fini(&sections);
	close(fd);
	return 0;
}
