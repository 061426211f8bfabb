// SPDX-License-Identifier: GPL-2.0
///
/// Move a client of perfmon2's kernel API (pfmk_*) to kdtl (kdtl_*).
///
/// What has no counterpart gets a comment "TODO kdtl:" in patch mode and a line
/// in report mode: Documentation/from-perfmon2.rst says what to do about it.
///
//	spatch -D report --no-includes --sp-file pfmk.cocci client.c
//	spatch -D patch --no-includes --smpl-spacing --in-place --sp-file pfmk.cocci client.c
//
// Confidence: Moderate
// Comments: a file's contexts are all for sampling, or none of them is
// Options: --no-includes --smpl-spacing

virtual patch
virtual report

@initialize:python@
@@
def todo(pos, what):
    coccilib.report.print_report(pos[0], "TODO kdtl: " + what)

// ------------------------------------------------- report: where a person is asked

@number depends on report@
struct pfarg_pmd x;
struct pfarg_pmd *p;
position pos;
@@
(
 x.reg_num@pos
|
 p->reg_num@pos
)

@number_init depends on report@
identifier y;
expression E;
position pos;
@@
(
 struct pfarg_pmd y = { ..., .reg_num = E@pos, ... };
|
 struct pfarg_pmd y[...] = { ..., { ..., .reg_num = E@pos, ... }, ... };
)

@script:python@
pos << number.pos;
@@
todo(pos, "a PMD's number is no counter: choose from enum kdtl_counter")

@script:python@
pos << number_init.pos;
@@
todo(pos, "a PMD's number is no counter: choose from enum kdtl_counter")

@event depends on report@
struct pfarg_pmc x;
struct pfarg_pmc *p;
position pos;
@@
(
 x.reg_value@pos
|
 p->reg_value@pos
)

@event_init depends on report@
identifier y;
expression E;
position pos;
@@
(
 struct pfarg_pmc y = { ..., .reg_value = E@pos, ... };
|
 struct pfarg_pmc y[...] = { ..., { ..., .reg_value = E@pos, ... }, ... };
)

@script:python@
pos << event.pos;
@@
todo(pos, "a PMC's value is no mask: choose from KDTL_MASK_*")

@script:python@
pos << event_init.pos;
@@
todo(pos, "a PMC's value is no mask: choose from KDTL_MASK_*")

@rename depends on report@
expression x;
identifier f =~ "^(reg_last_reset_val|reg_ovfl_switch_cnt|reg_reset_pmds|reg_smpl_(pmds|eventid)|set_id_next|set_(ovfl_pmds|act_duration|avail_pm[cd]s)|msg_ovfl_(pmds|pid|tid|ip))$";
position pos;
@@
(
 x.f@pos
|
 x->f@pos
)

@script:python@
pos << rename.pos;
f << rename.f;
@@
todo(pos, f + " is another thing, or nothing, in kdtl")

@flag depends on report@
identifier f =~ "^(PFM_FL_OVFL_NO_MSG|PFM_FL_MAP_SETS|PFM_REGFL_NO_EMUL64|PFM_REG_RETFL_.*|PFM_SETFL_(OVFL_SWITCH|EXPL_NEXT|EXCL_IDLE))$";
position pos;
@@
 f@pos

@script:python@
pos << flag.pos;
f << flag.f;
@@
todo(pos, f + " is another thing, or nothing, in kdtl")

@first depends on report@
expression x;
identifier f =~ "^(load|start)_set$";
expression E != 0;
position pos;
@@
(
 x.f = E@pos
|
 x->f = E@pos
)

@script:python@
pos << first.pos;
@@
todo(pos, "the set with the lowest id is always the first")

@loads depends on report@
position pos;
@@
 pfmk_load_context@pos(...)

@script:python@
pos << loads.pos;
@@
todo(pos, "one session can log all CPUs: kdtl_load(s, NULL)")

// ------------------------------------------------------------------- what it is

// Sampling or counting? Here an overflow means that the buffer is full, there
// it masks the context until the restart.
@sampling depends on patch@
expression C, A, N, D, H, B != NULL;
@@
 pfmk_create_context(C, A, N, D, H, B)

