/*
 * assembly.S
 *		Functions by hand, which call what they are given: one with CFI, one with a frame pointer alone, one with neither.
 */
	.text

	.globl	with_cfi
	.type	with_cfi, @function
with_cfi:
	.cfi_startproc
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	sub	$72, %rsp
	.cfi_adjust_cfa_offset 72
	mov	$1, %ebp		/* no frame pointer: whoever follows it is lost */
	call	*%rdi
	add	$72, %rsp
	.cfi_adjust_cfa_offset -72
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	with_cfi, . - with_cfi

	.globl	with_frame_pointer
	.type	with_frame_pointer, @function
with_frame_pointer:
	push	%rbp
	mov	%rsp, %rbp
	sub	$48, %rsp
	call	*%rdi
	leave
	ret
	.size	with_frame_pointer, . - with_frame_pointer

	.globl	with_nothing
	.type	with_nothing, @function
with_nothing:
	push	%rbp
	sub	$32, %rsp
	xor	%ebp, %ebp		/* zero: not the end of the stack either */
	call	*%rdi
	add	$32, %rsp
	pop	%rbp
	ret
	.size	with_nothing, . - with_nothing

	.section .note.GNU-stack, "", @progbits
