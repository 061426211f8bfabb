/* SPDX-License-Identifier: GPL-2.0 */
/* What the sampler and the table of tasks use of the kernel's headers, for reader_native.c. */
#ifndef READER_KERNEL_H
#define READER_KERNEL_H

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define aligned_u64		__aligned_u64

#define KERNEL_VERSION(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 1, 0)

#define __percpu
#define __user
#define __init
#define __exit
#define __must_hold(x)
#define __acquires(x)
#define __releases(x)
#define __aligned(n)		__attribute__((aligned(n)))
#define ____cacheline_aligned	__aligned(64)
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define fallthrough		__attribute__((fallthrough))
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define barrier()		__asm__ volatile("" : : : "memory")
#define cpu_relax()		barrier()
#define static_assert		_Static_assert
#define lockdep_assert_held(x)	((void)(x))
#define might_sleep()
#define cond_resched()

#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define NUMA_NO_NODE		(-1)
#define CONFIG_TRACEPOINTS	1
#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define si_mem_available()	LONG_MAX
#define SZ_256K			0x40000
#define BIT(n)			(1UL << (n))
#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L
#define NSEC_PER_SEC		1000000000L
#define MSEC_PER_SEC		1000L
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define struct_size(p, m, n)	(sizeof(*(p)) + sizeof(*(p)->m) * (n))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define clamp_t(t, v, l, h)	min_t(t, max_t(t, v, l), h)
#define min_not_zero(a, b)	(!(a) ? (b) : !(b) ? (a) : min(a, b))

/* Modules. */
struct module;
struct kernel_param;
struct kernel_param_ops {
	int	(*set)(const char *val, const struct kernel_param *kp);
	int	(*get)(char *to, const struct kernel_param *kp);
};

#define THIS_MODULE		NULL
#define module_param(n, t, p)
#define module_param_cb(n, o, v, p)	\
	static __attribute__((unused)) const void *param_of_##n[] = { o, v }
#define MODULE_PARM_DESC(n, t)
#define MODULE_DESCRIPTION(t)
#define MODULE_LICENSE(t)
#define MODULE_IMPORT_NS(t)
#define MODULE_INFO(a, b)
#define EXPORT_SYMBOL_NS_GPL(a, b)
#define late_initcall(f)	static __attribute__((unused)) int (*init_call)(void) = f
#define module_exit(f)		static __attribute__((unused)) void (*exit_call)(void) = f
#define KBUILD_MODNAME		"reader"

static inline int param_set_uint_minmax(const char *val, const struct kernel_param *kp,
					unsigned int least, unsigned int most)
{
	return val && kp && least > most ? -EINVAL : 0;
}

static inline int param_get_uint(char *to, const struct kernel_param *kp)
{
	return to && kp ? 0 : -EINVAL;
}

#define pr_err(...)		fprintf(stderr, __VA_ARGS__)
#define pr_warn			pr_err
#define pr_info			pr_err
#define pr_info_once		pr_err
#define pr_warn_once		pr_err
#define pr_warn_ratelimited	pr_err

/* Memory. */
#define GFP_KERNEL	0
#define __GFP_ZERO	0
#define __GFP_NOWARN	0
#define kzalloc(n, f)			calloc(1, n)
#define kcalloc(n, s, f)		calloc(n, s)
#define kvcalloc			kcalloc
#define kvzalloc			kzalloc
#define kvmalloc(n, f)			malloc(n)
#define kvmalloc_array(n, s, f)		malloc((n) * (s))
#define kzalloc_node(n, f, i)		calloc(1, n)
#define kvzalloc_node			kzalloc_node
#define kcalloc_node(n, s, f, i)	calloc(n, s)
#define __vcalloc(n, s, f)		calloc(n, s)
#define kstrdup(s, f)			strdup(s)
#define kfree(p)			free(p)
#define kvfree(p)			free(p)
#define vfree(p)			free(p)
#define ERR_PTR(e)			((void *)(long)(e))
#define PTR_ERR(p)			((long)(p))
#define IS_ERR(p)			((unsigned long)(p) >= (unsigned long)-4095)
#define IS_ERR_OR_NULL(p)		(!(p) || IS_ERR(p))

/*
 * There is one thread. A mutex costs what a lock costs that nobody else wants: an atomic operation.
 */