// The session's handle and its buffer are neighbours in a structure, or both
// are plain variables: who has the one finds the other.
@pair depends on sampling@
expression C, A, N, D, X;
identifier H, B;
@@
 pfmk_create_context(C, A, N, D, &X->H, &X->B)

@pair_var depends on sampling@
expression C, A, N, D;
identifier H, B;
@@
 pfmk_create_context(C, A, N, D, &H, &B)

// ------------------------------------------------------- the handle gets a type

@member depends on patch@
identifier S, H;
struct S *p;
struct S x;
expression C, A, N, D, B;
identifier call =~ "^pfmk_";
@@
(
 call(p->H, ...)
|
 call(x.H, ...)
|
 pfmk_create_context(C, A, N, D, &p->H, B)
|
 pfmk_create_context(C, A, N, D, &x.H, B)
)

@@
identifier member.S, member.H;
@@
 struct S {
 	...
-	void *H;
+	struct kdtl_session *H;
 	...
 };

// Not anymore: the buffer is the session's, kdtl_aux_peek() shows it.
@@
identifier member.S, pair.B;
@@
 struct S {
 	...
-	void *B;
 	...
 };

@variable depends on patch@
identifier H;
expression C, A, N, D, B;
identifier call =~ "^pfmk_";
@@
(
 call(H, ...)
|
 pfmk_create_context(C, A, N, D, &H, B)
)

@@
identifier variable.H;
@@
(
-static void *H;
+static struct kdtl_session *H;
|
-static void *H = NULL;
+static struct kdtl_session *H;
|
-void *H;
+struct kdtl_session *H;
|
-void *H = NULL;
+struct kdtl_session *H = NULL;
)

@@
identifier pair_var.B;
@@
(
-static void *B;
|
-static void *B = NULL;
|
-void *B;
|
-void *B = NULL;
)

@depends on patch@
identifier fn, H;
identifier call =~ "^pfmk_";
@@
 fn(...,
-	void *H
+	struct kdtl_session *H
 	, ...)
 {
 	<+... call(H, ...) ...+>
 }

@depends on patch@
identifier fn, H;
expression C, A, N, D, B;
@@
 fn(...,
-	void **H
+	struct kdtl_session **H
 	, ...)
 {
 	<+... pfmk_create_context(C, A, N, D, H, B) ...+>
 }

// ------------------------------------------- create: one shape first, then kdtl's

@depends on patch@
expression R;
expression list A;
statement S;
@@
-if ((R = pfmk_create_context(A)))
+R = pfmk_create_context(A);
+if (R)
 	S

@depends on patch@
expression R;
expression list A;
statement S;
@@
(
-if ((R = pfmk_create_context(A)) != 0)
+R = pfmk_create_context(A);
+if (R)
 	S
|
-if ((R = pfmk_create_context(A)) < 0)
+R = pfmk_create_context(A);
+if (R)
 	S
)

// The buffer's size becomes the areas'.
@depends on sampling@
identifier arg;
expression SIZE, C, H, R, D, B, N;
@@
 struct pfm_dfl_smpl_arg arg;
 ...
-arg.buf_size = SIZE;
 ... when any
(
+/* TODO kdtl: the size is that of each CPU's area */
+C.aux_pages = roundup_pow_of_two(DIV_ROUND_UP(SIZE, PAGE_SIZE));
+C.msg_pages = 1;
+C.done = D;
-R = pfmk_create_context(&C, &arg, N, D, H, B);
+R = pfmk_create_context(&C, NULL, 0, D, H, NULL);
|
+/* TODO kdtl: the size is that of each CPU's area */
+C.aux_pages = roundup_pow_of_two(DIV_ROUND_UP(SIZE, PAGE_SIZE));
+C.msg_pages = 1;
+C.done = D;
-return pfmk_create_context(&C, &arg, N, D, H, B);
+return pfmk_create_context(&C, NULL, 0, D, H, NULL);
|
+/* TODO kdtl: the size is that of each CPU's area */
+C->aux_pages = roundup_pow_of_two(DIV_ROUND_UP(SIZE, PAGE_SIZE));
+C->msg_pages = 1;
+C->done = D;
-R = pfmk_create_context(C, &arg, N, D, H, B);
+R = pfmk_create_context(C, NULL, 0, D, H, NULL);
|
+/* TODO kdtl: the size is that of each CPU's area */
+C->aux_pages = roundup_pow_of_two(DIV_ROUND_UP(SIZE, PAGE_SIZE));
+C->msg_pages = 1;
+C->done = D;
-return pfmk_create_context(C, &arg, N, D, H, B);
+return pfmk_create_context(C, NULL, 0, D, H, NULL);
)

