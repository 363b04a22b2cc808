// SPDX-License-Identifier: BSD-2-Clause
/*
 * From a caller's gather list to one that the kernel takes and sends as one command. The kernel reads and writes a
 * caller's memory in place if each element is whole blocks, begins where the controller can address it and, on PCIe,
 * meets the next one at a page boundary. What does not fit goes through copies: a tail that does not fill a block
 * through one block, a status block before page-aligned output through the last block of a page, and a list that is
 * odd all over through one piece of memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../base/iov.h"
#include "node.h"

#define PAGE		4096u
/* An element in the middle is used in place only if it is worth the elements around it. */
#define IN_PLACE_MIN	PAGE
/* As in sysfs.c: what max_nbytes leaves for elements that are not whole pages. */
#define SPARE_SEGMENTS	3u

struct walk {
	const struct node_limits *limits;
	struct iov_pos pos;
	uint64_t left;			/* bytes from pos on */
	struct node_map *map;		/* elements go there; NULL: they are only counted */
	unsigned int niov;
	uint64_t bounce;		/* bytes of copies so far, each element on pages of its own */
	uint64_t segments;
};

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static void add(struct walk *w, void *base, uint64_t n, bool own)
{
	uint64_t first = (uintptr_t)base & (PAGE - 1);

	w->segments += round_up(first + n, PAGE) / PAGE;
	if (w->map) {
		w->map->iov[w->niov] = (struct iovec){ base, (size_t)n };
		w->map->own[w->niov] = own;
	}
	w->niov++;
	iov_skip(&w->pos, n);
	w->left -= n;
}

/* How many bytes at the place can be used where they lie, as an element of their own. */
static uint64_t in_place(const struct walk *w, const struct iov_pos *at, uint64_t left, void **p)
{
	const struct node_limits *l = w->limits;
	uint32_t gap = l->gap_mask;
	struct iov_pos pos = *at;
	bool first = left == w->left && !w->niov;
	uint64_t n = iov_next(&pos, p, (size_t)BASE_MIN(left, (uint64_t)SIZE_MAX));
	uintptr_t base = (uintptr_t)*p;

	if (base & l->dma_mask || (!first && base & gap))
		return 0;
	if (n < left && gap)
		n = BASE_MAX((base + n) & ~(uintptr_t)gap, base) - base;
	if (n < left && !gap)
		n -= n % l->block;
	/* The first is mostly a block at the end of a page; others need to be worth it. */
	if (n % l->block || (n < IN_PLACE_MIN && n < left && !first))
		return 0;
	return n;
}

/* Bytes from the place on that need a copy: until there is something that does not. */
static uint64_t to_copy(const struct walk *w)
{
	uint64_t unit = w->niov ? BASE_MAX(w->limits->block, w->limits->gap_mask + 1) : w->limits->block;
	struct iov_pos pos = w->pos;
	uint64_t n = 0, step;
	void *p;

	do {
		step = BASE_MIN(unit, w->left - n);
		iov_skip(&pos, step);
		n += step;
	} while (n < w->left && !in_place(w, &pos, w->left - n, &p));
	return n;
}

static void copy_next(struct walk *w)
{
	uint64_t n = to_copy(w), room = round_up(n, PAGE);
	uint8_t *base = w->map ? (uint8_t *)w->map->bounce + w->bounce : NULL;

	/* The first element ends where a page does, as the next begins with one. */
	if (w->map && !w->niov)
		base += room - n;
	w->bounce += room;
	if (w->map)
		add(w, base, n, true);
	else
		add(w, (void *)(uintptr_t)(w->niov ? 0 : room - n), n, true);
}

static void walk(struct walk *w, const struct transport_cmd *cmd)
{
	uint64_t n;
	void *p;

	w->pos = (struct iov_pos){ cmd->iov, cmd->niov, 0 };
	w->left = cmd->nbytes;
	w->niov = 0;
	w->bounce = w->segments = 0;
	while (w->left) {
		n = in_place(w, &w->pos, w->left, &p);
		if (n)
			add(w, p, n, false);
		else
			copy_next(w);
	}
}

