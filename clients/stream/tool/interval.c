// SPDX-License-Identifier: GPL-2.0
/* /dev/kdtl live: the last interval, and the one before, as a recording in memory. */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kdtl.h"

#define ENTRIES		(1 << 20)	/* the most of an interval: 48 MB */
#define READ		(1 << 11)	/* at once */
#define RECORDS		64		/* as many as the kernel copies at once */
#define MIN_TASKS	4096		/* fewer records are always kept */
#define CLOCKS		16		/* pairs that are kept */

/* The time base now, and what time of day that is. */
static uint64_t read_clock(struct live *l)
{
	struct recording *r = &l->r;
	const struct kdtl_stream_clock clock = device_clock(l->dev);

	if (r->nr_clocks == CLOCKS)
		memmove(r->clock, r->clock + 1, --r->nr_clocks * sizeof(*r->clock));
	grow(r->clock, r->nr_clocks);
	r->clock[r->nr_clocks++] = (struct clock_pair){ clock.ticks, clock.realtime };
	return clock.ticks;
}

static void add_move(struct recording *r, struct move m)
{
	grow(r->move, r->nr_moves);
	r->move[r->nr_moves++] = m;
}

static void add_loss(struct recording *r, struct gap g)
{
	grow(r->loss, r->nr_losses);
	r->loss[r->nr_losses++] = g;
}

static void find_absent(struct live *l)
{
	log_absent_cpus(l->dev, l->asked, &l->log, &l->nr_log);
	for (const struct log_cpu *c = l->log; c < l->log + l->nr_log; c++) {
		if (c->absent)
			add_move(&l->r, (struct move){ .cpu = c->cpu });
	}
}

/* Start to log.  There is no interval yet. */
void live_begin(struct live *l, struct kdtl_stream_attr *attr)
{
	struct kdtl_stream_info info;

	*l = (struct live){ .dev = open_device() };
	attr->mask = KDTL_MASK_ALL | KDTL_MASK_IDLE;
	device_setup(l->dev, attr, true);
	l->asked = (const cpu_set_t *)(uintptr_t)attr->cpus;
	find_absent(l);
	l->idle = attr->mask & KDTL_MASK_IDLE;
	info = device_info(l->dev);
	l->r.head.tb_freq = info.tb_freq;
	l->r.head.tb_boot = info.tb_boot;
	memcpy(l->r.head.source, info.source, sizeof(info.source));
	l->r.sched = !strcmp(info.source, "kdtl_sched");
	l->r.entry = resized(NULL, sizeof(*l->r.entry));
	if (ioctl(l->dev, KDTL_IOC_START))
		die("cannot start recording");
	l->until = read_clock(l);
	l->r.began = l->until;
	l->r.wait = resized(NULL, WAITS * sizeof(*l->r.wait));
}

/* Take what there is.  Returns false if there is no room: the interval has to end then. */
bool live_read(struct live *l)
{
	struct entries *e = &l->fresh;
	ssize_t n;

	for (;;) {
		if (e->room - e->nr < READ && e->room < ENTRIES) {
			e->room = e->room ? 2 * e->room : 2 * READ;
			e->entry = resized(e->entry, e->room * sizeof(*e->entry));
		}
		if (e->room == e->nr)
			return false;
		n = read(l->dev, e->entry + e->nr, (e->room - e->nr) * sizeof(*e->entry));
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("/dev/kdtl");
		e->nr += n / sizeof(*e->entry);
	}
}

static struct live_cpu *cpu_of(struct live *l, const struct kdtl_entry *e)
{
	for (; l->nr_cpus <= entry_cpu(e); l->nr_cpus++) {
		grow(l->cpu, l->nr_cpus);
		l->cpu[l->nr_cpus] = (struct live_cpu){ 0 };
	}
	return &l->cpu[entry_cpu(e)];
}

/* Forget old entries but each CPU's last one, whose task had the CPU from then on. */
static void next_interval(struct live *l)
{
	const struct entries old = l->before;

	for (const struct kdtl_entry *e = old.entry; e < old.entry + old.nr; e++)
		cpu_of(l, e)->last = *e;
	l->before = l->now;
	l->now = l->fresh;
	l->fresh = (struct entries){ .entry = old.entry, .room = old.room };
}

