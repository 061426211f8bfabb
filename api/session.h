/* SPDX-License-Identifier: GPL-2.0 */
/* Sessions whose module goes. */
#ifndef _KDTL_API_SESSION_H
#define _KDTL_API_SESSION_H

int kdtl_modules_init(void);
void kdtl_modules_exit(void);

#endif /* _KDTL_API_SESSION_H */
