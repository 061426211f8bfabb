// SPDX-License-Identifier: GPL-2.0
/// A session completes the caller's completion until kdtl_session_close()
/// returns, so the memory that holds the completion must stay until then.
///
// Confidence: Moderate
// Comments: a close in another function is not seen
// Options: --no-includes

virtual context
virtual org
virtual report

// The structures that hold a session's completion.
@held@
identifier T, c;
struct T *x;
struct kdtl_session_attr a;
struct kdtl_session_attr *b;
@@
(
 a.done = &x->c
|
 b->done = &x->c
)

@held_init@
identifier T, c, a;
struct T *x;
@@
 struct kdtl_session_attr a = { ..., .done = &x->c, ... };

// Freed in the function that made the session.
@made exists@
identifier S;
expression x, E;
position p, q;
identifier create = { kdtl_session_create, kdtl_session_open };
@@
 x->S = create@p(...)
 ... when != true IS_ERR(x->S)
     when != PTR_ERR_OR_ZERO(x->S)
     when != kdtl_session_close(x->S)
     when != x = E
(
 kfree@q(x)
|
 kvfree@q(x)
|
 kfree_rcu@q(x, ...)
)

// Freed in another one, which closes it later, if at all.
@free_ exists@
identifier f, held.T;
struct T *x;
position q;
@@
 f(...)
 {
 	... when != kdtl_session_create(...)
 	    when != kdtl_session_open(...)
 	    when != kdtl_session_close(...)
 	    when != x = \(kmalloc\|kzalloc\|kcalloc\|kzalloc_obj\|kzalloc_node\|kvcalloc\|kvzalloc\)(...)
(
 	kfree@q(x)
|
 	kvfree@q(x)
|
 	kfree_rcu@q(x, ...)
)
 	... when any
 }

@free_init exists@
identifier f, held_init.T;
struct T *x;
position q;
@@
 f(...)
 {
 	... when != kdtl_session_create(...)
 	    when != kdtl_session_open(...)
 	    when != kdtl_session_close(...)
 	    when != x = \(kmalloc\|kzalloc\|kcalloc\|kzalloc_obj\|kzalloc_node\|kvcalloc\|kvzalloc\)(...)
(
 	kfree@q(x)
|
 	kvfree@q(x)
|
 	kfree_rcu@q(x, ...)
)
 	... when any
 }

// On the stack, which is gone when the function returns.
@stack exists@
declarer name DECLARE_COMPLETION_ONSTACK;
identifier c, a;
struct kdtl_session_attr at;
expression S;
position p, q;
identifier create = { kdtl_session_create, kdtl_session_open };
@@
(
 DECLARE_COMPLETION_ONSTACK(c);
|
 struct completion c;
)
 ... when any
(
 struct kdtl_session_attr a = { ..., .done = &c, ... };
|
 at.done = &c;
)
 ... when any
 S = create@p(...)
 ... when != true IS_ERR(S)
     when != kdtl_session_close(S)
 return@q ...;

@depends on context@
position made.q;
expression x;
@@
(
*kfree@q(x)
|
*kvfree@q(x)
|
*kfree_rcu@q(x, ...)
)

@depends on context@
position free_.q;
expression x;
@@
(
*kfree@q(x)
|
*kvfree@q(x)
|
*kfree_rcu@q(x, ...)
)

@depends on context@
position free_init.q;
expression x;
@@
(
*kfree@q(x)
|
*kvfree@q(x)
|
*kfree_rcu@q(x, ...)
)

@depends on context@
position stack.q;
@@
*return@q ...;

@script:python depends on org@
p << made.p;
q << made.q;
@@
cocci.print_main("session", p)
cocci.print_secs("its completion is freed", q)

@script:python depends on org@
q << free_.q;
@@
cocci.print_main("freed while a session may hold its completion", q)

@script:python depends on org@
q << free_init.q;
@@
cocci.print_main("freed while a session may hold its completion", q)

@script:python depends on org@
p << stack.p;
q << stack.q;
@@
cocci.print_main("session", p)
cocci.print_secs("its completion was on the stack", q)

@script:python depends on report@
p << made.p;
q << made.q;
@@
coccilib.report.print_report(q[0], "freed while the session of line %s holds its completion" % p[0].line)

@script:python depends on report@
q << free_.q;
@@
coccilib.report.print_report(q[0], "freed while a session may hold its completion: kdtl_session_close() first")

@script:python depends on report@
q << free_init.q;
@@
coccilib.report.print_report(q[0], "freed while a session may hold its completion: kdtl_session_close() first")

@script:python depends on report@
p << stack.p;
q << stack.q;
@@
coccilib.report.print_report(q[0], "the session of line %s holds a completion of this stack" % p[0].line)
