// SPDX-License-Identifier: GPL-2.0
/*
 * Threads for tasks.sh
 *
 *	exec_fail N		makes N processes, each with a thread whose exec() fails after the
 *				old program is gone.  By then the thread has the pid of its group's
 *				leader, and dies with it
 *	exec_fail		is a process whose leader sleeps for ever, with a thread that sleeps
 *				for a millisecond again and again
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

static const char broken[] = "/tmp/exec_fail.broken";

/* Copies this program, but makes its segments larger in the file than in memory. */
static void make_broken(void)
{
	const int from = open("/proc/self/exe", O_RDONLY);
	const int to = open(broken, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	const ElfW(Ehdr) *elf;
	struct stat st;
	ElfW(Phdr) *p;
	char *text;

	must(from >= 0 && to >= 0 && !fstat(from, &st));
	text = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, from, 0);
	must(text != MAP_FAILED);
	elf = (void *)text;
	p = (void *)(text + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD)
			p[i].p_memsz = p[i].p_filesz - 1;
	}
	must(write(to, text, st.st_size) == st.st_size);
	must(!munmap(text, st.st_size) && !close(from) && !close(to));
}

static void *run_broken(void *unused)
{
	(void)unused;
	execl(broken, broken, NULL);
	_exit(1);
}

static void fail(void)
{
	const pid_t pid = fork();
	pthread_t thread;
	int status;

	must(pid >= 0);
	if (!pid) {
		must(!pthread_create(&thread, NULL, run_broken, NULL));
		for (;;)
			pause();
	}
	must(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

static void *come_and_go(void *unused)
{
	(void)unused;
	while (!usleep(1000))
		;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 1) {
		must(!pthread_create(&thread, NULL, come_and_go, NULL));
		for (;;)
			pause();
	}
	must(argc == 2);
	make_broken();
	for (int i = atoi(argv[1]); i; i--)
		fail();
	unlink(broken);
	return 0;
}
