/* SPDX-License-Identifier: GPL-2.0 */
/* The clocks of kdtl_root. */
#ifndef _KDTL_ROOT_H
#define _KDTL_ROOT_H

void kdtl_root_begin(void);
void kdtl_root_end(void);

#endif /* _KDTL_ROOT_H */
