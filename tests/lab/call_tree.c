// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls that a CPU made in the kernel, from the emulator's log of what it executed, and nothing
 * of Intel PT's packets, of perf or of perf-poke. Prints a line for each run of a function, in the
 * order in which they end:
 *
 *	TID BEGIN END DEPTH INSTRUCTIONS KIND NAME[|NAME...] TIMES TIMES
 *
 * BEGIN and END count what the CPU executed, INSTRUCTIONS what the thread did between; NAMEs are
 *all of that address. TIMES, of both, are what packets tell of the moment: TSC before and after it,
 * cycles before and after it. Lines NAME=COUNT come at the end.
 *
 *	call_tree LOG CORE KALLSYMS TASKS
 *
 * TASKS has the tids that the CPU switched to, one a line, the first one that which runs at first.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptemu/trace_marks.h"

#define ODD_SHOWN 20
#define CODES (1 << 20) /* a power of two, more than there are instructions */

enum kind { OTHER, CALL, RETURN, SYSCALL, RETURN_FROM_KERNEL };

enum frame_kind { FRAME_CALL, FRAME_INTERRUPT, FRAME_SYSCALL };

struct symbol {
	uint64_t address;
	char *names; /* all of that address, with | between */
	size_t base; /* length of the first without .cold and the like */
};

/* Of an instruction */
struct code {
	uint64_t ip, end;
	enum kind kind;
	const struct symbol *symbol;
};

struct frame {
	const struct symbol *symbol;
	enum frame_kind kind;
	uint64_t back; /* 0: not known */
	uint64_t begin, insns;
};

/* Ended; its depth is known when all of the stack is. */
struct run {
	int tid;
	uint64_t begin, end, insns;
	long level;
	unsigned long stack;
	enum frame_kind kind;
	const struct symbol *symbol;
};

struct thread {
	int tid;
	struct frame frames[256];
	size_t nr;
	uint64_t insns;
	uint64_t since, since_insns; /* when the stack began to be known */
	unsigned long stack;	     /* of `tops` */
	struct thread *next;
};

/* What packets told when the CPU had executed so many instructions */
struct told {
	uint64_t done, tsc, cycles;
};

static uint8_t *core;
static struct told *told;
static size_t nr_told;
static struct symbol *symbols;
static size_t nr_symbols;
static struct code codes[CODES];
static struct run *runs;
static size_t nr_runs;
/* Of each stack: how many frames of before it were found out of */
static long *tops;
static unsigned long nr_stacks;
static struct thread *threads;
static uint64_t done; /* instructions */
static uint64_t odd_returns, odd_switches, switches, interrupts, tail_calls, uncovered, leaves;

static void *grow(void *array, size_t nr, size_t size)
{
	/* At powers of two */
	if (nr & (nr - 1))
		return array;
	array = realloc(array, (nr ? 2 * nr : 1) * size);
	if (!array)
		abort();
	return array;
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	uint8_t *data;
	long end;

	if (!file || fseek(file, 0, SEEK_END) || (end = ftell(file)) <= 0 ||
	    fseek(file, 0, SEEK_SET) || !(data = malloc(end + 1)) ||
	    fread(data, 1, end, file) != (size_t)end) {
		perror(path);
		exit(2);
	}
	fclose(file);
	data[end] = 0;
	*size = end;
	return data;
}

/* -- Symbols and code ------------------------------------------------------------------------- */

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void add_symbol(const char *line)
{
	unsigned long address;
	char type, name[512];

	if (sscanf(line, "%lx %c %511s", &address, &type, name) != 3 || !strchr("tTwW", type))
		return;
	symbols = grow(symbols, nr_symbols, sizeof(*symbols));
	symbols[nr_symbols++] = (struct symbol){ .address = address, .names = strdup(name) };
}

/* What has one address becomes one. */
static void merge_symbols(void)
{
	size_t nr = 0;

	qsort(symbols, nr_symbols, sizeof(*symbols), compare_symbols);
	for (size_t i = 0; i < nr_symbols; i++) {
		char *both;

		if (!nr || symbols[nr - 1].address != symbols[i].address) {
			symbols[nr++] = symbols[i];
			continue;
		}
		if (asprintf(&both, "%s|%s", symbols[nr - 1].names, symbols[i].names) < 0)
			abort();
		symbols[nr - 1].names = both;
	}
	nr_symbols = nr;
	for (size_t i = 0; i < nr; i++) {
		const char *cold = strstr(symbols[i].names, ".cold");

		symbols[i].base =
			cold ? (size_t)(cold - symbols[i].names) : strcspn(symbols[i].names, "|");
	}
}

