// SPDX-License-Identifier: GPL-2.0
/* kdtl top: what kdtl report says of a recording, of the last seconds, again and again. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef HAVE_NCURSES
#include <curses.h>
#endif

#include "rows.h"

#define MS		1e6
#define HEAD_LINES	4	/* above the rows */
#define NARROW		60	/* columns; some of the table's are left out then */

/**
 * struct top - the options, by command line or keyboard, and what is shown
 * @filter: the dispatches that are wanted
 * @by: what the rows are for
 * @by_asked: the command line has set @by
 * @sort: their order
 * @interval: in ns
 * @batch: print tables, one after the other
 * @count: the number of tables; 0: to the end
 * @attr: the session
 * @live: the entries
 * @irq: when interrupts had a CPU
 * @irqs: @irq is asked for
 * @keys: what the rows are for
 * @comms: the commands that may be culprits
 * @comm: the command of each entry, for find_culprit()
 * @dispatch: the dispatches of the rows
 * @row: the rows, sorted
 * @nr: their number
 * @total: dispatches of the interval, including those that are not wanted
 */
static struct top {
	struct filter			filter;
	enum by				by;
	bool				by_asked;
	const struct sort		*sort;
	uint64_t			interval;
	bool				batch;
	unsigned long			count;
	struct kdtl_stream_attr		attr;
	struct live			live;
	struct live			irq;
	bool				irqs;
	struct keys			keys;
	struct keys			comms;
	struct key			**comm;
	struct dispatch			*dispatch;
	struct row			*row;
	size_t				nr;
	uint64_t			total;
} top;

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = sig;
}

static void parse(int argc, char **argv)
{
	enum { OPT_INTERVAL = OPT_OTHERS, OPT_BY, OPT_IRQ };
	static const struct option names[] = {
		{ "interval", required_argument, NULL, OPT_INTERVAL },
		{ "by", required_argument, NULL, OPT_BY },
		{ "irq", no_argument, NULL, OPT_IRQ },
		FILTER_OPTIONS,
		OPTIONS_END
	};
	int opt;

	top.sort = sorts;
	top.interval = 2 * NS_PER_S;
	while ((opt = next_option(argc, argv, ":hbn:s:", names)) != -1) {
		switch (opt) {
		case 'b':
			top.batch = true;
			break;
		case 'n':
			top.count = parse_nr(optarg, "tables");
			break;
		case 's':
			if (strlen(optarg) >= sizeof(top.attr.source))
				usage_error("-s %s: too long", optarg);
			strcpy(top.attr.source, optarg);
			break;
		case OPT_INTERVAL:
			top.interval = parse_duration("--interval", optarg, NS_PER_S,
						      NS_PER_S / 10, 3600 * NS_PER_S);
			break;
		case OPT_BY:
			top.by = parse_by("--by", optarg);
			top.by_asked = true;
			break;
		case OPT_IRQ:
			top.irqs = true;
			break;
		default:
			filter_option(&top.filter, opt, optarg);
		}
	}
	if (argv[optind])
		usage_error("top: unexpected argument %s", argv[optind]);
	if (top.filter.from || top.filter.to)
		usage_error("top: --from and --to are for recordings: see kdtl report");
	top.attr.period = top.interval;
	if (top.filter.cpus) {
		top.attr.cpus = (uintptr_t)top.filter.cpus;
		top.attr.cpus_len = CPU_ALLOC_SIZE(MAX_CPUS);
	}
}

/* The dispatches of the interval, and the waits that are not over: @top.dispatch. */
static size_t find_all(const struct recording *r)
{
	const struct entries *now = &top.live.now;
	const struct kdtl_entry *e;
	size_t nr = 0;
	bool still;

	top.total = 0;
	for (size_t i = 0; i < r->nr; i++) {
		e = r->entry[i];
		still = entry_still(r, e);
		if (!still && (e < now->entry || e >= now->entry + now->nr || entry_is_idle(e)))
			continue;
		top.total += !still;
		if (!filter_wants(&top.filter, r, e))
			continue;
		grow(top.dispatch, nr);
		top.dispatch[nr++] = (struct dispatch){ key_of(&top.keys, r, e), i, 0 };
	}
	sort_dispatches(top.dispatch, nr);
	return nr;
}

/* How much of the time @from to @to is in the interval, without what interrupts had of @cpu. */
static uint64_t in_interval(const struct recording *r, unsigned int cpu, uint64_t from, uint64_t to)
{
	const uint64_t begin = ticks_to_ns(r, top.live.from - r->head.tb_boot);
	const uint64_t end = ticks_to_ns(r, top.live.until - r->head.tb_boot);

	from = from > begin ? from : begin;
	to = to < end ? to : end;
	return from < to ? to - from - taken_in(r, cpu, from, to) : 0;
}

