// SPDX-License-Identifier: GPL-2.0
/* kdtl_slow_console - a console that takes 5 ms for a line, as a serial one does */

#include <linux/console.h>
#include <linux/delay.h>
#include <linux/module.h>

#define SLOW_MS	5

static void slow_write(struct console *console, const char *text, unsigned int len)
{
	mdelay(SLOW_MS);
}

static struct console slow = {
	.name	= "kdtl_slow",
	.write	= slow_write,
	.flags	= CON_ENABLED,
	.index	= -1,
};

static int __init slow_init(void)
{
	register_console(&slow);
	return 0;
}

static void __exit slow_exit(void)
{
	unregister_console(&slow);
}

module_init(slow_init);
module_exit(slow_exit);

MODULE_DESCRIPTION("a console that is as slow as a serial line");
MODULE_LICENSE("GPL");
