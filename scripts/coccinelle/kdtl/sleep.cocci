// SPDX-License-Identifier: GPL-2.0
/// Most functions that take a session lock a mutex, so they must not be called under
/// a spinlock, with interrupts or preemption off, in an RCU reader, or in a callback
/// that runs in interrupts, as wake() of a session may.
///
// Confidence: Moderate
// Comments: calls through other functions are not followed
// Options: --no-includes

virtual context
virtual org
virtual report

@locked exists@
identifier verb =~ "^kdtl_(session_(create|open|close)|load|unload|start|stop|restart|flush|write_(config|counters)|read_counters|(create|delete|getinfo)_evtsets|merge_(create|destroy|sync)|alarm|alarm_(un)?register|pmu_(un)?register|read|tasks_(open|close)|pressure_(begin|end|look)|probes_(find|(un)?register)|trigger_(open|close)|wait(ing)?|rcu_await)$";
expression L, F, S, M, N;
symbol true;
position p, q;
@@
(
 spin_lock@p(L)
|
 spin_lock_bh@p(L)
|
 spin_lock_irq@p(L)
|
 spin_lock_irqsave@p(L, F)
|
 raw_spin_lock@p(L)
|
 raw_spin_lock_irq@p(L)
|
 raw_spin_lock_irqsave@p(L, F)
|
 read_lock@p(L)
|
 write_lock@p(L)
|
 rcu_read_lock@p()
|
 preempt_disable@p()
|
 local_irq_disable@p()
|
 local_irq_save@p(F)
|
 local_bh_disable@p()
)
 ... when != spin_unlock(L)
     when != spin_unlock_bh(L)
     when != spin_unlock_irq(L)
     when != spin_unlock_irqrestore(L, F)
     when != raw_spin_unlock(L)
     when != raw_spin_unlock_irq(L)
     when != raw_spin_unlock_irqrestore(L, F)
     when != read_unlock(L)
     when != write_unlock(L)
     when != rcu_read_unlock()
     when != preempt_enable()
     when != local_irq_enable()
     when != local_irq_restore(F)
     when != local_bh_enable()
(
 kdtl_wait(S, 0)
|
 kdtl_read(S, M, N, true)
|
 verb@q(...)
)

// Functions that run where nothing may sleep.
@callback@
identifier f, reg =~ "^register_trace_";
expression A, B;
struct hrtimer *t;
struct hrtimer u;
@@
(
 t->function = f
|
 u.function = f
|
 t->function = &f
|
 u.function = &f
|
 hrtimer_setup(A, f, ...)
|
 timer_setup(A, f, B)
|
 init_irq_work(A, f)
|
 tasklet_setup(A, f)
|
 request_irq(A, f, ...)
|
 request_threaded_irq(A, f, ...)
|
 on_each_cpu(f, ...)
|
 on_each_cpu_mask(A, f, ...)
|
 smp_call_function_single(A, f, ...)
|
 smp_call_function_many(A, f, ...)
|
 call_rcu(A, f)
|
 reg(f, ...)
)

@atomic exists@
identifier callback.f;
identifier verb =~ "^kdtl_(session_(create|open|close)|load|unload|start|stop|restart|flush|write_(config|counters)|read_counters|(create|delete|getinfo)_evtsets|merge_(create|destroy|sync)|alarm|alarm_(un)?register|pmu_(un)?register|read|tasks_(open|close)|pressure_(begin|end|look)|probes_(find|(un)?register)|trigger_(open|close)|wait(ing)?|rcu_await)$";
expression S, M, N;
position q;
@@
 f(...)
 {
 	... when any
(
 	kdtl_wait(S, 0)
|
 	kdtl_read(S, M, N, true)
|
 	verb@q(...)
)
 	... when any
 }

// wake() is called under a raw spinlock, perhaps in hard irq.
@waker@
identifier f, I;
@@
 struct kdtl_session_attr I = { .wake = f, };

@assigned@
identifier f;
struct kdtl_session_attr A;
struct kdtl_session_attr *P;
@@
(
 A.wake = f
|
 A.wake = &f
|
 P->wake = f
|
 P->wake = &f
)

@in_waker exists@
identifier waker.f;
identifier verb =~ "^kdtl_(session_(create|open|close)|load|unload|start|stop|restart|flush|write_(config|counters)|read_counters|(create|delete|getinfo)_evtsets|merge_(create|destroy|sync)|alarm|alarm_(un)?register|pmu_(un)?register|read|tasks_(open|close)|pressure_(begin|end|look)|probes_(find|(un)?register)|trigger_(open|close)|wait(ing)?|rcu_await)$";
expression S, M, N;
position q;
@@
 f(...)
 {
 	... when any
(
 	kdtl_wait(S, 0)
|
 	kdtl_read(S, M, N, true)
|
 	verb@q(...)
)
 	... when any
 }

@in_assigned exists@
identifier assigned.f;
identifier verb =~ "^kdtl_(session_(create|open|close)|load|unload|start|stop|restart|flush|write_(config|counters)|read_counters|(create|delete|getinfo)_evtsets|merge_(create|destroy|sync)|alarm|alarm_(un)?register|pmu_(un)?register|read|tasks_(open|close)|pressure_(begin|end|look)|probes_(find|(un)?register)|trigger_(open|close)|wait(ing)?|rcu_await)$";
expression S, M, N;
position q;
@@
 f(...)
 {
 	... when any
(
 	kdtl_wait(S, 0)
|
 	kdtl_read(S, M, N, true)
|
 	verb@q(...)
)
 	... when any
 }

@depends on context@
identifier locked.verb;
position locked.q;
@@
*verb@q(...)

@depends on context@
identifier atomic.verb;
position atomic.q;
@@
*verb@q(...)

@depends on context@
identifier in_waker.verb;
position in_waker.q;
@@
*verb@q(...)

@depends on context@
identifier in_assigned.verb;
position in_assigned.q;
@@
*verb@q(...)

@script:python depends on org@
p << locked.p;
q << locked.q;
verb << locked.verb;
@@
cocci.print_main("atomic from here", p)
cocci.print_secs(verb + "() may sleep", q)

@script:python depends on org@
q << atomic.q;
verb << atomic.verb;
@@
cocci.print_main(verb + "() may sleep", q)

@script:python depends on org@
q << in_waker.q;
verb << in_waker.verb;
@@
cocci.print_main(verb + "() may sleep", q)

@script:python depends on org@
q << in_assigned.q;
verb << in_assigned.verb;
@@
cocci.print_main(verb + "() may sleep", q)

@script:python depends on report@
p << locked.p;
q << locked.q;
verb << locked.verb;
@@
coccilib.report.print_report(q[0], "%s() may sleep, but line %s forbids it" % (verb, p[0].line))

@script:python depends on report@
f << callback.f;
q << atomic.q;
verb << atomic.verb;
@@
coccilib.report.print_report(q[0], "%s() may sleep, but %s() runs where nothing may" % (verb, f))

@script:python depends on report@
f << waker.f;
q << in_waker.q;
verb << in_waker.verb;
@@
coccilib.report.print_report(q[0], "%s() may sleep, but %s() runs where nothing may" % (verb, f))

@script:python depends on report@
f << assigned.f;
q << in_assigned.q;
verb << in_assigned.verb;
@@
coccilib.report.print_report(q[0], "%s() may sleep, but %s() runs where nothing may" % (verb, f))
