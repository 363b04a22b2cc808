/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for the data of commands, and an account of the other memory that peers can make the daemon use.
 *
 * Of conf.memory a quarter is for request tables (only counted here), the rest, D, for data buffers. These have sizes
 * of powers of two. Who finds none waits; nothing that waits can stop what would end its waiting:
 *
 *   MEM_READ  data of commands to the host, held reads among them. At most D/2, so that there is always room for the
 *             writes that held reads wait for. A waiting read holds up nobody: its connection is read on.
 *   MEM_R2T   data that the host sends when asked. At most 5/8 D, together with reads at most 7/8 D. A waiting one
 *             holds up nobody either.
 *   MEM_ICD   data in a command capsule. It comes whether asked for or not, so its connection is not read while it
 *             waits, and transfers asked for before are stuck behind it. The last eighth is for these alone: who has
 *             it gets its bytes next from its own connection, then executes, and no execution waits for memory. Nor
 *             is a host kept from it for what it has of other kinds.
 *
 * Of all these, 1/32 D is for small buffers only, so that large transfers keep nobody from small commands; nor the
 * other way round, as small ones may have D/4 at most while a large one waits.
 *
 * A peer that does not send what it announced, or does not take what it asked for, keeps memory from others; it is
 * closed if others wait (conns_stalled()). Among hosts memory is divided thus: one that has some already may have three
 * times what is free at most, so that the one that comes next finds some; waiting hosts take turns.
 */
#ifndef ACCELD_MEM_H
#define ACCELD_MEM_H

#include "acceld.h"

enum mem_kind { MEM_READ, MEM_R2T, MEM_ICD, MEM_KINDS };

#define MEM_MIN_LOG2	12u
#define MEM_CLASSES	16u		/* 4 KiB to 128 MiB */

struct mem_host;

/* A buffer that is asked for, or had. */
struct mem_wait {
	struct mem_wait *prev, *next;	/* the queue's; prev NULL: it does not wait */
	struct mem_host *host;
	struct reactor *reactor;	/* whose msg is posted when the buffer is there */
	struct reactor_msg msg;		/* fn set by the owner */
	void *buf;
	uint32_t nbytes;
	uint8_t kind;
	uint64_t since_ns;		/* the owner's */
};

/* NULL after a log line. data: most bytes of one buffer. */
struct mem *mem_new(struct target *t, uint64_t limit, uint32_t data);
void mem_free(struct mem *mem);		/* nothing is in use any more */

/* Other memory: 0 or -ENOMEM. */
int mem_reserve(struct mem *mem, uint64_t nbytes);
void mem_unreserve(struct mem *mem, uint64_t nbytes);

/* Whoever has the same id shares a part. NULL: no memory. */
struct mem_host *mem_host_get(struct mem *mem, uint64_t id);
void mem_host_put(struct mem *mem, struct mem_host *host);

/* w->host, reactor, nbytes (up to data), kind, msg.fn are set. True: w->buf is there; false: msg comes with it. */
bool mem_get(struct mem *mem, struct mem_wait *w);
/* True: it does not wait any more and no message comes. */
bool mem_cancel(struct mem *mem, struct mem_wait *w);
/*
 * Once after a buffer has come and before its first use: no byte of another host is in it any more. (What a command
 * leaves in a buffer the next one of the same host may find where it writes nothing: no secret between those.)
 */
void mem_own(struct mem *mem, struct mem_wait *w);
void mem_put(struct mem *mem, struct mem_wait *w);

/* Whether all commands in n bytes of capsules find memory for their data at once, as far as one can tell. */
bool mem_plenty(const struct mem *mem, const struct mem_host *host, uint32_t n);
/* When somebody who waited as w does, or did, was served last: as long as that goes on waiting is worth while. */
uint64_t mem_served(const struct mem *mem, const struct mem_wait *w);
bool mem_short(const struct mem *mem);	/* somebody waits */
/* Gives memory back that has not been used for a while; when to call again. Any reactor. */
uint64_t mem_tick(struct mem *mem, uint64_t now_ns);
#endif