struct mutex {
	int	held;
};

#define __MUTEX_INITIALIZER(n)	{ 0 }
#define DEFINE_MUTEX(n)		struct mutex n

static inline void mutex_lock(struct mutex *m)
{
	__atomic_exchange_n(&m->held, 1, __ATOMIC_ACQUIRE);
}

static inline void mutex_unlock(struct mutex *m)
{
	__atomic_exchange_n(&m->held, 0, __ATOMIC_RELEASE);
}

typedef struct {
	int	held;
} raw_spinlock_t;

typedef struct {
	unsigned int	sequence;
} seqcount_raw_spinlock_t;

#define __RAW_SPIN_LOCK_UNLOCKED(n)		{ 0 }
#define SEQCNT_RAW_SPINLOCK_ZERO(n, l)		{ 0 }
#define raw_spin_lock_irqsave(l, f)		((f) = 0, (l)->held++)
#define raw_spin_unlock_irqrestore(l, f)	((void)(f), (l)->held--)
#define write_seqcount_begin(s)			((s)->sequence++)
#define write_seqcount_end(s)			((s)->sequence++)
#define raw_read_seqcount(s)			READ_ONCE((s)->sequence)
#define read_seqcount_retry(s, was)		(READ_ONCE((s)->sequence) != (was))
#define rcu_read_lock()
#define rcu_read_unlock()
#define xchg(p, v)				__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)

/* There is one CPU. */

struct cpumask {
	unsigned long	bits;
};

#define DEFINE_PER_CPU(t, n)		__typeof__(t) n
#define per_cpu(n, cpu)			(*((void)(cpu), &(n)))
#define per_cpu_ptr(p, cpu)		((void)(cpu), (p))
#define alloc_percpu(t)			NULL
#define free_percpu(p)			((void)(p))
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define for_each_cpu(cpu, m)		for ((cpu) = 0; (m) && (cpu) < 1; (cpu)++)
#define cpu_to_node(cpu)		0
#define cpumask_clear(m)		((m)->bits = 0)
#define cpumask_set_cpu(cpu, m)		((m)->bits |= 1UL << (cpu))

static inline bool cpumask_test_and_clear_cpu(int cpu, struct cpumask *m)
{
	const unsigned long bit = 1UL << cpu;

	/* In the kernel this is atomic, too. */
	return __atomic_fetch_and(&m->bits, ~bit, __ATOMIC_SEQ_CST) & bit;
}

/* Numbers and times. */
static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 div_u64_rem(u64 a, u32 b, u32 *rest)
{
	*rest = a % b;
	return a / b;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (unsigned __int128)a * b >> shift;
}

#define fls64(n)		((n) ? 64 - __builtin_clzll(n) : 0)
#define ilog2(n)		(63 - __builtin_clzll(n))
#define hash_32(v, bits)	((u32)((v) * 0x61C88647u) >> (32 - (bits)))
#define hash_64(v, bits)	((u64)((v) * 0x61C8864680B583EBull) >> (64 - (bits)))

static inline u32 roundup_pow_of_two(u32 n)
{
	return n <= 1 ? 1 : 1U << (32 - __builtin_clz(n - 1));
}

u64 reader_now;		/* the time of the newest entry */

#define local_clock()		reader_now
#define ktime_get_ns()		reader_now
#define ktime_get_boottime_ns()	reader_now

/* Lists. */
struct list_head {
	struct list_head	*next;
	struct list_head	*prev;
};

struct hlist_node {
	struct hlist_node	*next;
	struct hlist_node	**from;
};

#define LIST_HEAD(n)		struct list_head n = { &n, &n }
#define DEFINE_HASHTABLE(n, bits)	struct hlist_node *n[1 << (bits)]
#define list_entry(p, t, m)	container_of(p, t, m)
#define list_for_each_entry(p, head, m)							\
	for ((p) = list_entry((head)->next, __typeof__(*(p)), m); &(p)->m != (head);	\
	     (p) = list_entry((p)->m.next, __typeof__(*(p)), m))
#define list_for_each_entry_safe(p, n, head, m)						\
	for ((p) = list_entry((head)->next, __typeof__(*(p)), m);			\
	     (n) = list_entry((p)->m.next, __typeof__(*(p)), m), &(p)->m != (head);	\
	     (p) = (n))
