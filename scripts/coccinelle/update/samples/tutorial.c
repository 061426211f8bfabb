// SPDX-License-Identifier: GPL-2.0
#include <linux/kdtl.h>
#include <linux/kthread.h>
#include <linux/module.h>

static struct kdtl_session *session;
static struct task_struct *thread;

static void look_at_cpu(int cpu, struct kdtl_entry *longest, int *where)
{
        const struct kdtl_entry *e;
        const void *span;
        ssize_t len = kdtl_aux_peek(session, cpu, &span);

        if (len <= 0)
                return;
        kdtl_for_each_entry(e, span, len) {
                if (kdtl_entry_wait(e) < kdtl_entry_wait(longest))
                        continue;
                *longest = *e;
                *where = cpu;
        }
        kdtl_aux_consume(session, cpu, len);
}

static int longest_thread(void *unused)
{
        unsigned long next = jiffies + HZ;
        struct kdtl_entry longest = {};
        struct kdtl_aux_info info;
        int cpu, where = 0;

        while (!kthread_should_stop()) {
                kdtl_wait(session, HZ / 10);
                for_each_possible_cpu(cpu)
                        look_at_cpu(cpu, &longest, &where);
                if (time_before(jiffies, next) ||
                    kdtl_aux_info(session, where, &info))
                        continue;
                pr_info("longest: %llu ns on CPU %d, pid %d\n",
                        kdtl_ticks_to_ns(&info, kdtl_entry_wait(&longest)),
                        where, kdtl_entry_pid(&longest));
                memset(&longest, 0, sizeof(longest));
                next = jiffies + HZ;
        }
        return 0;
}

static int __init longest_init(void)
{
        /* Pids are of tasks, so of the scheduler's log. */
        const struct kdtl_session_attr attr = {
                .pmu = "kdtl_sched",
                .aux_pages = 64,
        };
        int err;

        session = kdtl_session_create(&attr);
        if (IS_ERR(session))
                return PTR_ERR(session);
        err = kdtl_load(session, NULL);
        if (!err)
                err = kdtl_start(session);
        if (err)
                goto close;
        thread = kthread_run(longest_thread, NULL, "longest");
        if (!IS_ERR(thread))
                return 0;
        err = PTR_ERR(thread);
close:
        kdtl_session_close(session);
        return err;
}

static void __exit longest_exit(void)
{
        kthread_stop(thread);
        kdtl_session_close(session);
}

module_init(longest_init);
module_exit(longest_exit);

MODULE_DESCRIPTION("The longest wait for a CPU");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_SOFTDEP("pre: kdtl_sched");
