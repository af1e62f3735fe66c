/* SPDX-License-Identifier: GPL-2.0-only */
/* The programs. program.c knows these instructions and no others. */

.macro function name
	.globl \name
	.type \name, @function
	.balign 16
\name:
.endm

.macro end name
	.size \name, . - \name
.endm

	.text

/*
 * "mixed": each kind of branch that Intel PT knows in kernel code. Its call tree:
 *
 *	ptsim_main
 *	  ptsim_outer > ptsim_middle > ptsim_inner > ptsim_leaf (a loop of 7)
 *	  ptsim_indirect > ptsim_callee_a, ptsim_callee_b (by register)
 *	  ptsim_switch (four rounds through a jump table)
 *	  ptsim_interrupted, in the middle of it ptsim_interrupt > ptsim_softirq
 */
function ptsim_main
	pause
	call ptsim_outer
	call ptsim_indirect
	call ptsim_switch
	call ptsim_interrupted
	xor %eax, %eax
	jz ptsim_main
end ptsim_main

function ptsim_outer
	nop
	call ptsim_middle
	ret
end ptsim_outer

function ptsim_middle
	call ptsim_inner
	nop
	ret
end ptsim_middle

function ptsim_inner
	nop
	call ptsim_leaf
	nop
	ret
end ptsim_inner

function ptsim_leaf
	mov $7, %ecx
.Lleaf:
	nop
	dec %ecx
	jnz .Lleaf
	ret
end ptsim_leaf

function ptsim_indirect
	lea ptsim_callee_a(%rip), %rax
	call *%rax
	lea ptsim_callee_b(%rip), %rax
	call *%rax
	ret
end ptsim_indirect

function ptsim_callee_a
	nop
	ret
end ptsim_callee_a

function ptsim_callee_b
	nop
	nop
	ret
end ptsim_callee_b

function ptsim_switch
	mov $3, %eax
	lea .Lcases(%rip), %rdx
.Lagain:
	jmp *(%rdx, %rax, 8)
.Lcase_3:
	nop
.Lcase_2:
	nop
	jmp .Lnext
.Lcase_1:
	nop
.Lnext:
	dec %eax
	jmp .Lagain
.Lcase_0:
	ret
end ptsim_switch

function ptsim_interrupted
	nop
	nop
.Linterrupt_at:
	nop
	ret
end ptsim_interrupted

function ptsim_interrupt
	nop
	call ptsim_softirq
	nop
	iretq
end ptsim_interrupt

function ptsim_softirq
	mov $1, %eax
	dec %eax
	jnz .Lsoftirq
	nop
.Lsoftirq:
	ret
end ptsim_softirq

/* "loop": little but conditional branches. */
function ptsim_loop
	mov $250, %ecx
.Lloop:
	inc %eax
	dec %ecx
	jnz .Lloop
	xor %eax, %eax
	jz ptsim_loop
end ptsim_loop

/* "deep": a recursion of 48, less than the 64 calls that processors and decoders remember. */
function ptsim_deep
	mov $48, %ecx
	call ptsim_recurse
	xor %eax, %eax
	jz ptsim_deep
end ptsim_deep

function ptsim_recurse
	dec %ecx
	jz .Lrecurse_end
	call ptsim_recurse
.Lrecurse_end:
	ret
end ptsim_recurse

	.section .rodata
	.balign 8
.Lcases:
	.quad .Lcase_0, .Lcase_1, .Lcase_2, .Lcase_3
	.globl ptsim_interrupt_at
ptsim_interrupt_at:
	.quad .Linterrupt_at