static int get_bounce(struct node_map *map, uint64_t n)
{
	void *p = NULL;

	if (n > SIZE_MAX - PAGE || posix_memalign(&p, PAGE, (size_t)round_up(n, PAGE)))
		return -ENOMEM;
	map->bounce = p;
	map->bounce_nbytes = round_up(n, PAGE);
	return 0;
}

static void whole(struct node_map *map, uint64_t n)
{
	map->niov = 1;
	map->iov[0] = (struct iovec){ map->bounce, (size_t)n };
	map->own[0] = true;
}

static int make_list(struct node_map *map, struct walk *w)
{
	int ret;

	if (w->niov > NODE_NIOV) {
		map->iov = malloc(w->niov * (sizeof(*map->iov) + sizeof(*map->own)));
		if (!map->iov) {
			map->iov = map->few;
			return -ENOMEM;
		}
		map->own = (bool *)(map->iov + w->niov);
	}
	if (w->bounce) {
		ret = get_bounce(map, w->bounce);
		if (ret)
			return ret;
	}
	w->map = map;
	walk(w, map->cmd);
	map->niov = w->niov;
	return 0;
}

/* Between the caller's memory and the copies. */
static void copy(struct node_map *map, bool in)
{
	struct iov_pos pos = { map->cmd->iov, map->cmd->niov, 0 };
	unsigned int i;

	for (i = 0; i < map->niov; i++) {
		if (!map->own[i])
			iov_skip(&pos, map->iov[i].iov_len);
		else if (in)
			iov_read(&pos, map->iov[i].iov_base, map->iov[i].iov_len);
		else
			iov_write(&pos, map->iov[i].iov_base, map->iov[i].iov_len);
	}
}

static int choose(struct node_map *map, const struct node_limits *limits, void *lent, size_t lent_nbytes)
{
	const struct transport_cmd *cmd = map->cmd;
	struct walk w = { .limits = limits };
	int ret;

	if (lent && cmd->nbytes <= lent_nbytes) {
		map->bounce = lent;
		map->bounce_lent = true;
		map->bounce_nbytes = cmd->nbytes;
		whole(map, cmd->nbytes);
		return 0;
	}
	walk(&w, cmd);
	if (w.segments <= cmd->nbytes / PAGE + SPARE_SEGMENTS)
		return make_list(map, &w);
	ret = get_bounce(map, cmd->nbytes);
	if (!ret)
		whole(map, cmd->nbytes);
	return ret;
}

int node_map_make(struct node_map *map, const struct node_limits *limits, const struct transport_cmd *cmd, void *lent,
		  size_t lent_nbytes)
{
	int ret;

	map->cmd = cmd;
	map->niov = 0;
	map->iov = map->few;
	map->own = map->few_own;
	map->bounce = NULL;
	map->bounce_lent = false;
	map->bounce_nbytes = 0;
	if (!cmd->nbytes || (cmd->off | cmd->nbytes) % limits->block || iov_total(cmd->iov, cmd->niov) != cmd->nbytes)
		return -EINVAL;
	ret = choose(map, limits, lent, lent_nbytes);
	if (ret)
		node_map_end(map, false);
	else if (map->bounce && cmd->flags & TRANSPORT_WRITE)
		copy(map, true);
	return ret;
}

void node_map_end(struct node_map *map, bool ok)
{
	if (map->bounce && ok && map->cmd->flags & TRANSPORT_READ)
		copy(map, false);
	/* A descriptor may have a key in it. */
	if (map->bounce && map->cmd->flags & TRANSPORT_WRITE)
		explicit_bzero(map->bounce, (size_t)map->bounce_nbytes);
	if (!map->bounce_lent)
		free(map->bounce);
	if (map->iov != map->few)
		free(map->iov);
	map->bounce = NULL;
	map->iov = map->few;
	map->niov = 0;
}
