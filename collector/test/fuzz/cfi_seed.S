/*
 * cfi_seed.S
 *		A start for the fuzzer: CFI of every form that compilers and assemblers were seen to emit, on x86-64.
 */
	.text
plain:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	.cfi_remember_state
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_restore_state
	leave
	ret
	.cfi_endproc

realigned: /* the CFA is a word in memory: breg, deref, plus_uconst; the frame pointer lies at an expression */
	.cfi_startproc
	.cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06
	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00
	nop
	.cfi_escape 0x0f, 0x05, 0x77, 0x40, 0x06, 0x23, 0x08
	nop
	.cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	ret
	.cfi_endproc

signal:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06
	.cfi_escape 0x10, 0x10, 0x03, 0x77, 0xa8, 0x01
	nop
	.cfi_undefined %rip
	ret
	.cfi_endproc

odd: /* factored, signed and extended forms */
	.cfi_startproc simple
	.cfi_personality 0x9b, reference
	.cfi_lsda 0x1b, plain
	.cfi_escape 0x12, 0x07, 0x7e
	.cfi_escape 0x05, 0x10, 0x01
	nop
	.cfi_escape 0x13, 0x7d
	.cfi_escape 0x11, 0x06, 0x02
	nop
	.cfi_escape 0x14, 0x06, 0x02
	.cfi_escape 0x2f, 0x06, 0x02
	.cfi_register %rip, %rcx
	nop
	.cfi_escape 0x2e, 0x10
	.cfi_escape 0x16, 0x10, 0x02, 0x77, 0x00
	.cfi_same_value %rbp
	ret
	.cfi_endproc

	.data
reference:
	.quad	plain
	.section .note.GNU-stack, "", @progbits
