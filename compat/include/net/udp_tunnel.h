/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * UDP tunnels on a struct sock, where older kernels want the socket around it; and
 * without GRO, where its callbacks are not those of newer ones: what a network card has
 * received stays one packet an skb.
 */
#ifndef RXE_COMPAT_NET_UDP_TUNNEL_H
#define RXE_COMPAT_NET_UDP_TUNNEL_H

#include_next <net/udp_tunnel.h>

#if !RXE_HAVE_UDP_TUNNEL_GRO

struct rxe_compat_udp_tunnel_sock_cfg {
	int	encap_type;
	int	(*encap_rcv)(struct sock *sk, struct sk_buff *skb);
	struct sk_buff *(*gro_receive)(struct sock *sk, struct list_head *head,
				       struct sk_buff *skb);
	int	(*gro_complete)(struct sock *sk, struct sk_buff *skb, int nhoff);
};

static inline void
rxe_compat_setup_udp_tunnel_sock(struct net *net, struct sock *sk,
				 const struct rxe_compat_udp_tunnel_sock_cfg *cfg)
{
	struct udp_tunnel_sock_cfg kernel_cfg = {
		.encap_type = cfg->encap_type,
		.encap_rcv = cfg->encap_rcv,
	};

	setup_udp_tunnel_sock(net, sk->sk_socket, &kernel_cfg);
}

#define udp_tunnel_sock_cfg rxe_compat_udp_tunnel_sock_cfg
#define setup_udp_tunnel_sock rxe_compat_setup_udp_tunnel_sock

#elif !RXE_HAVE_SETUP_UDP_TUNNEL_SOCK_SK

static inline void
rxe_compat_setup_udp_tunnel_sock(struct net *net, struct sock *sk,
				 struct udp_tunnel_sock_cfg *cfg)
{
	setup_udp_tunnel_sock(net, sk->sk_socket, cfg);
}

#define setup_udp_tunnel_sock rxe_compat_setup_udp_tunnel_sock

#endif

#if !RXE_HAVE_UDP_TUNNEL_SOCK_RELEASE_SK

static inline void rxe_compat_udp_tunnel_sock_release(struct sock *sk)
{
	udp_tunnel_sock_release(sk->sk_socket);
}

#define udp_tunnel_sock_release rxe_compat_udp_tunnel_sock_release

#endif /* !RXE_HAVE_UDP_TUNNEL_SOCK_RELEASE_SK */

#endif /* RXE_COMPAT_NET_UDP_TUNNEL_H */