static const struct symbol *find_symbol(uint64_t ip)
{
	size_t low = 0, high = nr_symbols;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (symbols[middle].address <= ip)
			low = middle;
		else
			high = middle;
	}
	return &symbols[low];
}

static bool is_same(const struct symbol *a, const struct symbol *b)
{
	return a == b || (a->base == b->base && !strncmp(a->names, b->names, a->base));
}

static const uint8_t *bytes_at(uint64_t ip)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)core;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(core + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *s = &segments[i];

		if (s->p_type == PT_LOAD && ip - s->p_vaddr < s->p_filesz)
			return core + s->p_offset + (ip - s->p_vaddr);
	}
	fprintf(stderr, "%#lx was executed, and is not in the core\n", (unsigned long)ip);
	exit(2);
}

/* Of an instruction with a memory or register operand, from the ModRM byte on */
static size_t operand_size(const uint8_t *modrm)
{
	unsigned int mod = *modrm >> 6, rm = *modrm & 7;
	size_t size = 1;

	if (mod == 3)
		return size;
	if (rm == 4)
		size++;
	if (mod == 1)
		return size + 1;
	if (mod == 2 || (!mod && rm == 5) || (!mod && rm == 4 && (modrm[1] & 7) == 5))
		return size + 4;
	return size;
}

static void decode(struct code *code)
{
	const uint8_t *begin = bytes_at(code->ip), *p = begin;

	while (*p == 0x2e || *p == 0x3e || *p == 0x66 || *p == 0xf2 || *p == 0xf3)
		p++;
	if ((*p & 0xf0) == 0x40)
		p++;
	if (*p == 0xe8) {
		code->kind = CALL;
		p += 5;
	} else if (*p == 0xff && (p[1] >> 3 & 7) == 2) {
		code->kind = CALL;
		p += 1 + operand_size(p + 1);
	} else if (*p == 0xc3 || *p == 0xc2) {
		code->kind = RETURN;
	} else if (*p == 0xcf || (*p == 0x0f && p[1] == 0x07)) {
		code->kind = RETURN_FROM_KERNEL;
	} else if (*p == 0x0f && p[1] == 0x05) {
		code->kind = SYSCALL;
		p += 2;
	}
	code->end = code->ip + (p - begin);
}

static const struct code *code_at(uint64_t ip)
{
	size_t slot = ip * UINT64_C(0x9e3779b97f4a7c15) >> 44;

	for (;; slot++) {
		struct code *code = &codes[slot & (CODES - 1)];

		if (code->ip == ip)
			return code;
		if (code->ip)
			continue;
		code->ip = ip;
		code->symbol = find_symbol(ip);
		decode(code);
		return code;
	}
}

/* -- Stacks ----------------------------------------------------------------------------------- */

static void begin_stack(struct thread *t)
{
	tops = grow(tops, nr_stacks, sizeof(*tops));
	tops[nr_stacks] = 0;
	t->stack = nr_stacks++;
	t->since = done;
	t->since_insns = t->insns;
}

static struct thread *find_thread(int tid)
{
	struct thread *t = threads;

	while (t && t->tid != tid)
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		abort();
	t->tid = tid;
	t->next = threads;
	threads = t;
	begin_stack(t);
	return t;
}

static struct frame *top_of(struct thread *t)
{
	return &t->frames[t->nr - 1];
}

static void push(struct thread *t, const struct symbol *symbol, enum frame_kind kind, uint64_t back)
{
	if (t->nr == sizeof(t->frames) / sizeof(t->frames[0])) {
		fprintf(stderr, "the stack of thread %d is too deep\n", t->tid);
		exit(2);
	}
	t->frames[t->nr++] = (struct frame){ symbol, kind, back, done, t->insns };
}

