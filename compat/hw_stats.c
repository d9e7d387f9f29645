// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters without descriptors.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#if !RXE_HAVE_RDMA_STAT_DESC

/**
 * rxe_compat_rdma_alloc_hw_stats_struct() - counters, known by their names
 * @descs: one for each counter
 * @count: how many
 * @lifespan: milliseconds for which values are good
 *
 * Context: process context.
 * Return: what the core gives back with kfree(), names included; NULL for no memory.
 */
struct rdma_hw_stats *
rxe_compat_rdma_alloc_hw_stats_struct(const struct rdma_stat_desc *descs, int count,
				      unsigned long lifespan)
{
	struct rdma_hw_stats *stats;
	const char **names;
	int i;

	stats = kzalloc(sizeof(*stats) + count * (sizeof(u64) + sizeof(*names)), GFP_KERNEL);
	if (!stats)
		return NULL;
	names = (const char **)&stats->value[count];
	for (i = 0; i < count; i++)
		names[i] = descs[i].name;
	stats->names = names;
	stats->num_counters = count;
	stats->lifespan = msecs_to_jiffies(lifespan);
	return stats;
}

#endif /* !RXE_HAVE_RDMA_STAT_DESC */