#define hash_first(n, key)	(&(n)[hash_64(key, ilog2(ARRAY_SIZE(n)))])
#define hash_add(n, p, key)	hlist_add(p, hash_first(n, key))
#define hash_for_each_possible(n, p, m, key)						\
	for (struct hlist_node *_p = *hash_first(n, key);				\
	     _p && ((p) = list_entry(_p, __typeof__(*(p)), m), 1); _p = _p->next)

static inline void list_add_tail(struct list_head *p, struct list_head *head)
{
	p->prev = head->prev;
	p->next = head;
	head->prev->next = p;
	head->prev = p;
}

static inline void list_del(struct list_head *p)
{
	p->next->prev = p->prev;
	p->prev->next = p->next;
}

static inline void hlist_add(struct hlist_node *p, struct hlist_node **head)
{
	p->next = *head;
	p->from = head;
	if (p->next)
		p->next->from = &p->next;
	*head = p;
}

static inline void hash_del(struct hlist_node *p)
{
	*p->from = p->next;
	if (p->next)
		p->next->from = p->from;
}

/* Text. */
#define ESCAPE_HEX	0
#define ESCAPE_NAP	0
#define strscpy(to, from, n)	((void)snprintf(to, n, "%s", from))

static inline int string_escape_mem(const char *from, size_t len, char *to, size_t size,
				    int flags, const char *only)
{
	(void)flags, (void)only;
	memcpy(to, from, min(len, size));
	return len;
}

/* Nothing here calls these. */
struct seq_file {
	void	*private;
};

struct completion;
struct workqueue_struct;
struct delayed_work {
	int	none;
};

struct notifier_block;
struct dentry;
struct file_operations {
	int	none;
};

#define DEFINE_SHOW_ATTRIBUTE(n)						\
	static const struct file_operations __attribute__((unused)) n##_fops;	\
	static int __attribute__((unused)) (*n##_shown)(struct seq_file *, void *) = n##_show
#define DEFINE_DEBUGFS_ATTRIBUTE(n, g, s, f)					\
	static const struct file_operations n;					\
	static __attribute__((unused)) int (*n##_set)(void *, u64) = s
#define debugfs_create_dir(n, d)		NULL
#define debugfs_create_file(n, m, d, p, f)	((void)(p), (void)(f))
#define debugfs_remove(d)			((void)(d))
#define seq_puts(m, s)				((void)(m))
#define seq_printf(m, f, ...)			snprintf(NULL, 0, f, __VA_ARGS__)
#define CPUTIME_STEAL				0
#define kcpustat_cpu(cpu)			reader_stat

static const struct {
	u64	cpustat[1];
} reader_stat;

/* Tasks. */
#define TASK_COMM_LEN		16
#define PF_EXITING		4
#define PIDTYPE_PID		0
#define KDTL_EXIT_GROUP_DEAD
#define KDTL_HAVE_KRETPROBES	0

typedef unsigned long kdtl_clone_flags_t;

struct linux_binprm;
struct cgroup;
struct pid {
	int	level;
	struct {
		int	nr;
	} numbers[1];
};

struct task_struct {
	pid_t		pid;
	pid_t		tgid;
	int		policy;
	int		rt_priority;
	unsigned int	flags;
	u64		start_time;
	u64		cgroup;
	char		comm[TASK_COMM_LEN];
	struct pid	thread_pid;
};

#define init_pid_ns			reader_stat
#define task_nice(t)			0
#define task_pid(t)			(&(t)->thread_pid)

static inline u64 kdtl_cgroup_of(const struct task_struct *t)
{
	return t->cgroup;
}

#define pid_nr(p)			((p)->numbers[0].nr)
#define pid_task(p, t)			container_of(p, struct task_struct, thread_pid)
#define for_each_thread(l, t)		for ((t) = (l); (t); (t) = NULL)

struct kdtl_probe {
	const char	*name;
	void		*probe;
};

#define kdtl_probes_register(p, n)	((void)(p), 0)
#define kdtl_probes_unregister(p, n)	((void)(p))

struct pid *reader_pid(int nr);

#define find_ge_pid(nr, ns)		reader_pid(nr)

#endif /* READER_KERNEL_H */