@depends on sampling@
expression R, C, A, N, D, H, B != NULL;
@@
(
+/* TODO kdtl: pages of each CPU's area, a power of two */
+C.aux_pages = 64;
+C.msg_pages = 1;
+C.done = D;
 R = pfmk_create_context(&C, A, N, D, H, B);
|
+/* TODO kdtl: pages of each CPU's area, a power of two */
+C.aux_pages = 64;
+C.msg_pages = 1;
+C.done = D;
 return pfmk_create_context(&C, A, N, D, H, B);
|
+/* TODO kdtl: pages of each CPU's area, a power of two */
+C->aux_pages = 64;
+C->msg_pages = 1;
+C->done = D;
 R = pfmk_create_context(C, A, N, D, H, B);
|
+/* TODO kdtl: pages of each CPU's area, a power of two */
+C->aux_pages = 64;
+C->msg_pages = 1;
+C->done = D;
 return pfmk_create_context(C, A, N, D, H, B);
)

// Nobody reads what is logged: the smallest area, over and over.
@depends on patch && !sampling@
expression R, C, D, H;
@@
(
+C.aux_pages = 1;
+C.msg_pages = 1;
+C.done = D;
 R = pfmk_create_context(&C, NULL, 0, D, H, NULL);
|
+C.aux_pages = 1;
+C.msg_pages = 1;
+C.done = D;
 return pfmk_create_context(&C, NULL, 0, D, H, NULL);
|
+C->aux_pages = 1;
+C->msg_pages = 1;
+C->done = D;
 R = pfmk_create_context(C, NULL, 0, D, H, NULL);
|
+C->aux_pages = 1;
+C->msg_pages = 1;
+C->done = D;
 return pfmk_create_context(C, NULL, 0, D, H, NULL);
)

@depends on patch@
expression R, C, A, N, D, H, B;
@@
(
-R = pfmk_create_context(C, A, N, D, &H, B);
+H = kdtl_session_create(C);
+R = PTR_ERR_OR_ZERO(H);
|
-return pfmk_create_context(C, A, N, D, &H, B);
+H = kdtl_session_create(C);
+return PTR_ERR_OR_ZERO(H);
|
-R = pfmk_create_context(C, A, N, D, H, B);
+ *H = kdtl_session_create(C);
+R = PTR_ERR_OR_ZERO(*H);
|
-return pfmk_create_context(C, A, N, D, H, B);
+ *H = kdtl_session_create(C);
+return PTR_ERR_OR_ZERO(*H);
)

@depends on sampling@
identifier arg;
@@
-struct pfm_dfl_smpl_arg arg;
 ... when != arg
(
-memset(&arg, 0, ...);
 ... when != arg
|
)

// All sessions are system-wide. A counting context is masked by an overflow.
@depends on sampling@
identifier x;
type T;
@@
 T x = { ...,
-.ctx_flags = PFM_FL_SYSTEM_WIDE,
 ... };

@depends on sampling@
struct pfarg_ctx x;
struct pfarg_ctx *p;
@@
(
-x.ctx_flags = PFM_FL_SYSTEM_WIDE;
|
-p->ctx_flags = PFM_FL_SYSTEM_WIDE;
)

@depends on patch@
@@
(
-PFM_FL_SYSTEM_WIDE | PFM_FL_OVFL_NO_MSG
+PFM_FL_SYSTEM_WIDE /* TODO kdtl: no messages is .msg_pages = 0 */
|
-PFM_FL_SYSTEM_WIDE | PFM_FL_MAP_SETS
+PFM_FL_SYSTEM_WIDE
)

