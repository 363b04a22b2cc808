// SPDX-License-Identifier: BSD-2-Clause
/*
 * What sysfs says of NVMe namespaces. A namespace is a directory of its name in that of its controller, or, if
 * several controllers may reach it (multipath), in that of the subsystem; the controllers then have hidden block
 * devices nvmeXcYnZ, one a path, which are nobody's to open. Nothing here opens a device.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../sys/attr.h"
#include "node.h"

#define PAGE		4096u
#define PATH_ROOM	512
/* The kernel gathers at most so many pages into a command of a reader or writer. */
#define BIO_PAGES	256u
/* Elements that a command may have beyond whole pages: before, behind, and one not aligned to a page. */
#define SPARE_SEGMENTS	3u
#define NAMES_MAX	65536u

static const char *digits(const char *s)
{
	const char *at = s;

	while (*at >= '0' && *at <= '9')
		at++;
	return at > s && at - s < 10 ? at : NULL;
}

/* prefix, number, 'n', number, and nothing else. */
static bool is_name(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0)
		return false;
	name = digits(name + n);
	if (!name || *name != 'n')
		return false;
	name = digits(name + 1);
	return name && !*name;
}

bool sysfs_is_block(const char *name)
{
	return is_name(name, "nvme");
}

bool sysfs_is_generic(const char *name)
{
	return is_name(name, "ng");
}

/* -1: not there, or no number ("off"). */
static int64_t number(const char *dir, const char *name)
{
	char text[32], *end;
	long long v;

	if (!attr_text(dir, name, text, sizeof(text)))
		return -1;
	v = strtoll(text, &end, 10);
	return *end || end == text || v < 0 ? -1 : v;
}

