/*
 * test_aarch64.c
 *		The compiler of unwind tables with code of AArch64, on any machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "symbols/elf/plt.h"
#include "unwind/cfi/cfi.h"

#define PLT_ADDRESS 0x1000
#define LR			30
#define SP			31

/*
 * The linker's output for a library: stubs of the loader, of a function, of a thread-local
 * variable.
 */
static const uint32_t plain_plt[] = {
	0xa9bf7bf0, 0xf00000f0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f, 0xd503201f,
	0xd503201f, 0x90000110, 0xf9400211, 0x91000210, 0xd61f0220, 0xa9bf0fe2, 0xf00000e2,
	0xf00000e3, 0xf947f042, 0x913fa063, 0xd61f0040, 0xd503201f, 0xd503201f,
};

/* The linkage table that -z force-bti makes of plain_plt's symbols. */
static const uint32_t protected_plt[] = {
	0xd503245f, 0xa9bf7bf0, 0xf00000f0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f,
	0xd503201f, 0x90000110, 0xf9400211, 0x91000210, 0xd61f0220, 0xd503245f, 0xa9bf0fe2,
	0xf00000e2, 0xf00000e3, 0xf947f042, 0x913fa063, 0xd61f0040, 0xd503201f,
};

/* Bytes of the stack below the caller's frame, at each instruction. */
static const uint8_t plain_depths[] = { 0, 16, 16, 16, 16, 0,  0,  0,  0, 0,
										0, 0,  0,  16, 16, 16, 16, 16, 0, 0 };
static const uint8_t protected_depths[] = { 0, 0, 16, 16, 16, 16, 0,  0,  0,  0,
											0, 0, 0,  0,  16, 16, 16, 16, 16, 0 };

/* A CIE of code whose CFA is the stack pointer; places of its FDEs have 4 bytes (udata4). */
#define CIE 0x10, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, LR, 1, 0x03, DW_CFA_def_cfa, SP, 0

/* The CIE, an FDE of it for 16 bytes from 0x1800 on, and the end. */
static const uint8_t other_cfi[] = { CIE, 0x10, 0, 0, 0, 0x18, 0, 0, 0, 0, 0x18, 0, 0,
									 16,  0,	0, 0, 0, 0,	   0, 0, 0, 0, 0,	 0 };

static CfiInput
plt_input(uint16_t machine, const uint32_t *words, size_t count)
{
	return (CfiInput){ .machine = machine,
					   .eh_frame = { other_cfi, sizeof(other_cfi), 0x8000 },
					   .plt = { (const uint8_t *) words, count * sizeof(*words), PLT_ADDRESS },
					   .code_start = PLT_ADDRESS,
					   .code_end = PLT_ADDRESS + 4096 };
}

/* Returns the rule at an address; NULL if there is none. */
static const struct pfs_unwind_rule *
rule_at(const UnwindTable *table, const RuleSet *rules, uint64_t address)
{
	uint16_t number = 0;

	for (size_t i = 0; i < table->count && unwind_row_address(table, i) <= address; i++)
		number = table->rows[i].rule;
	return number != 0 ? rule_set_get(rules, number) : NULL;
}

static void
assert_plt(const uint32_t *words, const uint8_t *depths, size_t count)
{
	CfiInput input = plt_input(EM_AARCH64, words, count);
	UnwindTable table;
	RuleSet rules;

	assert_int_equal(rule_set_init(&rules), 0);
	assert_int_equal(cfi_compile(&input, &rules, &table), 0);
	for (size_t i = 0; i < count; i++)
	{
		const struct pfs_unwind_rule *rule = rule_at(&table, &rules, PLT_ADDRESS + 4 * i);

		assert_non_null(rule);
		assert_int_equal(rule->kind, PFS_UNWIND_CFI);
		assert_int_equal(rule->cfa_register, SP);
		assert_int_equal(rule->cfa_offset, depths[i]);
		assert_int_equal(rule->fp, PFS_FP_SAME);
		assert_int_equal(rule->flags, PFS_UNWIND_RA_IN_REGISTER);
		assert_int_equal(rule->ra_register, LR);
	}
	assert_null(rule_at(&table, &rules, PLT_ADDRESS + 4 * count));
	unwind_table_free(&table);
	rule_set_fini(&rules);
}

/*
 * Linkers write no CFI for the linkage table, whose stubs leave the caller's frame pointer in its
 * register.
 */
static void
test_linkage_table(void **state)
{
	(void) state;
	assert_plt(plain_plt, plain_depths, sizeof(plain_depths));
	assert_plt(protected_plt, protected_depths, sizeof(protected_depths));
}

/*
 * On other machines linkage tables have CFI and other code. Rules exist inside the code only. A
 * file without any CFI is walked by frame pointers: a table of the linkage table alone would forbid
 * that.
 */
static void
test_no_linkage_table(void **state)
{
	CfiInput inputs[] = { plt_input(EM_X86_64, plain_plt, 20), plt_input(EM_AARCH64, plain_plt, 20),
						  plt_input(EM_AARCH64, plain_plt, 20),
						  plt_input(EM_AARCH64, plain_plt, 20), plt_input(EM_AARCH64, NULL, 0) };

	(void) state;
	inputs[1].plt.address = PLT_ADDRESS + 4096 - 79;
	inputs[2].plt.address = PLT_ADDRESS - 1;
	inputs[3].eh_frame = (CfiSection){ NULL };
	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
	{
		UnwindTable table;
		RuleSet rules;

		assert_int_equal(rule_set_init(&rules), 0);
		assert_int_equal(cfi_compile(&inputs[i], &rules, &table), 0);
		assert_null(rule_at(&table, &rules, PLT_ADDRESS + 4));
		assert_int_equal(table.count != 0, inputs[i].eh_frame.data != NULL);
		unwind_table_free(&table);
		rule_set_fini(&rules);
	}
}