/* How long keys had CPUs. */
static struct ran_key {
	const struct key	*key;
	uint64_t		ns;
} *ran_keys;

static size_t nr_ran_keys;

static void add_ran_key(const struct key *key, uint64_t ns)
{
	while (nr_ran_keys <= key->nr) {
		grow(ran_keys, nr_ran_keys);
		memset(&ran_keys[nr_ran_keys++], 0, sizeof(*ran_keys));
	}
	ran_keys[key->nr].key = key;
	ran_keys[key->nr].ns += ns;
}

/* Add for how long the task of entry @i had its CPU, also as what it became by exec(). */
static void add_ran_entry(const struct recording *r, const struct filter *f, size_t i)
{
	const struct kdtl_entry *e = r->entry[i];
	const struct kdtl_task *t;
	uint64_t to, since, ns;

	if (!entry_pid(e) || entry_still(r, e) || !ran_until_next(r, i))
		return;
	to = entry_time(r, r->entry[next_of_cpu(r, i)]);
	t = top.keys.by == BY_CPU ? NULL : execd_task(r, i);
	since = t ? since_boot(r, t->since) : to;
	ns = in_interval(r, entry_cpu(e), entry_time(r, e), since);
	if (ns && filter_wants(f, r, e))
		add_ran_key(key_of(&top.keys, r, e), ns);
	ns = in_interval(r, entry_cpu(e), since, to);
	if (ns && filter_wants_execd(f, r, e, t))
		add_ran_key(key_of_execd(&top.keys, r, t), ns);
}

/*
 * Set for how long each row had CPUs in the interval.  A task that was dispatched before it,
 * and ran on, gets a row, too.
 */
static void add_ran(const struct recording *r)
{
	struct filter filter = top.filter;
	struct ran_key *ran;

	/* Here it does not matter how long tasks waited before. */
	filter.min_wait = 0;
	for (size_t i = 0; i < r->nr; i++)
		add_ran_entry(r, &filter, i);
	for (struct row *row = top.row; row < top.row + top.nr; row++) {
		ran = row->key->nr < nr_ran_keys ? &ran_keys[row->key->nr] : NULL;
		row->ran = ran ? ran->ns : 0;
		if (ran)
			ran->ns = 0;
	}
	for (size_t i = 0; i < nr_ran_keys && !top.filter.min_wait; i++) {
		if (!ran_keys[i].ns)
			continue;
		grow(top.row, top.nr);
		top.row[top.nr++] = (struct row){
			.key = ran_keys[i].key, .ran = ran_keys[i].ns, .least = UINT64_MAX,
		};
	}
	free(ran_keys);
	ran_keys = NULL;
	nr_ran_keys = 0;
}

/* The rows of the last interval. */
static void make_rows(void)
{
	const struct recording *r = &top.live.r;
	size_t nr;

	free(top.row);
	free(top.dispatch);
	free(top.comm);
	top.dispatch = NULL;
	top.comm = NULL;
	keys_free(&top.keys);
	keys_free(&top.comms);
	top.keys.by = rows_by(r, top.by, top.by_asked);
	top.comms.by = BY_COMM;
	nr = find_all(r);
	top.row = rows_of(r, top.dispatch, nr, 0, &top.nr);
	if (r->sched) {
		add_ran(r);
		top.comm = culprits_of(r, &top.comms);
	}
	sort_rows(top.row, top.nr, top.sort);
}

static double seconds(void)
{
	const uint64_t ns = ticks_to_ns(&top.live.r, top.live.until - top.live.from);

	return ns ? ns / 1e9 : 1;
}

static const char *ms(char *to, uint64_t ns, bool more)
{
	sprintf(to, "%.1f%s", ns / MS, more ? "+" : "");
	return to;
}

enum { NAME, COUNT, RAN, WAITED, THROTTLED, P99, MAX, FOR, BEHIND };

static const char *cell(char *to, const void *p, int what)
{
	const struct row *row = p;

	switch (what) {
	case NAME:
		return key_text(to, &top.keys, row->key);
	case COUNT:
		sprintf(to, "%zu", row->nr - row->still);
		return to;
	case RAN:
		/* 100% is one CPU. */
		sprintf(to, "%.1f", row->ran / 1e7 / seconds());
		return to;
	case WAITED:
		return ms(to, row->waited, row->least != UINT64_MAX);
	case THROTTLED:
		return ms(to, row->throttled, row->throttled_more);
	case P99:
		return row->waits ? ms(to, row->p99, row->p99 >= row->least) : "-";
	case MAX:
		return row->waits ? ms(to, row->max, row->max >= row->least) : "-";
	case FOR:
		return row->culprit ? ms(to, row->behind, false) : "-";
	default:
		return row->culprit ? key_text(to, &top.comms, row->culprit) : "-";
	}
}