@depends on patch && !sampling@
@@
-PFM_FL_SYSTEM_WIDE
+KDTL_SESSION_OVERWRITE | KDTL_SESSION_PAUSE

@depends on sampling@
@@
-PFM_FL_SYSTEM_WIDE
+0

@depends on patch@
identifier x;
type T;
expression E;
@@
 T x = { ...,
-.ctx_smpl_buf_id = E,
 ... };

@depends on patch@
struct pfarg_ctx x;
struct pfarg_ctx *p;
expression E;
@@
(
-x.ctx_smpl_buf_id = E;
|
-p->ctx_smpl_buf_id = E;
|
-memcpy(x.ctx_smpl_buf_id, ...);
|
-memcpy(p->ctx_smpl_buf_id, ...);
)

@depends on patch@
identifier x;
type T;
expression E;
@@
 T x = { ...,
-.ctx_flags = E
+.flags = E
 , ... };

@depends on patch@
struct pfarg_ctx x;
struct pfarg_ctx *p;
@@
(
-x.ctx_flags
+x.flags
|
-p->ctx_flags
+p->flags
)

@depends on patch@
@@
-struct pfarg_ctx
+struct kdtl_session_attr

// ------------------------------------------------- load, start: no arguments left

// On the calling CPU only, as perfmon2's.
@depends on patch@
expression H, A;
@@
-pfmk_load_context(H, A)
+kdtl_load(H, cpumask_of(raw_smp_processor_id()))

@depends on patch@
expression H, A;
@@
-pfmk_start(H, A)
+kdtl_start(H)

@depends on patch@
struct pfarg_load l;
struct pfarg_start s;
expression E;
@@
(
-l.load_pid = E;
|
-l.load_set = 0;
|
-s.start_set = 0;
|
-memset(&l, 0, ...);
|
-memset(&s, 0, ...);
)

@depends on patch@
identifier x;
@@
(
-struct pfarg_load x;
|
-struct pfarg_load x = { ... };
|
-struct pfarg_start x;
|
-struct pfarg_start x = { ... };
)

// ---------------------------------------------------- the verbs that only change name

@depends on patch@
expression H, A, N;
@@
(
-pfmk_stop(H)
+kdtl_stop(H)
|
-pfmk_unload_context(H)
+kdtl_unload(H)
|
-pfmk_write_pmcs(H, A, N)
+kdtl_write_config(H, A, N)
|
-pfmk_write_pmds(H, A, N)
+kdtl_write_counters(H, A, N)
|
-pfmk_read_pmds(H, A, N)
+kdtl_read_counters(H, A, N)
|
-pfmk_create_evtsets(H, A, N)
+kdtl_create_evtsets(H, A, N)
|
-pfmk_getinfo_evtsets(H, A, N)
+kdtl_getinfo_evtsets(H, A, N)
)

// What was read has been given back already: logging never stopped for it.
@depends on sampling@
expression H;
@@
-pfmk_restart(H);

@depends on sampling@
expression H;
@@
-pfmk_restart(H)
+0

@depends on patch@
expression H;
@@
-pfmk_restart(H)
+kdtl_restart(H)

// ------------------------------------------------------------- close cannot fail

@depends on patch@
expression H, R;
statement S1, S2;
@@
(
-return pfmk_close(H);
+kdtl_session_close(H);
+return 0;
|
-R = pfmk_close(H);
+kdtl_session_close(H);
+R = 0;
|
-if (pfmk_close(H)) S1 else S2
+kdtl_session_close(H);
+S2
|
-if (pfmk_close(H)) S1
+kdtl_session_close(H);
|
-pfmk_close(H);
+kdtl_session_close(H);
)

// --------------------------------------------------------------- PMCs: the config