/* Count the entries.  A CPU's first one says who has had it since before the log began. */
static void count(struct live *l, const struct entries *s)
{
	struct live_cpu *c;

	for (const struct kdtl_entry *e = s->entry; e < s->entry + s->nr; e++) {
		c = cpu_of(l, e);
		c->nr++;
		if (l->r.sched && !c->last.timebase)
			c->last = entry_begin(&l->r, entry_cpu(e), entry_prev_pid(e), l->r.began,
					      be64toh(e->timebase));
	}
}

static void put(struct live *l, const struct entries *s)
{
	for (const struct kdtl_entry *e = s->entry; e < s->entry + s->nr; e++)
		*cpu_of(l, e)->next++ = e;
}

/* Make the CPU's next entry, which says that its last task still has it. */
static void put_end(const struct live *l, struct live_cpu *c)
{
	const struct kdtl_entry *e = c->next[-1];
	const uint64_t last = be64toh(e->timebase);

	c->end = (struct kdtl_entry){
		.dispatch_reason = KDTL_DISPATCH_IDLE,
		.processor_id = e->processor_id,
		.timebase = htobe64(last > l->until ? last : l->until),
		.fault_addr = htobe64((uint32_t)entry_pid(e)),
	};
	*c->next++ = &c->end;
}

/*
 * The entries by CPU, and those of a CPU in the order of time, as the kernel gave them: no
 * need to sort.
 */
static void arrange(struct live *l)
{
	const bool ends = l->idle && !l->lost;
	struct recording *r = &l->r;
	const struct kdtl_entry **at;
	struct live_cpu *c;

	count(l, &l->before);
	count(l, &l->now);
	r->entry = resized(r->entry, (l->before.nr + l->now.nr + 2 * l->nr_cpus + 1) *
			   sizeof(*r->entry));
	at = r->entry;
	for (c = l->cpu; c < l->cpu + l->nr_cpus; c++) {
		c->first = c->next = at;
		if (c->last.timebase)
			*c->next++ = &c->last;
		at = c->next + c->nr;
		at += ends && at > c->first;
		c->nr = 0;
	}
	r->nr = at - r->entry;
	put(l, &l->before);
	put(l, &l->now);
	for (c = l->cpu; ends && c < l->cpu + l->nr_cpus; c++) {
		if (c->next > c->first)
			put_end(l, c);
	}
}

static void look_for_moves(struct live *l)
{
	struct kdtl_stream_info info;
	struct move m[2];
	bool missed;
	size_t nr;

	log_cpus(l->dev, l->asked, &l->log, &l->nr_log);
	for (struct log_cpu *c = l->log; c < l->log + l->nr_log; c++) {
		info = device_cpu_info(l->dev, c->cpu);
		nr = moves_new(c, &info, m, &missed);
		for (size_t i = 0; i < nr; i++)
			add_move(&l->r, m[i]);
		if (missed)
			add_loss(&l->r, (struct gap){
				.cpu = c->cpu, .from = since_boot(&l->r, l->from),
				.to = since_boot(&l->r, m[0].ticks),
			});
	}
}

/* Note which CPUs went and came, if @total says so, since each CPU's oldest entry here. */
static void note_moves(struct live *l, const struct kdtl_stream_info *total)
{
	struct recording *r = &l->r;
	size_t kept = 0;
	const struct move *m;

	if (total->went != l->went || total->came != l->came)
		look_for_moves(l);
	l->went = total->went;
	l->came = total->came;
	for (m = r->move; m < r->move + r->nr_moves; m++) {
		/* The hypervisor's log has other numbers in its entries. */
		if (!r->sched || m->cpu >= l->nr_cpus || m->ticks >= be64toh(l->cpu[m->cpu].last.timebase))
			r->move[kept++] = *m;
	}
	r->nr_moves = kept;
	moves_sort(r);
}

/* In the last interval, and in the one before, entries may have been lost on any CPU. */
static void note_losses(struct live *l)
{
	struct recording *r = &l->r;
	struct gap last = {
		.from = since_boot(r, l->from), .to = since_boot(r, l->until),
	};
	size_t kept = 0;

	for (size_t i = 0; i < r->nr_losses; i++) {
		if (r->loss[i].to >= last.from)
			r->loss[kept++] = r->loss[i];
	}
	r->nr_losses = kept;
	for (last.cpu = 0; l->lost && last.cpu < l->nr_cpus; last.cpu++)
		add_loss(r, last);
	gaps_sort(r->loss, r->nr_losses);
}