/*
 * The .plt that the linker makes for a program with two functions: the first stub, of 32 bytes, and
 * their stubs, of 16 bytes, or of 24 with -z force-bti. Their slots are at 0x21000 and 0x21008.
 */
static const uint32_t plain_stubs[] = {
	0xa9bf7bf0, 0xf00000f0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f, 0xd503201f, 0xd503201f,
	0x90000110, 0xf9400211, 0x91000210, 0xd61f0220, 0x90000110, 0xf9400611, 0x91002210, 0xd61f0220,
};
static const uint32_t protected_stubs[] = {
	0xd503245f, 0xa9bf7bf0, 0xf00000f0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f,
	0xd503201f, 0xd503245f, 0x90000110, 0xf9400211, 0x91000210, 0xd61f0220, 0xd503201f,
	0xd503245f, 0x90000110, 0xf9400611, 0x91002210, 0xd61f0220, 0xd503201f,
};

/*
 * Each instruction has the name and the start of its stub; instructions of the first stub have no
 * name.
 */
static void
assert_stub_names(const uint32_t *words, size_t count, uint64_t stub_bytes)
{
	static const char *const names[] = { "abs@plt", "exit@plt" };
	struct
	{
		uint32_t code[20];
		Elf64_Rela relocations[2];
		Elf64_Sym symbols[3];
		char strings[16];
	} image = { .relocations = { { 0x21000, ELF64_R_INFO(1, R_AARCH64_JUMP_SLOT), 0 },
								 { 0x21008, ELF64_R_INFO(2, R_AARCH64_JUMP_SLOT), 0 } },
				.symbols = { { 0 }, { .st_name = 1 }, { .st_name = 5 } },
				.strings = "\0abs\0exit" };
	ElfSection section = { .range = { PLT_ADDRESS, 0, count * sizeof(*words) },
						   .kind = ELF_SECTION_PLT,
						   .entry_bytes = 16 };
	ElfFile file = { .source = { -1, (const uint8_t *) &image, sizeof(image) },
					 .machine = EM_AARCH64,
					 .is_64_bit = true };

	memcpy(image.code, words, count * sizeof(*words));
	file.relocations[0] = (ElfRelocations){ offsetof(__typeof__(image), relocations), 2, true };
	file.symbols[ELF_DYNSYM] =
		(ElfSymbols){ .offset = offsetof(__typeof__(image), symbols),
					  .count = 3,
					  .strings = { offsetof(__typeof__(image), strings), sizeof(image.strings) } };
	for (uint64_t inside = 0; inside < section.range.size_bytes; inside++)
	{
		char name[64];
		uint64_t start = 0;
		bool found = plt_find(&file, &section, PLT_ADDRESS + inside, name, sizeof(name), &start);

		assert_int_equal(found, inside >= 32);
		if (!found)
			continue;
		assert_string_equal(name, names[(inside - 32) / stub_bytes]);
		assert_int_equal(start, PLT_ADDRESS + inside - (inside - 32) % stub_bytes);
	}
}

static void
test_names_of_stubs(void **state)
{
	(void) state;
	assert_stub_names(plain_stubs, 16, 16);
	assert_stub_names(protected_stubs, 20, 24);
}

/*
 * Both instructions that describe how a return address is signed change nothing, because the walk
 * strips the signature.
 */
static void
test_signed_return_address(void **state)
{
	static const uint8_t eh_frame[] = {
		CIE,
		/* FDE of this CIE: 64 bytes of code */
		0x1c, 0, 0, 0, 0x18, 0, 0, 0, 0, 0x10, 0, 0, 64, 0, 0, 0, 0, DW_CFA_advance_loc | 1,
		0x2d,						  /* paciasp */
		DW_CFA_advance_loc | 1, 0x2c, /* paciasppc */
		DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 32, DW_CFA_offset | LR, 3, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, /* the end of the section */
	};
	const CfiInput input = { .machine = EM_AARCH64,
							 .eh_frame = { eh_frame, sizeof(eh_frame), 0x8000 },
							 .code_start = 0x1000,
							 .code_end = 0x2000 };
	const struct pfs_unwind_rule *rule;
	UnwindTable table;
	RuleSet rules;

	(void) state;
	assert_int_equal(rule_set_init(&rules), 0);
	assert_int_equal(cfi_compile(&input, &rules, &table), 0);
	assert_int_equal(table.stats.fdes, 1);
	assert_int_equal(table.stats.fdes_malformed, 0);
	rule = rule_at(&table, &rules, 0x1008);
	assert_non_null(rule);
	assert_int_equal(rule->flags, PFS_UNWIND_RA_IN_REGISTER);
	rule = rule_at(&table, &rules, 0x100c);
	assert_non_null(rule);
	assert_int_equal(rule->cfa_offset, 32);
	assert_int_equal(rule->ra_offset * PFS_UNWIND_UNIT_AARCH64, -24);
	unwind_table_free(&table);
	rule_set_fini(&rules);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linkage_table),
		cmocka_unit_test(test_no_linkage_table),
		cmocka_unit_test(test_names_of_stubs),
		cmocka_unit_test(test_signed_return_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
