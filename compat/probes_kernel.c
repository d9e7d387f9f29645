// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Questions about the network stack and the rest of the kernel. A part of probes.c,
 * which says how to ask and includes the headers.
 */

/* --- net ------------------------------------------------------------------ */

/* Linux 4.12: "{net,IB}/{rxe,usnic}: Utilize generic mac to eui32 function" */
#line 1 "probe:addrconf_addr_eui48"
PROBE(addrconf_addr_eui48)
{
	DECLARED(addrconf_addr_eui48);
}

/* Linux 4.6: "ip6: add ip6_make_flowinfo helper" */
#line 1 "probe:ip6_make_flowinfo"
PROBE(ip6_make_flowinfo)
{
	DECLARED(ip6_make_flowinfo);
}

/* Linux 4.17: "net: Introduce net_sem for protection of pernet_list" freed the name */
#line 1 "probe:net_mutex_free"
static int net_mutex;

/* Linux 5.5: "net: ipv6: add net argument to ip6_dst_lookup_flow", in stable series, too */
#line 1 "probe:ip6_dst_lookup_flow_net"
PROBE(ip6_dst_lookup_flow_net)
{
	SAME(&ip6_dst_lookup_flow,
	     struct dst_entry *(*)(struct net *, const struct sock *, struct flowi6 *,
				   const struct in6_addr *));
}

/* Linux 4.19: "net: Convert GRO SKB handling to list_head." */
#line 1 "probe:udp_tunnel_gro"
PROBE(udp_tunnel_gro)
{
	struct udp_tunnel_sock_cfg cfg;

	SAME(cfg.gro_receive,
	     struct sk_buff *(*)(struct sock *, struct list_head *, struct sk_buff *));
}

/* Linux 7.2: "udp_tunnel: Pass struct sock to setup_udp_tunnel_sock().", in 7.0 stable, too */
#line 1 "probe:setup_udp_tunnel_sock_sk"
PROBE(setup_udp_tunnel_sock_sk)
{
	SAME(&setup_udp_tunnel_sock,
	     void (*)(struct net *, struct sock *, struct udp_tunnel_sock_cfg *));
}

/* Linux 7.2: "udp_tunnel: Pass struct sock to udp_tunnel_sock_release()." */
#line 1 "probe:udp_tunnel_sock_release_sk"
PROBE(udp_tunnel_sock_release_sk)
{
	SAME(&udp_tunnel_sock_release, void (*)(struct sock *));
}

/* Linux 6.10: "ipv6: introduce dst_rt6_info() helper", in 6.1 stable, too */
#line 1 "probe:dst_rt6_info"
#ifndef dst_rt6_info
#error "no"
#endif

/* --- linux ---------------------------------------------------------------- */

/*
 * Pages of a process that is not stopped for it, where the kernel is configured so.
 * Linux 5.2: "mm/hmm: improve and rename hmm_vma_fault() to hmm_range_fault()"
 * Export: hmm_range_fault hmm_range_fault
 */

/* Linux 5.8: "mm/hmm: remove the customizable pfn format from hmm_range_fault" */
#line 1 "probe:hmm_pfns"
PROBE(hmm_pfns)
{
	MEMBER(struct hmm_range, hmm_pfns);
	SAME(&hmm_range_fault, int (*)(struct hmm_range *));
}

/* Linux 4.8: "dma-mapping: use unsigned long for dma_attrs" */
#line 1 "probe:dma_attrs_long"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(dma_attrs_long)
{
	struct dma_map_ops ops;

	SAME(ops.alloc, void *(*)(struct device *, size_t, dma_addr_t *, gfp_t,
				  unsigned long));
}
#endif

/* Linux 4.6: "net: ethtool: add new ETHTOOL_xLINKSETTINGS API" */
#line 1 "probe:ethtool_link_ksettings"
PROBE(ethtool_link_ksettings)
{
	DECLARED(__ethtool_get_link_ksettings);
}

/* Linux 4.11: "treewide: Move dma_ops from struct dev_archdata into struct device" */
#line 1 "probe:device_dma_ops"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(device_dma_ops)
{
	MEMBER(struct device, dma_ops);
}
#endif

/*
 * A keyword for a case that goes on.
 * Linux 5.4: "compiler_attributes.h: Add ... pseudo keyword for switch/case use"
 */
#line 1 "probe:fallthrough"
#ifndef fallthrough
#error "no"
#endif

