/* SPDX-License-Identifier: GPL-2.0 */
/* Probes of tracepoints that are not exported, and so are found by name. */
#ifndef _KDTL_PROBES_H
#define _KDTL_PROBES_H

struct tracepoint;

/**
 * struct kdtl_probe - a probe of a tracepoint
 * @name: of the tracepoint
 * @probe: the function
 * @tp: the tracepoint; NULL until kdtl_probes_register()
 */
struct kdtl_probe {
	const char		*name;
	void			*probe;
	struct tracepoint	*tp;
};

int kdtl_probes_register(struct kdtl_probe *probes, unsigned int nr);
void kdtl_probes_unregister(struct kdtl_probe *probes, unsigned int nr);

#endif /* _KDTL_PROBES_H */