static void pop(struct thread *t, size_t nr)
{
	while (t->nr > nr) {
		const struct frame *frame = &t->frames[--t->nr];

		runs = grow(runs, nr_runs, sizeof(*runs));
		runs[nr_runs++] = (struct run){
			.tid = t->tid,
			.begin = frame->begin,
			.end = done,
			.insns = t->insns - frame->insns,
			.level = (long)t->nr - tops[t->stack],
			.stack = t->stack,
			.kind = frame->kind,
			.symbol = frame->symbol,
		};
	}
}

static void replace(struct thread *t, const struct symbol *symbol)
{
	struct frame top = *top_of(t);

	pop(t, t->nr - 1);
	push(t, symbol, top.kind, top.back);
}

/* A return to what was there before the stack was known: it has been there since. */
static void uncover(struct thread *t, const struct symbol *symbol)
{
	pop(t, 0);
	tops[t->stack]++;
	uncovered++;
	push(t, symbol, FRAME_CALL, 0);
	t->frames[0].begin = t->since;
	t->frames[0].insns = t->since_insns;
}

static void on_return(struct thread *t, const struct code *to)
{
	for (size_t i = t->nr; i--;) {
		if (t->frames[i].kind == FRAME_INTERRUPT)
			break;
		if (t->frames[i].back == to->ip) {
			pop(t, i);
			return;
		}
	}
	/* A jump */
	if (to->ip == to->symbol->address)
		return;
	if (t->nr > 1) {
		if (odd_returns++ < ODD_SHOWN)
			fprintf(stderr, "odd return of thread %d at %lu to %s, %zu deep\n", t->tid,
				done, to->symbol->names, t->nr);
	}
	uncover(t, to->symbol);
}

static void on_return_from_kernel(struct thread *t, const struct code *to)
{
	for (size_t i = t->nr; i--;) {
		if (t->frames[i].kind == FRAME_CALL)
			continue;
		/* After a fault the kernel may have gone on elsewhere in the function: a fixup. */
		if (t->frames[i].kind == FRAME_INTERRUPT && t->frames[i].back != to->ip &&
		    !is_same(find_symbol(t->frames[i].back), to->symbol) &&
		    odd_returns++ < ODD_SHOWN)
			fprintf(stderr, "odd iret of thread %d at %lu to %s\n", t->tid, done,
				to->symbol->names);
		pop(t, i);
		return;
	}
	uncover(t, to->symbol);
}

static void on_call(struct thread *t, const struct code *from, const struct code *to)
{
	/* Into itself: to learn an address. */
	if (to->ip != to->symbol->address && is_same(to->symbol, from->symbol))
		return;
	push(t, to->symbol, FRAME_CALL, from->end);
}

/* From one executed instruction to the next */
static void step(struct thread *t, const struct code *from, const struct code *to)
{
	switch (from->kind) {
	case CALL:
		on_call(t, from, to);
		break;
	case RETURN:
		on_return(t, to);
		break;
	case RETURN_FROM_KERNEL:
		on_return_from_kernel(t, to);
		break;
	case SYSCALL:
		push(t, to->symbol, FRAME_SYSCALL, from->end);
		break;
	case OTHER:
		break;
	}
	/* Jumps to other functions, and code that runs on from one into the next */
	if (!t->nr) {
		push(t, to->symbol, FRAME_CALL, 0);
	} else if (!is_same(top_of(t)->symbol, to->symbol)) {
		tail_calls++;
		replace(t, to->symbol);
	}
}

/* -- The log ---------------------------------------------------------------------------------- */

struct tasks {
	FILE *file;
	uint64_t switch_to;
};

static struct thread *next_task(struct tasks *tasks)
{
	int tid;

	if (fscanf(tasks->file, "%d", &tid) != 1) {
		fprintf(stderr, "there are more switches of tasks than are recorded\n");
		exit(2);
	}
	return find_thread(tid);
}

/* Packets of one moment are one. */
static void add_told(uint64_t tsc, bool counts)
{
	struct told *last = nr_told ? &told[nr_told - 1] : NULL;
	uint64_t cycles = last ? last->cycles : 0;

	if (last && counts)
		cycles += tsc - last->tsc;
	if (!last || last->done != done) {
		told = grow(told, nr_told, sizeof(*told));
		last = &told[nr_told++];
	}
	*last = (struct told){ done, tsc, cycles };
}

