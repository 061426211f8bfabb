// SPDX-License-Identifier: GPL-2.0
/* Loads the kernel that runs after a panic, as kexec -s -p does: KERNEL INITRD CMDLINE */
#include <fcntl.h>
#include <linux/kexec.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int kernel = argc == 4 ? open(argv[1], O_RDONLY) : -1;
	const int initrd = argc == 4 ? open(argv[2], O_RDONLY) : -1;

	if (kernel < 0 || initrd < 0 ||
	    syscall(SYS_kexec_file_load, kernel, initrd, strlen(argv[3]) + 1, argv[3],
		    KEXEC_FILE_ON_CRASH)) {
		perror("kexec_panic");
		return 1;
	}
	return 0;
}