@depends on patch@
struct pfarg_pmc x;
struct pfarg_pmc *p;
expression E;
@@
(
-x.reg_num = E;
|
-p->reg_num = E;
|
-x.reg_value = E;
+/* TODO kdtl: which dispatches? KDTL_MASK_* */
+x.mask = KDTL_MASK_ALL;
|
-p->reg_value = E;
+/* TODO kdtl: which dispatches? KDTL_MASK_* */
+p->mask = KDTL_MASK_ALL;
)

@depends on patch@
struct pfarg_pmc x;
struct pfarg_pmc *p;
@@
(
-x.reg_set
+x.set
|
-p->reg_set
+p->set
|
-PFM_REG_HAS_ERROR(x.reg_flags)
+x.error
|
-PFM_REG_HAS_ERROR(p->reg_flags)
+p->error
)

@depends on patch@
identifier x;
expression E;
@@
(
 struct pfarg_pmc x = { ...,
-.reg_num = E,
 ... };
|
 struct pfarg_pmc x[...] = { ..., { ...,
-.reg_num = E,
 ... }, ... };
)

@depends on patch@
identifier x;
expression E;
@@
(
 struct pfarg_pmc x = { ...,
-.reg_set = E
+.set = E
 , ... };
|
 struct pfarg_pmc x[...] = { ..., { ...,
-.reg_set = E
+.set = E
 , ... }, ... };
)

@depends on patch@
identifier x;
expression E;
@@
(
 struct pfarg_pmc x = { ...,
-.reg_value = E
+/* TODO kdtl: which? */
+.mask = KDTL_MASK_ALL
 , ... };
|
 struct pfarg_pmc x[...] = { ..., { ...,
-.reg_value = E
+/* TODO kdtl: which? */
+.mask = KDTL_MASK_ALL
 , ... }, ... };
)

@depends on patch@
@@
-struct pfarg_pmc
+struct kdtl_config

// ------------------------------------------------------------- PMDs: the counters

// An entry has what an entry has.
@depends on patch@
struct pfarg_pmd x;
struct pfarg_pmd *p;
expression E, I;
@@
(
-x.reg_smpl_pmds[I] = E;
|
-p->reg_smpl_pmds[I] = E;
|
-x.reg_smpl_eventid = E;
|
-p->reg_smpl_eventid = E;
)

@depends on patch@
struct pfarg_pmd x;
struct pfarg_pmd *p;
expression E;
@@
(
-x.reg_num = E;
+/* TODO kdtl: which counter? enum kdtl_counter */
+x.counter = E;
+x.cpu = -1;
|
-p->reg_num = E;
+/* TODO kdtl: which counter? enum kdtl_counter */
+p->counter = E;
+p->cpu = -1;
|
-x.reg_random_seed = E;
|
-p->reg_random_seed = E;
|
-x.reg_reset_pmds[0] = E;
+/* TODO kdtl: which counters? 1 << counter */
+x.resets = E;
|
-p->reg_reset_pmds[0] = E;
+/* TODO kdtl: which counters? 1 << counter */
+p->resets = E;
)

@depends on patch@
struct pfarg_pmd x;
struct pfarg_pmd *p;
@@
(
-PFM_REG_HAS_ERROR(x.reg_flags)
+x.error
|
-PFM_REG_HAS_ERROR(p->reg_flags)
+p->error
|
-x.reg_num
+x.counter
|
-p->reg_num
+p->counter
)

@depends on patch@
identifier x;
expression E;
@@
(
 struct pfarg_pmd x = { ...,
-.reg_num = E
+/* TODO kdtl: which? */
+.counter = E, .cpu = -1
 , ... };
|
 struct pfarg_pmd x[...] = { ..., { ...,
-.reg_num = E
+/* TODO kdtl: which? */
+.counter = E, .cpu = -1
 , ... }, ... };
)

// The others have kept their names, but for the prefix.
@kept depends on patch@
struct pfarg_pmd x;
struct pfarg_pmd *p;
identifier f = { reg_set, reg_flags, reg_value, reg_long_reset, reg_short_reset, reg_random_mask };
@@
(
 x.f
|
 p->f
)

@script:python kept_name@
f << kept.f;
g;
@@
coccinelle.g = f[len("reg_"):]

