// SPDX-License-Identifier: GPL-2.0
/*
 * The benchmark's 48-byte record of each switch, put into a BPF ring buffer.  With RUN_DELAY the
 * record has, instead of a priority, the total time that the task that leaves has waited: the
 * difference between two records of a task is its last wait.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define TASK_COMM_LEN	16

/* Only the fields that are used; the loader relocates them by the kernel's BTF. */
struct sched_info {
	unsigned long long	run_delay;
} __attribute__((preserve_access_index));

struct task_struct {
	int			pid;
	int			prio;
	char			comm[TASK_COMM_LEN];
	struct sched_info	sched_info;
} __attribute__((preserve_access_index));

struct record {
	__u64		time;
	int		prev_pid;
	int		next_pid;
#ifdef RUN_DELAY
	__u64		prev_waited;
	__u32		cpu;
	__u32		prev_state;
#else
	__u32		cpu;
	int		next_prio;
	unsigned long	prev_state;
#endif
	char		next_comm[TASK_COMM_LEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} records SEC(".maps");

__u64 lost;
/* How many unread bytes wake the reader; 0: nothing wakes it. */
const volatile __u64 watermark;

SEC("tp_btf/sched_switch")
int BPF_PROG(bpf_switch, _Bool preempt, struct task_struct *prev,
	     struct task_struct *next, unsigned int prev_state)
{
	struct record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	r->time = bpf_ktime_get_ns();
	r->prev_pid = prev->pid;
	r->next_pid = next->pid;
	r->cpu = bpf_get_smp_processor_id();
#ifdef RUN_DELAY
	r->prev_waited = prev->sched_info.run_delay;
#else
	r->next_prio = next->prio;
#endif
	r->prev_state = prev_state;
	__builtin_memcpy(r->next_comm, next->comm, sizeof(r->next_comm));
	bpf_ringbuf_submit(r, watermark && bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >=
			   watermark ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

char _license[] SEC("license") = "GPL";