/* Linux 4.5: "memcg: only account kmem allocations marked as __GFP_ACCOUNT" */
#line 1 "probe:gfp_kernel_account"
#ifndef GFP_KERNEL_ACCOUNT
#error "no"
#endif

/* Linux 4.11: "random: convert get_random_int/long into get_random_u32/u64" */
#line 1 "probe:get_random_u32"
PROBE(get_random_u32)
{
	DECLARED(get_random_u32);
}

/* Linux 4.18: "mm: Introduce kvcalloc()" */
#line 1 "probe:kvcalloc"
#ifndef kvcalloc
PROBE(kvcalloc)
{
	DECLARED(kvcalloc);
}
#endif

/* Linux 5.8: "scatterlist: add generic wrappers for iterating over sgtable objects" */
#line 1 "probe:for_each_sgtable_page"
#ifndef for_each_sgtable_page
#error "no"
#else
PROBE(for_each_sgtable_page)
{
	struct sg_page_iter iter;
	struct sg_table table[1];

	/* some back-ports take nothing but a name */
	for_each_sgtable_page(&table[0], &iter, 0)
		;
}
#endif

/* Linux 5.9: "tasklet: Introduce new initialization API", in 5.4 stable, too */
#line 1 "probe:tasklet_setup"
PROBE(tasklet_setup)
{
	DECLARED(tasklet_setup);
}

/* Linux 4.14: "timer: Prepare to change timer callback argument type": a macro later */
#line 1 "probe:timer_setup"
#ifndef timer_setup
PROBE(timer_setup)
{
	DECLARED(timer_setup);
}
#endif

/* Linux 5.17: "net: add net device refcount tracker infrastructure" */
#line 1 "probe:netdevice_tracker"
PROBE(netdevice_tracker)
{
	netdevice_tracker *tracker = NULL;

	(void)tracker;
}

/* Linux 6.0: "net: rename reference+tracking helpers" */
#line 1 "probe:netdev_hold"
PROBE(netdev_hold)
{
	DECLARED(netdev_hold);
}

/* Linux 4.20: "FDDI: defza: Support capturing outgoing SMT traffic" exported it */
#line 1 "probe:dev_nit_active"
PROBE(dev_nit_active)
{
	DECLARED(dev_nit_active);
}

/* Linux 5.11: "mm/highmem: Provide kmap_local*" */
#line 1 "probe:kmap_local_page"
PROBE(kmap_local_page)
{
	DECLARED(kmap_local_page);
}

/* Linux 6.14: "lib/crc32: expose whether the lib is really optimized at runtime" */
#line 1 "probe:crc32_optimizations"
#ifndef CRC32_LE_OPTIMIZATION
#error "no"
#endif

/*
 * The crypto API can be asked for a faster CRC-32.
 * Linux 2.6.29: "crypto: hash - Add shash interface"; not there without CONFIG_CRYPTO
 * Export: crypto_alloc_shash crypto_alloc_shash
 */

/*
 * IPv6 groups can be joined without a socket.
 * Linux 5.1: "bridge: join all-snoopers multicast address": exported to modules
 * Export: ipv6_dev_mc_inc ipv6_dev_mc_inc
 */

/* Linux 6.2: "timers: Rename del_timer_sync() to timer_delete_sync()", in 6.1 stable, too */
#line 1 "probe:timer_delete_sync"
PROBE(timer_delete_sync)
{
	DECLARED(timer_delete_sync);
}

/* Linux 6.13: "hrtimers: Introduce hrtimer_setup() to replace hrtimer_init()" */
#line 1 "probe:hrtimer_setup"
PROBE(hrtimer_setup)
{
	DECLARED(hrtimer_setup);
}

/* Linux 6.17: "workqueue: Add new WQ_PERCPU flag", in 6.12 stable, too */
#line 1 "probe:wq_percpu"
PROBE(wq_percpu)
{
	(void)WQ_PERCPU;
}

/* Linux 6.16: "treewide, timers: Rename from_timer() to timer_container_of()" */
#line 1 "probe:timer_container_of"
#ifndef timer_container_of
#error "no"
#endif

/* Linux 4.8: "sk_buff: allow segmenting based on frag sizes", "sctp: Add GSO support" */
#line 1 "probe:skb_gso_sctp"
int skb_gso_sctp = SKB_GSO_SCTP;

/* Linux 6.18: "net: gso: restore ids of outer ip headers correctly" */
#line 1 "probe:skb_gso_tcp_fixedid_inner"
int skb_gso_tcp_fixedid_inner = SKB_GSO_TCP_FIXEDID_INNER;