@@
struct pfarg_pmd x;
struct pfarg_pmd *p;
identifier kept.f;
identifier kept_name.g;
@@
(
-x.f
+x.g
|
-p->f
+p->g
)

@kept_init depends on patch@
identifier x;
identifier f = { reg_set, reg_flags, reg_value, reg_long_reset, reg_short_reset, reg_random_mask };
expression E;
@@
(
 struct pfarg_pmd x = { ..., .f = E, ... };
|
 struct pfarg_pmd x[...] = { ..., { ..., .f = E, ... }, ... };
)

@script:python kept_init_name@
f << kept_init.f;
g;
@@
coccinelle.g = f[len("reg_"):]

@@
identifier x, kept_init.f, kept_init_name.g;
expression E;
@@
(
 struct pfarg_pmd x = { ...,
-.f = E
+.g = E
 , ... };
|
 struct pfarg_pmd x[...] = { ..., { ...,
-.f = E
+.g = E
 , ... }, ... };
)

@depends on patch@
identifier x, f =~ "^reg_(random_seed|smpl_eventid)$";
expression E;
@@
(
 struct pfarg_pmd x = { ...,
-.f = E,
 ... };
|
 struct pfarg_pmd x[...] = { ..., { ...,
-.f = E,
 ... }, ... };
)

@depends on patch@
@@
(
-PFM_REGFL_OVFL_NOTIFY
+KDTL_COUNTER_NOTIFY
|
-PFM_REGFL_RANDOM
+KDTL_COUNTER_RANDOM
)

@depends on patch@
@@
-struct pfarg_pmd
+struct kdtl_counter_req

// ------------------------------------------------------------------- event sets

@depends on patch@
typedef u32, u64;
struct pfarg_setdesc x;
struct pfarg_setdesc *p;
expression E;
@@
(
-x.set_flags = PFM_SETFL_OVFL_SWITCH;
+/* TODO kdtl: after how many overflows? */
+x.overflows = 1;
|
-p->set_flags = PFM_SETFL_OVFL_SWITCH;
+/* TODO kdtl: after how many overflows? */
+p->overflows = 1;
|
-x.set_flags = PFM_SETFL_TIME_SWITCH;
|
-p->set_flags = PFM_SETFL_TIME_SWITCH;
|
-x.set_timeout = E;
+x.timeout = (u64)(E) * NSEC_PER_USEC;
|
-p->set_timeout = E;
+p->timeout = (u64)(E) * NSEC_PER_USEC;
)

@depends on patch@
struct pfarg_setdesc x;
struct pfarg_setdesc *p;
@@
(
-x.set_id
+x.id
|
-p->set_id
+p->id
|
-PFM_REG_HAS_ERROR(x.set_flags)
+x.error
|
-PFM_REG_HAS_ERROR(p->set_flags)
+p->error
|
-x.set_timeout
+(u32)div_u64(x.timeout, NSEC_PER_USEC)
|
-p->set_timeout
+(u32)div_u64(p->timeout, NSEC_PER_USEC)
)

@depends on patch@
identifier x;
expression E;
@@
(
 struct pfarg_setdesc x = { ...,
-.set_id = E
+.id = E
 , ... };
|
 struct pfarg_setdesc x[...] = { ..., { ...,
-.set_id = E
+.id = E
 , ... }, ... };
)

@depends on patch@
identifier x;
expression E;
@@
(
 struct pfarg_setdesc x = { ...,
-.set_timeout = E
+.timeout = (u64)(E) * NSEC_PER_USEC
 , ... };
|
 struct pfarg_setdesc x[...] = { ..., { ...,
-.set_timeout = E
+.timeout = (u64)(E) * NSEC_PER_USEC
 , ... }, ... };
)

@depends on patch@
identifier x;
@@
(
 struct pfarg_setdesc x = { ...,
-.set_flags = PFM_SETFL_TIME_SWITCH,
 ... };
|
 struct pfarg_setdesc x[...] = { ..., { ...,
-.set_flags = PFM_SETFL_TIME_SWITCH,
 ... }, ... };
)