static void on_mark(struct thread *t, const struct code **last, uint64_t mark)
{
	uint64_t value = mark & TRACE_MARK_VALUE;

	switch (mark >> TRACE_MARK_SHIFT) {
	case TRACE_MARK_TIME:
	case TRACE_MARK_UNTRACED_CYCLES:
		add_told(value, false);
		break;
	case TRACE_MARK_CYCLES:
		add_told(value, true);
		break;
	case TRACE_MARK_EVENT:
		value |= ~TRACE_MARK_VALUE;
		/* What it returns to is where the last one went. */
		if (*last)
			step(t, *last, code_at(value));
		push(t, NULL, FRAME_INTERRUPT, value);
		interrupts++;
		*last = NULL;
		break;
	case TRACE_MARK_LEAVE:
		pop(t, 0);
		begin_stack(t);
		leaves++;
		*last = NULL;
		break;
	}
}

static struct thread *on_insn(struct thread *t, const struct code **last, uint64_t ip,
			      struct tasks *tasks)
{
	const struct code *code = code_at(ip);

	if (*last)
		step(t, *last, code);
	else if (!t->nr)
		push(t, code->symbol, FRAME_CALL, 0);
	else
		top_of(t)->symbol = code->symbol; /* of an interrupt */
	if (ip == tasks->switch_to) {
		/* One that is gone has no number, and the next such may be another. */
		if (t->tid < 0)
			pop(t, 0);
		t = next_task(tasks);
		switches++;
		if (!t->nr)
			begin_stack(t), push(t, code->symbol, FRAME_CALL, 0);
		else if (!is_same(top_of(t)->symbol, code->symbol))
			odd_switches++;
	}
	*last = code;
	done++;
	t->insns++;
	return t;
}

static void read_log(const char *path, struct tasks *tasks)
{
	size_t size;
	const uint64_t *words = (const uint64_t *)read_file(path, &size);
	const struct code *last = NULL;
	struct thread *t = next_task(tasks);

	for (size_t i = 0; i < size / sizeof(*words); i++) {
		if (words[i])
			t = on_insn(t, &last, words[i], tasks);
		else
			on_mark(t, &last, words[++i]);
	}
}

/* The last that was told before so many instructions; 0 if there is none. */
static size_t find_told(uint64_t at)
{
	size_t low = 0, high = nr_told;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (told[middle].done < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

/* Cycles are told with branches: those of an interrupt come with the branch after it. */
static void print_times(uint64_t at)
{
	size_t before = find_told(at), after = find_told(at + 1);

	if (after + 1 < nr_told)
		after++;
	printf(" %lu %lu %lu %lu", told[before].tsc, told[after].tsc,
	       told[before ? before - 1 : 0].cycles, told[after].cycles);
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "call", "interrupt", "syscall" };
	struct tasks tasks = { 0 };
	size_t size;
	char *kallsyms;

	if (argc != 5) {
		fputs("usage: call_tree LOG CORE KALLSYMS TASKS\n", stderr);
		return 2;
	}
	core = read_file(argv[2], &size);
	kallsyms = (char *)read_file(argv[3], &size);
	for (char *line = strtok(kallsyms, "\n"); line; line = strtok(NULL, "\n"))
		add_symbol(line);
	merge_symbols();
	for (size_t i = 0; i < nr_symbols; i++) {
		if (!strcmp(symbols[i].names, "__switch_to"))
			tasks.switch_to = symbols[i].address;
	}
	tasks.file = fopen(argv[4], "r");
	if (!tasks.file) {
		perror(argv[4]);
		return 2;
	}
	read_log(argv[1], &tasks);
	for (struct thread *t = threads; t; t = t->next)
		pop(t, 0);
	for (size_t i = 0; i < nr_runs; i++) {
		const struct run *run = &runs[i];

		printf("%d %lu %lu %ld %lu %s %s", run->tid, run->begin, run->end,
		       run->level + tops[run->stack], run->insns, kinds[run->kind],
		       run->symbol->names);
		print_times(run->begin);
		print_times(run->end);
		putchar('\n');
	}
	printf("instructions=%lu\nswitches=%lu\ninterrupts=%lu\ntail_calls=%lu\nuncovered=%lu\n"
	       "leaves=%lu\nodd_returns=%lu\nodd_switches=%lu\ncycles=%lu\n",
	       done, switches, interrupts, tail_calls, uncovered, leaves, odd_returns, odd_switches,
	       told[nr_told - 1].cycles);
	return 0;
}
