// SPDX-License-Identifier: GPL-2.0
/* What span.cocci finds, BAD, and what it must not. */
#include <linux/kdtl_verbs.h>

static unsigned int bad_span(struct kdtl_session *s, int cpu)
{
	const struct kdtl_entry *e;
	const void *span;
	ssize_t len;

	len = kdtl_aux_peek(s, cpu, &span);
	if (len <= 0)
		return 0;
	kdtl_aux_consume(s, cpu, len);
	e = span; /* BAD */
	return kdtl_entry_dispatch_reason(e);
}

static u64 bad_cursor(struct kdtl_session *s, int cpu)
{
	const struct kdtl_entry *e;
	const void *span;
	ssize_t len = kdtl_aux_peek(s, cpu, &span);

	if (len <= 0)
		return 0;
	kdtl_for_each_entry(e, span, len) {
		if (kdtl_entry_wait(e) > 1000)
			break;
	}
	kdtl_aux_consume(s, cpu, len);
	return kdtl_entry_time(e); /* BAD */
}

static void bad_closed(struct kdtl_session *s, void *copy)
{
	const void *span;
	ssize_t len;

	len = kdtl_aux_peek(s, 0, &span);
	kdtl_session_close(s);
	if (len > 0)
		memcpy(copy, span, len); /* BAD */
}

static u64 good(struct kdtl_session *s, int cpu)
{
	const struct kdtl_entry *e;
	const void *span;
	u64 last = 0;
	ssize_t len;

	while ((len = kdtl_aux_peek(s, cpu, &span)) > 0) {
		kdtl_for_each_entry(e, span, len)
			last = kdtl_entry_time(e);
		kdtl_aux_consume(s, cpu, len);
	}
	return last;
}

/* If half of a span is given back, the other half is still the reader's. */
static void good_half(struct kdtl_session *s, int cpu, char *copy)
{
	const void *span;
	ssize_t len;

	len = kdtl_aux_peek(s, cpu, &span);
	if (len < 2 * KDTL_ENTRY_SIZE)
		return;
	memcpy(copy, span, KDTL_ENTRY_SIZE);
	kdtl_aux_consume(s, cpu, KDTL_ENTRY_SIZE);
	memcpy(copy, span + KDTL_ENTRY_SIZE, KDTL_ENTRY_SIZE);
	kdtl_aux_consume(s, cpu, KDTL_ENTRY_SIZE);
}

static void good_again(struct kdtl_session *s)
{
	const void *span;
	ssize_t len;
	int cpu;

	for_each_online_cpu(cpu) {
		len = kdtl_aux_peek(s, cpu, &span);
		if (len > 0)
			pr_info("%p\n", span);
		kdtl_aux_consume(s, cpu, len);
	}
	len = kdtl_aux_peek(s, 0, &span);
	if (len > 0)
		pr_info("%p\n", span);
}