@depends on patch@
identifier x;
expression E;
@@
(
 struct pfarg_setdesc x = { ...,
-.set_flags = E
+/* TODO kdtl: how many? */
+.overflows = 1
 , ... };
|
 struct pfarg_setdesc x[...] = { ..., { ...,
-.set_flags = E
+/* TODO kdtl: how many? */
+.overflows = 1
 , ... }, ... };
)

@depends on patch@
@@
-struct pfarg_setdesc
+struct kdtl_evtset

// perfmon2 deletes by what getinfo fills in, kdtl by what create takes.
@depends on patch@
identifier x;
expression H, L, N;
@@
(
-struct pfarg_setinfo x;
+struct kdtl_evtset x;
|
-struct pfarg_setinfo x[L];
+struct kdtl_evtset x[L];
)
 <+...
(
-pfmk_delete_evtsets(H, &x, N)
+kdtl_delete_evtsets(H, &x, N)
|
-pfmk_delete_evtsets(H, x, N)
+kdtl_delete_evtsets(H, x, N)
)
 ...+>

@depends on patch@
struct pfarg_setdesc *p;
expression H, N;
@@
-pfmk_delete_evtsets(H, p, N)
+kdtl_delete_evtsets(H, p, N)

@depends on patch@
struct kdtl_evtset x;
struct kdtl_evtset *p;
@@
(
-x.set_id
+x.id
|
-p->set_id
+p->id
)

@depends on patch@
struct pfarg_setinfo x;
struct pfarg_setinfo *p;
expression E;
@@
(
-x.set_id = E;
+x.id = E;
+x.cpu = -1;
|
-p->set_id = E;
+p->id = E;
+p->cpu = -1;
)

@depends on patch@
struct pfarg_setinfo x;
struct pfarg_setinfo *p;
@@
(
-x.set_id
+x.id
|
-p->set_id
+p->id
|
-x.set_runs
+x.runs
|
-p->set_runs
+p->runs
|
-x.set_timeout
+(u32)div_u64(x.remaining, NSEC_PER_USEC)
|
-p->set_timeout
+(u32)div_u64(p->remaining, NSEC_PER_USEC)
|
-x.set_act_duration
+x.active /* TODO kdtl: ns, not cycles */
|
-p->set_act_duration
+p->active /* TODO kdtl: ns, not cycles */
|
-x.set_ovfl_pmds[0]
+x.overflowed /* TODO kdtl: 1 << counter */
|
-p->set_ovfl_pmds[0]
+p->overflowed /* TODO kdtl: 1 << counter */
|
-PFM_REG_HAS_ERROR(x.set_flags)
+x.error
|
-PFM_REG_HAS_ERROR(p->set_flags)
+p->error
)

@depends on patch@
@@
-struct pfarg_setinfo
+struct kdtl_evtset_info

// --------------------------------------------------------------------- messages

@depends on patch@
expression H, M, N;
@@
(
-pfmk_read(H, M, N, 0)
+kdtl_read(H, M, N, false)
|
-pfmk_read(H, M, N, 1)
+kdtl_read(H, M, N, true)
|
-pfmk_read
+kdtl_read
 	(...)
)

@depends on patch@
union pfm_msg x;
union pfm_msg *p;
@@
(
-x.pfm_ovfl_msg.msg_ovfl_pmds[0]
+x.overflow.counters
|
-p->pfm_ovfl_msg.msg_ovfl_pmds[0]
+p->overflow.counters
|
-x.pfm_ovfl_msg.msg_active_set
+x.set
|
-p->pfm_ovfl_msg.msg_active_set
+p->set
|
-x.pfm_ovfl_msg.msg_ovfl_cpu
+x.cpu
|
-p->pfm_ovfl_msg.msg_ovfl_cpu
+p->cpu
|
-x.pfm_ovfl_msg.msg_type
+x.type
|
-p->pfm_ovfl_msg.msg_type
+p->type
)

// The buffer was full: now there is enough to read.
@depends on sampling@
@@
-PFM_MSG_OVFL
+KDTL_MSG_AUX

