/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of the system calls in which tasks sleep, with the numbers of the header that was included
 * before this one: each machine has its own, or the generic ones
 */
#ifndef KDTL_TOOL_SYSCALLS_H
#define KDTL_TOOL_SYSCALLS_H

#define NAME(call)	{ __NR_##call, #call }

static const struct {
	unsigned int	nr;
	const char	*name;
} names[] = {
	NAME(read), NAME(write), NAME(readv), NAME(writev), NAME(pread64), NAME(pwrite64),
	NAME(preadv), NAME(pwritev), NAME(preadv2), NAME(pwritev2), NAME(openat), NAME(close),
	NAME(fsync), NAME(fdatasync), NAME(sync), NAME(syncfs), NAME(ftruncate),
	NAME(fallocate), NAME(unlinkat), NAME(mkdirat), NAME(getdents64), NAME(flock),
	NAME(ioctl), NAME(splice), NAME(vmsplice), NAME(tee), NAME(copy_file_range),
	NAME(epoll_pwait), NAME(nanosleep), NAME(wait4), NAME(waitid), NAME(exit),
	NAME(exit_group), NAME(execve), NAME(clone), NAME(accept4), NAME(connect), NAME(sendto),
	NAME(recvfrom), NAME(sendmsg), NAME(recvmsg), NAME(sendmmsg), NAME(rt_sigsuspend),
	NAME(io_submit), NAME(io_uring_enter), NAME(munmap), NAME(mprotect), NAME(madvise),
	NAME(mlock), NAME(brk), NAME(sched_yield), NAME(ptrace), NAME(prctl), NAME(mount),
	NAME(restart_syscall), NAME(membarrier), NAME(bpf), NAME(perf_event_open),
	/* Some machines lack these. */
#ifdef __NR_accept
	NAME(accept),
#endif
#ifdef __NR_clock_nanosleep
	NAME(clock_nanosleep),
#endif
#ifdef __NR_clock_nanosleep_time64
	NAME(clock_nanosleep_time64),
#endif
#ifdef __NR_clone3
	NAME(clone3),
#endif
#ifdef __NR_epoll_pwait2
	NAME(epoll_pwait2),
#endif
#ifdef __NR_epoll_wait
	NAME(epoll_wait),
#endif
#ifdef __NR_fcntl
	NAME(fcntl),
#endif
#ifdef __NR_fcntl64
	NAME(fcntl64),
#endif
#ifdef __NR_fork
	NAME(fork),
#endif
#ifdef __NR_futex
	NAME(futex),
#endif
#ifdef __NR_futex_time64
	NAME(futex_time64),
#endif
#ifdef __NR_futex_waitv
	NAME(futex_waitv),
#endif
#ifdef __NR_io_getevents
	NAME(io_getevents),
#endif
#ifdef __NR_ipc
	NAME(ipc),
#endif
#ifdef __NR_mkdir
	NAME(mkdir),
#endif
#ifdef __NR_mmap
	NAME(mmap),
#endif
#ifdef __NR_mmap2
	NAME(mmap2),
#endif
#ifdef __NR_mq_timedreceive
	NAME(mq_timedreceive),
#endif
#ifdef __NR_mq_timedsend
	NAME(mq_timedsend),
#endif
#ifdef __NR_msgrcv
	NAME(msgrcv),
#endif
#ifdef __NR_msgsnd
	NAME(msgsnd),
#endif
#ifdef __NR__newselect
	NAME(_newselect),
#endif
#ifdef __NR_open
	NAME(open),
#endif
#ifdef __NR_pause
	NAME(pause),
#endif
#ifdef __NR_poll
	NAME(poll),
#endif
#ifdef __NR_ppoll
	NAME(ppoll),
#endif
#ifdef __NR_ppoll_time64
	NAME(ppoll_time64),
#endif
#ifdef __NR_pselect6
	NAME(pselect6),
#endif
#ifdef __NR_pselect6_time64
	NAME(pselect6_time64),
#endif
#ifdef __NR_recvmmsg
	NAME(recvmmsg),
#endif
#ifdef __NR_recvmmsg_time64
	NAME(recvmmsg_time64),
#endif
#ifdef __NR_rename
	NAME(rename),
#endif
#ifdef __NR_renameat2
	NAME(renameat2),
#endif
#ifdef __NR_rt_sigtimedwait
	NAME(rt_sigtimedwait),
#endif
#ifdef __NR_select
	NAME(select),
#endif
#ifdef __NR_semop
	NAME(semop),
#endif
#ifdef __NR_semtimedop
	NAME(semtimedop),
#endif
#ifdef __NR_sendfile
	NAME(sendfile),
#endif
#ifdef __NR_socketcall
	NAME(socketcall),
#endif
#ifdef __NR_sync_file_range
	NAME(sync_file_range),
#endif
#ifdef __NR_sync_file_range2
	NAME(sync_file_range2),
#endif
#ifdef __NR_unlink
	NAME(unlink),
#endif
#ifdef __NR_vfork
	NAME(vfork),
#endif
};

/* Returns NULL if the system call is not one of these. */
static inline const char *name_of_syscall(unsigned int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].nr == nr)
			return names[i].name;
	}
	return NULL;
}

#endif /* KDTL_TOOL_SYSCALLS_H */
