// SPDX-License-Identifier: GPL-2.0
/*
 * lines - a plugin for QEMU that counts the cache lines that a piece of kernel code touches
 *
 * bench_native marks the code with instructions that do nothing else (bench_mark()).  For each
 * piece, one line goes to the file out=: the numbers of distinct cache lines and pages of data, and
 * of cache lines of code.  The stack is not counted, nor is anything that marked code before the
 * piece has touched.  With modules=on only the code of modules is looked at, not the kernel's own,
 * and the machine then boots as fast as without the plugin.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * The part of QEMU's interface for plugins that this needs.  Debian has no package of its header.
 */
struct qemu_plugin_tb;
struct qemu_plugin_insn;

int qemu_plugin_version = 1;

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*cb)(uint64_t id,
					   struct qemu_plugin_tb *tb));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int cpu, void *data),
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu, uint32_t info,
						 uint64_t address, void *data),
				      int flags, int rw, void *data);
unsigned int qemu_plugin_mem_size_shift(uint32_t info);

#define LINE_SHIFT	6
#define PAGE_SHIFT	12
#define STACK_SHIFT	14	/* x86-64's THREAD_SIZE */
#define KERNEL		0xffffffff80000000
#define MODULES		0xffffffffc0000000
#define NO_FLAGS	0
#define READ_WRITE	3

/* The code of nopl MARK + n(%rax). */
static const unsigned char mark_code[] = { 0x0f, 0x1f, 0x80, 0, 'k', 'd', 'l' };

enum { OFF, STACK, KNOWN, COUNT };	/* set by bench_mark(0), (1), (2), (3) */

struct set {
	unsigned int	nr;
	uint64_t	items[1024];
};

static int phase;
static uint64_t from = KERNEL, stack;
static struct set known, known_pages, known_code, lines, pages, code;
static FILE *out;

static bool has(const struct set *set, uint64_t item)
{
	for (unsigned int i = 0; i < set->nr; i++) {
		if (set->items[i] == item)
			return true;
	}
	return false;
}

static void add(struct set *set, const struct set *but, uint64_t item)
{
	if ((but && has(but, item)) || has(set, item) ||
	    set->nr == sizeof(set->items) / sizeof(*set->items))
		return;
	set->items[set->nr++] = item;
}

static void on_mark(unsigned int cpu, void *data)
{
	(void)cpu;
	phase = (intptr_t)data;
	if (phase == STACK) {
		known.nr = known_pages.nr = known_code.nr = 0;
		lines.nr = pages.nr = code.nr = 0;
	} else if (phase == OFF) {
		fprintf(out, "%u\t%u\t%u\n", lines.nr, pages.nr, code.nr);
		fflush(out);
	}
}

static void on_access(unsigned int cpu, uint32_t info, uint64_t address, void *data)
{
	const uint64_t last = address + (1 << qemu_plugin_mem_size_shift(info)) - 1;

	(void)cpu;
	(void)data;
	if (phase == STACK) {
		stack = address >> STACK_SHIFT;
		return;
	}
	if (phase == OFF || address >> STACK_SHIFT == stack)
		return;
	for (uint64_t line = address >> LINE_SHIFT; line <= last >> LINE_SHIFT; line++) {
		const uint64_t page = line >> (PAGE_SHIFT - LINE_SHIFT);

		if (phase == COUNT) {
			add(&lines, &known, line);
			add(&pages, &known_pages, page);
		} else {
			add(&known, NULL, line);
			add(&known_pages, NULL, page);
		}
	}
}

static void on_code(unsigned int cpu, void *data)
{
	const uint64_t line = (uintptr_t)data >> LINE_SHIFT;

	(void)cpu;
	if (phase == COUNT)
		add(&code, &known_code, line);
	else if (phase == KNOWN)
		add(&known_code, NULL, line);
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
	const size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const uint64_t at = qemu_plugin_insn_vaddr(insn);
		const unsigned char *c = qemu_plugin_insn_data(insn);

		if (at < from)
			return;
		if (qemu_plugin_insn_size(insn) == sizeof(mark_code) &&
		    !memcmp(c, mark_code, 3) && !memcmp(c + 4, mark_code + 4, 3)) {
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, NO_FLAGS,
							       (void *)(intptr_t)c[3]);
			continue;
		}
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_code, NO_FLAGS,
						       (void *)(uintptr_t)at);
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, NO_FLAGS, READ_WRITE, NULL);
	}
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc < 1 || argc > 2 || strncmp(argv[0], "out=", 4) ||
	    (argc == 2 && strcmp(argv[1], "modules=on"))) {
		fprintf(stderr, "lines: wants out=FILE[,modules=on]\n");
		return 1;
	}
	if (argc == 2)
		from = MODULES;
	out = fopen(argv[0] + 4, "w");
	if (!out) {
		perror(argv[0] + 4);
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