@depends on patch@
@@
(
-PFM_MSG_OVFL
+KDTL_MSG_OVERFLOW
|
-PFM_MSG_END
+KDTL_MSG_END
)

@depends on patch@
@@
-union pfm_msg
+struct kdtl_msg

// ----------------------------------------------------- the buffer, read in place

@depends on sampling@
struct pfm_dfl_smpl_entry *e;
@@
(
-e->cpu
+kdtl_entry_cpu(e)
|
-e->pid
+kdtl_entry_pid(e)
|
-e->tstamp
+kdtl_entry_time(e)
)

@depends on sampling@
struct pfm_dfl_smpl_hdr *hdr;
struct pfm_dfl_smpl_entry *e;
expression I, N;
@@
 for (I = 0; I < hdr->hdr_count; I++) {
 	...
(
-	e++;
|
-	e = N;
)
 }

@walk depends on sampling exists@
iterator name for_each_possible_cpu, kdtl_for_each_entry;
identifier hdr, e, i;
identifier pair.B;
expression X, FIRST;
statement S;
fresh identifier cpu = e ## "_cpu", len = e ## "_len", span = e ## "_span";
@@
-struct pfm_dfl_smpl_hdr *hdr = X->B;
+const void *span;
+ssize_t len;
+int cpu;
 ...
(
-struct pfm_dfl_smpl_entry *e = FIRST;
+const struct kdtl_entry *e;
|
-struct pfm_dfl_smpl_entry *e;
+const struct kdtl_entry *e;
)
 ...
-for (i = 0; i < hdr->hdr_count; i++)
+kdtl_for_each_entry(e, span, len)
 	S

@@
identifier walk.e, walk.hdr;
type T;
@@
-e = (T)(hdr + 1);

@@
identifier walk.i;
type T;
@@
-T i;
 ... when != i

@@
expression walk.X;
identifier pair.H;
identifier walk.e, walk.cpu, walk.len, walk.span;
statement S;
@@
+for_each_possible_cpu(cpu) {
+	len = kdtl_aux_peek(X->H, cpu, &span);
+	if (len <= 0)
+		continue;
 kdtl_for_each_entry(e, span, len)
 	S
+	kdtl_aux_consume(X->H, cpu, len);
+}

@walk_var depends on sampling exists@
iterator name for_each_possible_cpu, kdtl_for_each_entry;
identifier hdr, e, i;
identifier pair_var.B;
expression FIRST;
statement S;
fresh identifier cpu = e ## "_cpu", len = e ## "_len", span = e ## "_span";
@@
-struct pfm_dfl_smpl_hdr *hdr = B;
+const void *span;
+ssize_t len;
+int cpu;
 ...
(
-struct pfm_dfl_smpl_entry *e = FIRST;
+const struct kdtl_entry *e;
|
-struct pfm_dfl_smpl_entry *e;
+const struct kdtl_entry *e;
)
 ...
-for (i = 0; i < hdr->hdr_count; i++)
+kdtl_for_each_entry(e, span, len)
 	S

@@
identifier walk_var.e, walk_var.hdr;
type T;
@@
-e = (T)(hdr + 1);

@@
identifier walk_var.i;
type T;
@@
-T i;
 ... when != i

@@
identifier pair_var.H;
identifier walk_var.e, walk_var.cpu, walk_var.len, walk_var.span;
statement S;
@@
+for_each_possible_cpu(cpu) {
+	len = kdtl_aux_peek(H, cpu, &span);
+	if (len <= 0)
+		continue;
 kdtl_for_each_entry(e, span, len)
 	S
+	kdtl_aux_consume(H, cpu, len);
+}

// -------------------------------------------------------------------- the module

@header depends on patch@
@@
-#include <linux/perfmon.h>
+#include <linux/kdtl.h>

@depends on patch@
@@
-#include <linux/perfmon_dfl_smpl.h>
+#include <linux/log2.h>

@depends on header@
declarer name MODULE_LICENSE, MODULE_IMPORT_NS;
expression E;
@@
 MODULE_LICENSE(E);
+MODULE_IMPORT_NS(KDTL_NS);