/* The hypervisor's log does not say who ran. */
static void print_rows(size_t nr, int width)
{
	const bool sched = top.live.r.sched, narrow = width < NARROW;
	struct table t = { .text = cell, .size = sizeof(struct row), .width = width };
	const struct column columns[] = {
		{ row_heads[top.keys.by], NAME, true, NULL },
		{ "count", COUNT, false, NULL },
		{ sched ? "ran %" : NULL, RAN, false, NULL },
		{ "waited", WAITED, false, "ms:" },
		{ sched && !narrow ? "throttled" : NULL, THROTTLED, false, NULL },
		{ narrow ? NULL : "p99", P99, false, NULL },
		{ "max", MAX, false, NULL },
		{ sched && !narrow ? "for" : NULL, FOR, false, NULL },
		{ sched && !narrow ? "behind" : NULL, BEHIND, true, NULL },
	};

	nr = nr < top.nr ? nr : top.nr;
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		if (columns[c].head)
			t.column[t.nr++] = columns[c];
	}
	for (size_t i = 0; i < nr && top.comm; i++) {
		if (!top.row[i].culprit)
			find_culprit(&top.live.r, top.comm, &top.row[i]);
	}
	print_table(&t, top.row, nr);
}

/* The CPUs that are offline now, or, if not @now, that were in the interval. */
static void print_offline(const char *what, bool now)
{
	const struct recording *r = &top.live.r;
	const struct move *m = r->move;
	bool was = false, any = false;

	for (; m < r->move + r->nr_moves; m++) {
		was |= m->ticks >= top.live.from;
		if (move_next(r, m))
			continue;
		if (now ? !m->online : m->online && was) {
			printf("%s%u", any ? "," : what, m->cpu);
			any = true;
		}
		was = false;
	}
}

/* As in top(1), print the totals and then the rows, of which @nr fit. */
static void print_all(size_t nr, int width)
{
	char time[TIME_TEXT];

	printf("%s  %ld CPUs, %.0f dispatches/s, %llu lost",
	       time_text(time, time_of_day(&top.live.r, top.live.until), "%H:%M:%S", 0),
	       sysconf(_SC_NPROCESSORS_ONLN), top.total / seconds(),
	       (unsigned long long)(top.live.lost + top.irq.lost));
	print_offline("; offline: CPU ", true);
	print_offline("; back: CPU ", false);
	putchar('\n');
	printf("the last %.3f s: %zu %s, sorted by %s\n", seconds(), top.nr, row_names[top.keys.by],
	       top.sort->name);
	print_rows(nr, width);
}

/*
 * Wait until the interval is over, or until there is no more room for its entries.  Returns
 * true if a key was pressed before.
 */
static bool wait_until(uint64_t ns, bool keys)
{
	struct pollfd p[] = {
		{ .fd = top.live.dev, .events = POLLIN },
		{ .fd = keys ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = top.irqs ? top.irq.dev : -1, .events = POLLIN },
	};
	struct timespec left;
	uint64_t now;

	while (!stopped && (now = now_ns()) < ns) {
		left = (struct timespec){ (ns - now) / 1000000000, (ns - now) % 1000000000 };
		if (ppoll(p, ARRAY_SIZE(p), &left, NULL) < 0) {
			if (errno != EINTR)
				die("/dev/kdtl");
			/* The terminal may have another size. */
			return true;
		}
		if ((p[0].revents | p[2].revents) & POLLERR)
			die("/dev/kdtl");
		if (!live_read(&top.live) || (top.irqs && !live_read(&top.irq)))
			return false;
		if (p[1].revents & ~POLLIN)
			stopped = SIGHUP;
		if (p[1].revents)
			return true;
	}
	return false;
}

/* Take the interrupts last, so that they are known up to the end of the interval. */
static void take(void)
{
	live_take(&top.live);
	if (top.irqs) {
		live_take(&top.irq);
		free(top.live.r.taken);
		irq_take(&top.live.r, &top.irq.r);
	}
	make_rows();
}

static void batch(void)
{
	uint64_t next = now_ns();

	for (unsigned long n = 0; !stopped && (!top.count || n < top.count); n++) {
		next += top.interval;
		while (wait_until(next, false) && !stopped)
			;
		take();
		if (n)
			putchar('\n');
		print_all(SIZE_MAX, terminal_width());
		if (fflush(stdout))
			die("standard output");
	}
}

#ifdef HAVE_NCURSES
static SCREEN *screen;

static void leave_screen(void)
{
	endwin();
}