static bool is_dir(const char *dir, const char *name)
{
	char path[PATH_ROOM];

	return snprintf(path, sizeof(path), "%s/%s/.", dir, name) < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* ---- Listing ---- */

struct names {
	char (*name)[32];
	size_t n, room;
};

static int names_add(struct names *names, const char *name)
{
	size_t room = names->room ? 2 * names->room : 64;
	void *p;

	if (strlen(name) >= sizeof(names->name[0]) || names->n >= NAMES_MAX)
		return 0;
	if (names->n == names->room) {
		p = realloc(names->name, room * sizeof(names->name[0]));
		if (!p)
			return -ENOMEM;
		names->name = p;
		names->room = room;
	}
	strcpy(names->name[names->n++], name);
	return 0;
}

/* Calls fn for each entry of a directory; 0 for one that is not there. */
static int each(const char *path, int (*fn)(void *arg, const char *dir, const char *name), void *arg)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int ret = 0;

	if (!dir)
		return errno == ENOENT ? 0 : errno == ENOMEM ? -ENOMEM : -EIO;
	while (!ret && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			ret = fn(arg, path, e->d_name);
	closedir(dir);
	return ret;
}

static int add_namespace(void *arg, const char *dir, const char *name)
{
	char block[40];

	/* Both nodes of a namespace have the same numbers; the block device goes first. */
	if (sysfs_is_generic(name)) {
		snprintf(block, sizeof(block), "nvme%s", name + 2);
		return is_dir(dir, block) ? 0 : names_add(arg, name);
	}
	return sysfs_is_block(name) && is_dir(dir, name) ? names_add(arg, name) : 0;
}

static int add_parent(void *arg, const char *dir, const char *name)
{
	char path[PATH_ROOM];

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return 0;
	/* A controller that goes away while we look has nothing more to list. */
	return each(path, add_namespace, arg) == -ENOMEM ? -ENOMEM : 0;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(a, b);
}

static int names_tell(struct names *names, int (*found)(void *arg, const char *name), void *arg)
{
	size_t i;
	int ret = 0;

	if (names->n)
		qsort(names->name, names->n, sizeof(names->name[0]), by_name);
	for (i = 0; i < names->n && !ret; i++)
		if (!i || strcmp(names->name[i], names->name[i - 1]) != 0)
			ret = found(arg, names->name[i]);
	return ret;
}

int sysfs_scan(const char *sysfs, int (*found)(void *arg, const char *name), void *arg)
{
	static const char *const classes[] = { "class/nvme", "class/nvme-subsystem" };
	struct names names = { 0 };
	char path[PATH_ROOM];
	size_t i;
	int ret = 0;

	for (i = 0; i < 2 && !ret; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", sysfs, classes[i]) >= (int)sizeof(path))
			return -EINVAL;
		ret = each(path, add_parent, &names);
	}
	if (!ret)
		ret = names_tell(&names, found, arg);
	free(names.name);
	return ret;
}

/* ---- One namespace ---- */

struct lookup {
	struct node_sysfs *node;
	const char *name;		/* of the namespace */
	char parent[PATH_ROOM];		/* directory that the namespace is in */
	char ctrl[PATH_ROOM];		/* of the best path */
	int rank;			/* of that */
};

static int find_parent(void *arg, const char *dir, const char *name)
{
	struct lookup *l = arg;

	if (snprintf(l->parent, sizeof(l->parent), "%s/%s", dir, name) >= (int)sizeof(l->parent))
		return 0;
	return is_dir(l->parent, l->name);
}

/* Path nodes of namespace nvmeXnZ are called nvmeXcYnZ. */
struct path_name {
	const char *name;
	char found[32];
};

static int find_path(void *arg, const char *dir, const char *name)
{
	struct path_name *p = arg;
	size_t x = (size_t)(digits(p->name + 4) - p->name);	/* behind "nvme" and the number */
	const char *end;

	(void)dir;
	if (strncmp(name, p->name, x) != 0 || name[x] != 'c')
		return 0;
	end = digits(name + x + 1);
	if (!end || strcmp(end, p->name + x) != 0 || strlen(name) >= sizeof(p->found))
		return 0;
	strcpy(p->found, name);
	return 1;
}

static uint64_t or_default(int64_t v, uint64_t def)
{
	return v > 0 ? (uint64_t)v : def;
}

/* Only ever narrower: a namespace with several paths has the limits of all of them. */
static void add_limits(struct node_sysfs *node, const char *dir)
{
	struct node_limits *l = &node->limits;
	char queue[PATH_ROOM];
	uint64_t kb, segments;

	if (snprintf(queue, sizeof(queue), "%s/queue", dir) >= (int)sizeof(queue) || !is_dir(dir, "queue"))
		return;
	if (node->nqueue < NODE_NQUEUE && strlen(queue) < sizeof(node->queue[0]))
		strcpy(node->queue[node->nqueue++], queue);
	if (number(queue, "chunk_sectors") > 0)
		l->chunk_nbytes = (uint64_t)number(queue, "chunk_sectors") * 512;
	kb = BASE_MIN(or_default(number(queue, "max_hw_sectors_kb"), 128),
		      or_default(number(queue, "max_sectors_kb"), 128));
	segments = BASE_MIN(or_default(number(queue, "max_segments"), 32), (uint64_t)BIO_PAGES);
	l->max_nbytes = BASE_MIN(l->max_nbytes, kb * 1024);
	l->max_segments = BASE_MIN(l->max_segments, (uint32_t)segments);
	l->block = (uint32_t)BASE_MIN(or_default(number(queue, "logical_block_size"), l->block), 65536u);
	/* Kernels before 6.1 do not say, and want whole blocks. */
	l->dma_mask |= (uint32_t)(number(queue, "dma_alignment") < 0 ? l->block - 1 :
				  (uint64_t)number(queue, "dma_alignment")) & 0xfff;
	l->gap_mask |= (uint32_t)or_default(number(queue, "virt_boundary_mask"), 0) & 0xfff;
	if (number(queue, "nr_requests") > 0)
		l->nr_requests = (uint32_t)BASE_MIN(or_default(l->nr_requests, UINT32_MAX),
						    or_default(number(queue, "nr_requests"), UINT32_MAX));
}

static void ctrl_limits(struct lookup *l, const char *ctrl, const char *block)
{
	struct path_name p = { .name = block };
	char dir[PATH_ROOM];

	if (each(ctrl, find_path, &p) == 1 && snprintf(dir, sizeof(dir), "%s/%s", ctrl, p.found) < (int)sizeof(dir))
		add_limits(l->node, dir);
}

static int rank_of(const char *ctrl, const char *block)
{
	struct path_name p = { .name = block };
	char text[24], dir[PATH_ROOM];

	if (!attr_text(ctrl, "state", text, sizeof(text)) || strcmp(text, "live") != 0)
		return 1;
	if (each(ctrl, find_path, &p) != 1 || snprintf(dir, sizeof(dir), "%s/%s", ctrl, p.found) >= (int)sizeof(dir))
		return 2;
	/* Without asymmetric access there is no such attribute, and all paths are alike. */
	return !attr_text(dir, "ana_state", text, sizeof(text)) || strcmp(text, "optimized") == 0 ? 3 : 2;
}

static void block_name(const char *name, char block[40])
{
	snprintf(block, 40, "nvme%.24s", name + (sysfs_is_generic(name) ? 2 : 4));
}

/* A controller of the subsystem, if it has a path to the namespace. */
static int add_ctrl(void *arg, const char *dir, const char *name)
{
	struct lookup *l = arg;
	char ctrl[PATH_ROOM], block[40];
	struct path_name p = { .name = block };
	int rank;

	if (strncmp(name, "nvme", 4) != 0 || !digits(name + 4) || *digits(name + 4))
		return 0;
	if (snprintf(ctrl, sizeof(ctrl), "%s/%s", dir, name) >= (int)sizeof(ctrl))
		return 0;
	block_name(l->name, block);
	if (each(ctrl, find_path, &p) != 1)
		return 0;
	l->node->npath++;
	ctrl_limits(l, ctrl, block);
	rank = rank_of(ctrl, block);
	if (rank > l->rank) {
		l->rank = rank;
		strcpy(l->ctrl, ctrl);
	}
	return 0;
}

static void fill_ctrl(struct node_sysfs *node, const char *ctrl)
{
	struct transport_info *info = &node->info;
	int64_t kato = number(ctrl, "kato");

	attr_text(ctrl, "transport", info->kind, sizeof(info->kind));
	attr_text(ctrl, "address", info->address, sizeof(info->address));
	attr_text(ctrl, "subsysnqn", info->subnqn, sizeof(info->subnqn));
	attr_text(ctrl, "serial", info->serial, sizeof(info->serial));
	attr_text(ctrl, "model", info->model, sizeof(info->model));
	attr_text(ctrl, "firmware_rev", info->firmware, sizeof(info->firmware));
	info->numa_node = (int)number(ctrl, "numa_node");
	info->kato_ms = kato < 0 ? -1 : kato * 1000;
	info->ctrl_loss_tmo_s = number(ctrl, "ctrl_loss_tmo");
	info->reconnect_delay_s = number(ctrl, "reconnect_delay");
	attr_text(ctrl, "state", node->state, sizeof(node->state));
	node->live = !node->state[0] || strcmp(node->state, "live") == 0;
}

static void fill_limits(struct node_sysfs *node)
{
	struct node_limits *l = &node->limits;
	uint64_t pages;

	pages = l->max_segments > SPARE_SEGMENTS ? l->max_segments - SPARE_SEGMENTS : 1;
	l->max_nbytes = BASE_MIN(l->max_nbytes, pages * PAGE);
	l->max_nbytes -= l->max_nbytes % BASE_MAX(l->block, PAGE);
	l->max_nbytes = BASE_MAX(l->max_nbytes, (uint64_t)BASE_MAX(l->block, PAGE));
	node->info.max_nbytes = l->max_nbytes;
}

static void defaults(struct node_sysfs *node)
{
	memset(node, 0, sizeof(*node));
	node->live = true;
	node->limits = (struct node_limits){ .block = 512, .max_segments = BIO_PAGES, .max_nbytes = UINT32_MAX };
	node->info.numa_node = -1;
	node->info.kato_ms = node->info.ctrl_loss_tmo_s = node->info.reconnect_delay_s = -1;
	strcpy(node->info.kind, "block");
}

static void read_dev(struct node_sysfs *node, const char *dir)
{
	char text[32];

	if (attr_text(dir, "dev", text, sizeof(text)) && sscanf(text, "%u:%u", &node->major, &node->minor) != 2)
		node->major = node->minor = 0;
}

static bool find_namespace(const char *sysfs, struct lookup *l)
{
	char path[PATH_ROOM];

	l->parent[0] = l->ctrl[0] = '\0';
	if (snprintf(path, sizeof(path), "%s/class/nvme-subsystem", sysfs) >= (int)sizeof(path))
		return false;
	if (each(path, find_parent, l) == 1) {
		each(l->parent, add_ctrl, l);
		return true;
	}
	if (snprintf(path, sizeof(path), "%s/class/nvme", sysfs) >= (int)sizeof(path) ||
	    each(path, find_parent, l) != 1)
		return false;
	strcpy(l->ctrl, l->parent);
	l->node->npath = 1;
	return true;
}

void sysfs_read(const char *sysfs, const char *name, struct node_sysfs *node)
{
	struct lookup l = { .node = node, .name = name };
	char path[PATH_ROOM + 64], block[40];

	defaults(node);
	if (!sysfs_is_block(name) && !sysfs_is_generic(name)) {
		if (snprintf(path, sizeof(path), "%.400s/class/block/%.80s", sysfs, name) < (int)sizeof(path)) {
			add_limits(node, path);
			read_dev(node, path);
		}
	} else if (find_namespace(sysfs, &l)) {
		node->nvme = true;
		if (l.ctrl[0])
			fill_ctrl(node, l.ctrl);
		else
			node->live = false;
		block_name(name, block);
		snprintf(path, sizeof(path), "%s/%s", l.parent, block);
		add_limits(node, path);
		snprintf(path, sizeof(path), "%s/%.24s", l.parent, name);
		read_dev(node, path);
	}
	fill_limits(node);
}
