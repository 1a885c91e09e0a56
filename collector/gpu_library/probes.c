/*
 * probes.c
 *		Functions that do nothing, for BPF programs to be attached to.
 *
 * Each begins with a nop of five bytes, of which Linux 6.18 makes a call that is three times as
 * fast as a trap. Notes in the format of SystemTap let bpftrace find them, too.
 */
#include "gpu_library/probes.h"

volatile uint16_t pfs_gpu_semaphore __attribute__((section(".probes"), used)) = 0;

#if defined(__x86_64__)
#define NOP		  ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#define ARGUMENTS "8@%rdi 8@%rsi"
#elif defined(__aarch64__)
#define NOP		  "nop\n"
#define ARGUMENTS "8@x0 8@x1"
#else
#error "this machine's instructions are unknown"
#endif

/* A function and its note. Notes are not loaded, so their addresses need no relocation. */
#define PROBE(function, name)                                \
	__asm__(".text\n"                                        \
			".balign 16\n"                                   \
			".globl " function "\n"                          \
			".type " function ", @function\n" function ":\n" \
			".cfi_startproc\n" NOP "ret\n"                   \
			".cfi_endproc\n"                                 \
			".size " function ", .-" function "\n"           \
			".pushsection .note.stapsdt, \"\", @note\n"      \
			".balign 4\n"                                    \
			".4byte 992f-991f, 994f-993f, 3\n"               \
			"991: .asciz \"stapsdt\"\n"                      \
			"992: .balign 4\n"                               \
			"993: .8byte " function "\n"                     \
			".8byte _.stapsdt.base\n"                        \
			".8byte pfs_gpu_semaphore\n"                     \
			".asciz \"profstore\"\n"                         \
			".asciz \"" name "\"\n"                          \
			".asciz \"" ARGUMENTS "\"\n"                     \
			"994: .balign 4\n"                               \
			".popsection\n")

PROBE("pfs_gpu_launch", "gpu_launch");
PROBE("pfs_gpu_rows", "gpu_rows");

/* Tools compare its address with the one in the notes, to find out whether a file was relinked. */
__asm__(".pushsection .stapsdt.base, \"aG\", @progbits, .stapsdt.base, comdat\n"
		".weak _.stapsdt.base\n"
		".hidden _.stapsdt.base\n"
		"_.stapsdt.base: .space 1\n"
		".size _.stapsdt.base, 1\n"
		".popsection\n");