/* print_table() prints to stdout: put its output on the screen, as far as it fits. */
static void draw(void)
{
	FILE *const out = stdout;
	size_t size;
	char *text, *line, *next;
	int y = 0;

	stdout = open_memstream(&text, &size);
	if (!stdout)
		die("no memory");
	print_all(LINES > HEAD_LINES ? LINES - HEAD_LINES : 0, COLS);
	fclose(stdout);
	stdout = out;
	erase();
	for (line = text; (next = strchr(line, '\n')) && y < LINES; line = next + 1, y++) {
		*next = '\0';
		attrset(y == HEAD_LINES - 1 ? A_REVERSE : y ? A_NORMAL : A_BOLD);
		mvaddnstr(y, 0, line, COLS);
	}
	attrset(A_NORMAL);
	refresh();
	free(text);
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"kdtl top: who waited for a CPU, and behind whom",
		"w  sort by the time waited",
		"m  by the longest wait",
		"r  by the time with a CPU",
		"d  by the number of dispatches",
		"t  by the time throttled",
		"b  rows for tasks, commands or cgroups",
		"q  quit",
		"Any key goes back.",
	};

	erase();
	for (int y = 0; y < (int)ARRAY_SIZE(lines) && y < LINES; y++)
		mvaddnstr(y, 0, lines[y], COLS);
	refresh();
}

/* Switch to the next kind of rows; the hypervisor's log has only CPUs. */
static void next_by(void)
{
	if (!top.live.r.sched)
		return;
	top.by = (top.by + 1) % BY_CPU;
	if (top.by == BY_CGROUP && !top.live.r.nr_tasks)
		top.by = BY_TASK;
	make_rows();
}

static void on_key(int key, bool *help)
{
	if (key == 'q') {
		stopped = SIGTERM;
	} else if (*help) {
		*help = key == KEY_RESIZE;
	} else if (key == '?' || key == 'h') {
		*help = true;
	} else if (key == 'b') {
		next_by();
	} else {
		for (size_t i = 0; i < NR_SORTS; i++) {
			if (sorts[i].key && sorts[i].key == key)
				top.sort = &sorts[i];
		}
		sort_rows(top.row, top.nr, top.sort);
	}
}

static void interactive(void)
{
	uint64_t next = now_ns();
	bool help = false;
	int key;

	at_die = leave_screen;
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, true);
	nodelay(stdscr, true);
	while (!stopped) {
		if (help)
			draw_help();
		else
			draw();
		if (now_ns() >= next)
			next = now_ns() + top.interval;
		if (!wait_until(next, true))
			take();
		while ((key = getch()) != ERR)
			on_key(key, &help);
	}
	leave_screen();
	at_die = NULL;
	delscreen(screen);
}

/* Returns false if the terminal can only show plain tables. */
static bool has_screen(void)
{
	if (top.batch || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		fprintf(stderr, "kdtl: nothing is known of the terminal %s (TERM), so tables follow\n",
			getenv("TERM") ?: "without a name");
	return screen;
}
#else
static void interactive(void)
{
}

static bool has_screen(void)
{
	if (!top.batch && isatty(STDOUT_FILENO))
		fputs("kdtl: built without ncurses, so tables follow: install libncurses-dev and run make tool again\n",
		      stderr);
	return false;
}
#endif

/* Begin to log interrupts, of the same CPUs, and as often. */
static void begin_irqs(void)
{
	struct kdtl_stream_attr attr = top.attr;

	strcpy(attr.source, IRQ_SOURCE);
	live_begin(&top.irq, &attr);
}

static int cmd_top(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };

	parse(argc, argv);
	if (top.filter.cpus)
		check_cpus("--cpu", top.filter.cpus);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	live_begin(&top.live, &top.attr);
	if (top.irqs && !top.live.r.sched)
		usage_error("top: --irq: the entries of %s name no tasks", source_text(&top.live.r));
	if (top.irqs)
		begin_irqs();
	/* Learn the tasks that exist: without them there are no cgroups. */
	take();
	filter_begin(&top.filter, &top.live.r);
	if (has_screen())
		interactive();
	else
		batch();
	return 0;
}

const struct verb verb_top = {
	.name = "top",
	.brief = "what report says, of the last seconds, again and again",
	.usage =
	"top [OPTION]...\n"
	"  --by task|process|comm|cgroup|cpu\n"
	"                           what the rows are for (default: task)\n"
	"  --interval TIME          between two tables; seconds, or 500ms (default: 2)\n"
	"  --irq                    take what interrupts had from tasks: needs kdtl_irq\n"
	"  -b                       plain tables, one after the other, as for a file\n"
	"  -n COUNT                 so many tables, and then end; with -b\n"
	"  -s SOURCE                such as kdtl_sched (default: the best there is)\n"
	"  --pid PID                only this task, or this process\n"
	"  --comm NAME              only tasks with this name, or 'web*'\n"
	"  --cgroup PATH            only tasks in this cgroup, or below, or '/*/web*'\n"
	"  --cpu CPUS               only these CPUs, such as 0-3,8\n"
	"  --min-wait TIME          only such waits, or longer ones; ms, or 50us, 2s",
	.run = cmd_top,
};
