/* SPDX-License-Identifier: GPL-2.0 */
/* The list of sessions, in debugfs. */
#ifndef _KDTL_DEBUGFS_H
#define _KDTL_DEBUGFS_H

void kdtl_debugfs_init(void);
void kdtl_debugfs_exit(void);

#endif /* _KDTL_DEBUGFS_H */
