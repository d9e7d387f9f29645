/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* UDP tunnels on a struct sock, where older kernels want the socket around it. */
#ifndef RXE_COMPAT_NET_UDP_TUNNEL_H
#define RXE_COMPAT_NET_UDP_TUNNEL_H

#include_next <net/udp_tunnel.h>

#if !RXE_HAVE_SETUP_UDP_TUNNEL_SOCK_SK

static inline void
rxe_compat_setup_udp_tunnel_sock(struct net *net, struct sock *sk,
				 struct udp_tunnel_sock_cfg *cfg)
{
	setup_udp_tunnel_sock(net, sk->sk_socket, cfg);
}

#define setup_udp_tunnel_sock rxe_compat_setup_udp_tunnel_sock

#endif /* !RXE_HAVE_SETUP_UDP_TUNNEL_SOCK_SK */

#if !RXE_HAVE_UDP_TUNNEL_SOCK_RELEASE_SK

static inline void rxe_compat_udp_tunnel_sock_release(struct sock *sk)
{
	udp_tunnel_sock_release(sk->sk_socket);
}

#define udp_tunnel_sock_release rxe_compat_udp_tunnel_sock_release

#endif /* !RXE_HAVE_UDP_TUNNEL_SOCK_RELEASE_SK */

#endif /* RXE_COMPAT_NET_UDP_TUNNEL_H */
