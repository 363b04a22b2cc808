/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: /sys/kernel/tracing/events/nvme_accel_p2p. job is the id in its file. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nvme_accel_p2p

#if !defined(P2P_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define P2P_TRACE_H

#include <linux/tracepoint.h>
#include "compat.h"
#include "p2p.h"

TRACE_EVENT(nvme_accel_p2p_job_start,
	TP_PROTO(struct p2p_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__string(provider, pci_name(job->p->pdev))
		__string(src, p2p_client_name(&job->src))
		__string(dst, p2p_client_name(&job->dst))
		__string(accel, p2p_client_name(&job->accel))
		__field(u32, job)
		__field(u32, slots)
		__field(u64, bytes)
	),
	TP_fast_assign(
		compat_assign_str(provider, pci_name(job->p->pdev));
		compat_assign_str(src, p2p_client_name(&job->src));
		compat_assign_str(dst, p2p_client_name(&job->dst));
		compat_assign_str(accel, p2p_client_name(&job->accel));
		__entry->job = job->id;
		__entry->slots = job->nr_slots;
		__entry->bytes = job->bytes_total;
	),
	TP_printk("provider=%s job=%u src=%s dst=%s accel=%s slots=%u bytes=%llu", __get_str(provider), __entry->job,
		  __get_str(src), __get_str(dst), __get_str(accel), __entry->slots, __entry->bytes)
);

/* A transfer begins. */
TRACE_EVENT(nvme_accel_p2p_submit,
	TP_PROTO(struct p2p_job *job, const struct p2p_client *c, bool write, u64 off, u32 bytes),
	TP_ARGS(job, c, write, off, bytes),
	TP_STRUCT__entry(
		__string(disk, p2p_client_name(c))
		__field(u64, off)
		__field(u32, job)
		__field(u32, bytes)
		__field(bool, write)
	),
	TP_fast_assign(
		compat_assign_str(disk, p2p_client_name(c));
		__entry->off = off;
		__entry->job = job->id;
		__entry->bytes = bytes;
		__entry->write = write;
	),
	TP_printk("job=%u disk=%s %s off=%llu bytes=%u", __entry->job, __get_str(disk), __entry->write ? "write" : "read",
		  __entry->off, __entry->bytes)
);

/* A transfer has ended; error is 0 or negative. */
TRACE_EVENT(nvme_accel_p2p_complete,
	TP_PROTO(struct p2p_job *job, const struct p2p_client *c, bool write, u64 off, u32 bytes, int error),
	TP_ARGS(job, c, write, off, bytes, error),
	TP_STRUCT__entry(
		__string(disk, p2p_client_name(c))
		__field(u64, off)
		__field(u32, job)
		__field(u32, bytes)
		__field(int, error)
		__field(bool, write)
	),
	TP_fast_assign(
		compat_assign_str(disk, p2p_client_name(c));
		__entry->off = off;
		__entry->job = job->id;
		__entry->bytes = bytes;
		__entry->error = error;
		__entry->write = write;
	),
	TP_printk("job=%u disk=%s %s off=%llu bytes=%u error=%d", __entry->job, __get_str(disk),
		  __entry->write ? "write" : "read", __entry->off, __entry->bytes, __entry->error)
);

TRACE_EVENT(nvme_accel_p2p_job_end,
	TP_PROTO(struct p2p_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__string(provider, pci_name(job->p->pdev))
		__field(u64, done)
		__field(u64, bytes_in)
		__field(u64, bytes_out)
		__field(u64, bytes_memory)
		__field(u64, ns)
		__field(u32, job)
		__field(int, error)
		__field(u32, where)
	),
	TP_fast_assign(
		compat_assign_str(provider, pci_name(job->p->pdev));
		__entry->done = job->bytes_done;
		__entry->bytes_in = job->bytes_in;
		__entry->bytes_out = job->bytes_out;
		__entry->bytes_memory = job->bytes_memory;
		__entry->ns = job->end_ns - job->start_ns;
		__entry->job = job->id;
		__entry->error = job->error;
		__entry->where = job->where;
	),
	TP_printk("provider=%s job=%u error=%d where=%u done=%llu in=%llu out=%llu memory=%llu ns=%llu", __get_str(provider),
		  __entry->job, __entry->error, __entry->where, __entry->done, __entry->bytes_in, __entry->bytes_out,
		  __entry->bytes_memory, __entry->ns)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE p2p_trace
#include <trace/define_trace.h>