/*
 * Find the tasks that have waited for all of the interval, and still wait.  Nothing is known of a
 * task that left its CPU before entries were lost.  A shorter wait is counted in the interval in
 * which it ends.
 */
static void find_stills(struct live *l)
{
	const struct entries *now = &l->now;

	if (!l->r.sched)
		return;
	l->r.nr_still = 0;
	if (l->lost) {
		lasts_free(&l->lasts);
		l->r.nr_waits = 0;
	}
	for (const struct kdtl_entry *e = now->entry; !l->lost && e < now->entry + now->nr; e++)
		lasts_note(&l->lasts, e);
	stills_add(&l->r, &l->lasts, 0, l->from, l->until);
	lasts_prune(&l->lasts, &l->r, l->from);
}

static void add_cgroup(struct live *l, uint64_t id)
{
	struct recording *r = &l->r;
	char path[KDTL_CGROUP_LEN];
	struct kdtl_stream_cgroup req = {
		.id = id, .path = (uintptr_t)path, .len = sizeof(path),
	};
	size_t i;

	if (cgroup_path(r, id) || ioctl(l->dev, KDTL_IOC_CGROUP, &req))
		return;
	grow(r->cgroup, r->nr_cgroups);
	for (i = r->nr_cgroups++; i && r->cgroup[i - 1].id > id; i--)
		r->cgroup[i] = r->cgroup[i - 1];
	r->cgroup[i] = (struct cgroup){ id, strdup(path) };
	if (!r->cgroup[i].path)
		die("no memory");
}

/* Start over, as the kernel's records all come again.  Losses up to @sure do not matter then. */
static void forget_tasks(struct live *l, uint64_t sure)
{
	struct recording *r = &l->r;

	while (r->nr_cgroups)
		free((void *)r->cgroup[--r->nr_cgroups].path);
	r->nr_tasks = 0;
	l->max_tasks = 0;
	l->seq = 0;
	l->sure = sure;
}

/* @nr: 0 if there are no more. */
static bool next_tasks(struct live *l, struct kdtl_task *task, struct kdtl_stream_tasks *req)
{
	*req = (struct kdtl_stream_tasks){
		.seq = l->seq, .tasks = (uintptr_t)task, .nr = RECORDS,
	};
	if (!ioctl(l->dev, KDTL_IOC_TASKS, req))
		return req->nr || req->lost;
	/* The records change all the time: try again next time. */
	if (errno != EOPNOTSUPP && errno != EAGAIN)
		die("/dev/kdtl");
	return false;
}

/* Read the records that are new.  If too many are held, begin anew with those that hold. */
static void read_tasks(struct live *l)
{
	static const void *before_all;
	struct kdtl_task task[RECORDS];
	struct recording *r = &l->r;
	struct kdtl_stream_tasks req;
	unsigned int tries = 4;
	bool any = false;

	if (l->max_tasks && r->nr_tasks > l->max_tasks)
		forget_tasks(l, l->seq);
	while (tries && next_tasks(l, task, &req)) {
		if (req.lost && req.seq > l->sure) {
			/* What was known of a task need not hold any more. */
			forget_tasks(l, req.seq);
			r->reset = &before_all;
			r->nr_resets = 1;
			tries--;
			continue;
		}
		for (unsigned int i = 0; i < req.nr; i++) {
			add_cgroup(l, task[i].cgroup);
			grow(r->task, r->nr_tasks);
			r->task[r->nr_tasks++] = (struct task){ task[i], r->nr_resets };
		}
		l->seq = req.seq;
		any = true;
	}
	if (any)
		tasks_sort(r);
	if (!l->max_tasks)
		l->max_tasks = 2 * r->nr_tasks > MIN_TASKS ? 2 * r->nr_tasks : MIN_TASKS;
}

/*
 * End the interval that began at the last call, and make the recording: its entries are
 * sorted by CPU, and those of the interval are in @l->now.
 */
void live_take(struct live *l)
{
	struct kdtl_stream_info info;

	l->from = l->until;
	l->r.nr_waits = device_waits(l->dev, l->r.wait);
	l->until = read_clock(l);
	live_read(l);
	next_interval(l);
	/* The entries are not newer than the tasks that are read here. */
	read_tasks(l);
	info = device_info(l->dev);
	l->lost = info.lost - l->r.head.lost;
	l->r.head.lost = info.lost;
	arrange(l);
	note_moves(l, &info);
	note_losses(l);
	find_stills(l);
}
