// SPDX-License-Identifier: GPL-2.0
/*
 * scx_fifo COMMAND... - run COMMAND while a sched_ext scheduler schedules all tasks
 *
 * The scheduler has a name and no BPF program: by the kernel's defaults it is one queue
 * for all CPUs, first in, first out.  This needs no libbpf, only the type of the
 * scheduler from the kernel's BTF.  Exits as COMMAND did, or with 4 if the kernel has
 * no sched_ext.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

static const char *types, *strings;
static const struct btf_header *header;

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static size_t type_size(const struct btf_type *t)
{
	const size_t n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(*t) + 4;
	case BTF_KIND_ARRAY:
		return sizeof(*t) + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return sizeof(*t) + n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return sizeof(*t) + n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return sizeof(*t) + n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return sizeof(*t) + n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_ENUM64:
		return sizeof(*t) + n * sizeof(struct btf_enum64);
	default:
		return sizeof(*t);
	}
}

/* The struct called @name, and its number. */
static const struct btf_type *find_struct(const char *name, uint32_t *id)
{
	const char *p = types;

	for (*id = 1; p < types + header->type_len; ++*id) {
		const struct btf_type *t = (const void *)p;

		if (BTF_INFO_KIND(t->info) == BTF_KIND_STRUCT &&
		    !strcmp(strings + t->name_off, name))
			return t;
		p += type_size(t);
	}
	return NULL;
}

static size_t member_offset(const struct btf_type *t, const char *name)
{
	const struct btf_member *m = (const void *)(t + 1);

	for (unsigned int i = 0; i < BTF_INFO_VLEN(t->info); i++) {
		if (!strcmp(strings + m[i].name_off, name))
			return BTF_MEMBER_BIT_OFFSET(m[i].offset) / 8;
	}
	die("no member %s", name);
}

static void read_btf(void)
{
	static char buf[64 << 20];
	const int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY);
	size_t len = 0;
	ssize_t got;

	must(fd >= 0);
	while ((got = read(fd, buf + len, sizeof(buf) - len)) > 0)
		len += got;
	must(!got && len < sizeof(buf));
	close(fd);
	header = (const void *)buf;
	types = buf + header->hdr_len + header->type_off;
	strings = buf + header->hdr_len + header->str_off;
}

/* A map with a type has to come with a BTF; this one has a single integer. */
static int any_btf(void)
{
	static const struct {
		struct btf_header	header;
		struct btf_type		type;
		uint32_t		encoding;
		char			strings[8];
	} btf = {
		.header = {
			.magic		= BTF_MAGIC,
			.version	= BTF_VERSION,
			.hdr_len	= sizeof(struct btf_header),
			.type_len	= sizeof(struct btf_type) + 4,
			.str_off	= sizeof(struct btf_type) + 4,
			.str_len	= 5,
		},
		.type = { .name_off = 1, .info = BTF_KIND_INT << 24, .size = 4 },
		.encoding = 32,
		.strings = "\0int",
	};
	union bpf_attr attr = {
		.btf = (uintptr_t)&btf,
		.btf_size = sizeof(btf) - 3,
	};

	return bpf(BPF_BTF_LOAD, &attr);
}

/* Returns the map that is the scheduler. */
static int start(void)
{
	const struct btf_type *value_type, *ops_type;
	union bpf_attr attr = { };
	uint32_t id, ops_id, key = 0;
	char *value;
	int map;

	read_btf();
	value_type = find_struct("bpf_struct_ops_sched_ext_ops", &id);
	ops_type = find_struct("sched_ext_ops", &ops_id);
	must(value_type && ops_type);
	value = calloc(1, value_type->size);
	strcpy(value + member_offset(value_type, "data") + member_offset(ops_type, "name"),
	       "kdtl_fifo");

	attr.map_type = BPF_MAP_TYPE_STRUCT_OPS;
	attr.key_size = sizeof(key);
	attr.value_size = value_type->size;
	attr.max_entries = 1;
	attr.btf_vmlinux_value_type_id = id;
	attr.btf_fd = any_btf();
	must((int)attr.btf_fd >= 0);
	map = bpf(BPF_MAP_CREATE, &attr);
	must(map >= 0);

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = map;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)value;
	must(!bpf(BPF_MAP_UPDATE_ELEM, &attr));
	free(value);
	return map;
}

static void stop(int map)
{
	uint32_t key = 0;
	union bpf_attr attr = { .map_fd = map, .key = (uintptr_t)&key };

	must(!bpf(BPF_MAP_DELETE_ELEM, &attr));
}

/* The kernel disables a scheduler that makes a mistake. */
static int is_enabled(void)
{
	char state[16] = "";
	const int fd = open("/sys/kernel/sched_ext/state", O_RDONLY);
	const int enabled = read(fd, state, sizeof(state) - 1) > 0 &&
			    !strcmp(state, "enabled\n");

	close(fd);
	return enabled;
}

int main(int argc, char **argv)
{
	int map, status;
	pid_t pid;

	must(argc > 1);
	if (access("/sys/kernel/sched_ext/state", R_OK))
		return 4;
	map = start();
	must(is_enabled());
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		execvp(argv[1], argv + 1);
		die("%s", argv[1]);
	}
	must(waitpid(pid, &status, 0) == pid);
	must(is_enabled());
	stop(map);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
