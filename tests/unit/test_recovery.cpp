// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Retry budgets, the timer (against a clock made of numbers), the window. */
#include <algorithm>
#include <initializer_list>
#include <set>
#include "proto.hpp"

static const u64 msec = 1000000;

TEST_CASE("retry: retry_cnt retries, finite for every value, 7 is seven")
{
	for (u8 cnt = 0; cnt < 8; cnt++) {
		struct retry_state r;
		int taken = 0;

		retry_init(&r, cnt, 7);
		while (taken < 100 && retry_take(&r))
			taken++;
		CHECK(taken == cnt);
		CHECK(!retry_take(&r));
	}
}

TEST_CASE("retry: rnr_retry retries, 7 is for ever")
{
	for (u8 cnt = 0; cnt < 8; cnt++) {
		struct retry_state r;
		int taken = 0;

		retry_init(&r, 0, cnt);
		while (taken < 1000 && retry_take_rnr(&r))
			taken++;
		CHECK(taken == (cnt == 7 ? 1000 : cnt));
	}
}

TEST_CASE("retry: the two budgets are separate, progress restores both")
{
	struct retry_state r;

	retry_init(&r, 2, 1);
	CHECK(retry_take(&r));
	CHECK(retry_take(&r));
	CHECK(!retry_take(&r));
	CHECK(retry_take_rnr(&r));
	CHECK(!retry_take_rnr(&r));
	retry_progress(&r);
	CHECK(retry_take(&r));
	CHECK(retry_take(&r));
	CHECK(!retry_take(&r));
	CHECK(retry_take_rnr(&r));
	CHECK(!retry_take_rnr(&r));
}

TEST_CASE("retry: an RNR NAK restores what losses have used up, and not its own budget")
{
	struct retry_state r;
	int i;

	retry_init(&r, 2, 3);
	for (i = 0; i < 3; i++) {
		CHECK(retry_take(&r));
		CHECK(retry_take(&r));
		CHECK(!retry_take(&r));
		CHECK(retry_take_rnr(&r));
		retry_answered(&r);
	}
	CHECK(!retry_take_rnr(&r));
}

TEST_CASE("retry: only three bits of an attribute count")
{
	struct retry_state r;

	retry_init(&r, 0xf9, 0xf8);
	CHECK(retry_take(&r));
	CHECK(!retry_take(&r));
	CHECK(!retry_take_rnr(&r));
}

TEST_CASE("rto: timeout 0 waits for ever")
{
	struct rto_state s;

	rto_init(&s, 0);
	CHECK(rto_get(&s) == 0);
	rto_sample(&s, 50000);
	CHECK(rto_get(&s) == 0);
}

TEST_CASE("rto: before a sample it is cautious, within the attribute")
{
	struct rto_state s;

	/* a window of 512 KiB behind 200 Mb/s takes 21 ms */
	CHECK(RTO_INITIAL_NSEC > 4 * 21 * msec);
	rto_init(&s, 14);
	CHECK(rto_get(&s) == 67108864);
	rto_init(&s, 10);	/* 4.2 ms */
	CHECK(rto_get(&s) == 4194304);
	rto_init(&s, 1);	/* 8 us: below what a timer can do */
	CHECK(rto_get(&s) == RTO_MIN_NSEC);
	rto_init(&s, 31);
	CHECK(rto_get(&s) == RTO_INITIAL_NSEC);
}

TEST_CASE("rto: follows the round trip, between its bounds")
{
	struct rto_state s;
	int i;

	rto_init(&s, 18);	/* 1.07 s */
	rto_sample(&s, 4 * msec);
	CHECK(s.srtt_ns == 4 * msec);
	CHECK(s.least_ns == 4 * msec);
	CHECK(rto_get(&s) == 12 * msec);	/* 4 + 4 * 2 */
	for (i = 0; i < 100; i++)
		rto_sample(&s, 4 * msec);
	CHECK(rto_get(&s) >= 4 * msec);
	CHECK(rto_get(&s) < 4 * msec + 1000);	/* steady: no deviation left */
	for (i = 0; i < 200; i++)
		rto_sample(&s, 20000);
	CHECK(rto_get(&s) == RTO_MIN_NSEC);
	for (i = 0; i < 2000; i++)
		rto_sample(&s, 5000 * msec);
	CHECK(rto_get(&s) == s.base_ns);
}

TEST_CASE("rto: one late answer widens it, as jitter should")
{
	struct rto_state s;
	u64 before;
	int i;

	rto_init(&s, 18);
	for (i = 0; i < 100; i++)
		rto_sample(&s, 2 * msec);
	before = rto_get(&s);
	rto_sample(&s, 10 * msec);
	CHECK(rto_get(&s) >= before + 5 * msec);
}

TEST_CASE("rto: queues are not waited for, only the path")
{
	struct rto_state s;

	rto_init(&s, 18);
	rto_sample(&s, msec);
	for (int i = 0; i < 20; i++)
		rto_sample(&s, 50 * msec);
	CHECK(rto_get(&s) < 6 * msec);
	/* a path that has become longer is believed after a while */
	for (int i = 0; i < 1000; i++)
		rto_sample(&s, 50 * msec);
	CHECK(rto_get(&s) >= 50 * msec);
}

TEST_CASE("rto: what was sent again is learned from, but slowly that the path is shorter")
{
	struct rto_state s;

	rto_init(&s, 18);
	rto_sample_again(&s, 4 * msec);
	CHECK(s.srtt_ns == 4 * msec);
	CHECK(rto_get(&s) == 12 * msec);
	rto_sample_again(&s, 1000);
	CHECK(s.srtt_ns > 3900000);
	CHECK(s.least_ns > 3400000);
	CHECK(rto_get(&s) > 9 * msec);
	for (int i = 0; i < 100; i++) {
		rto_backoff(&s);
		rto_sample_again(&s, 1000);
	}
	CHECK(rto_get(&s) == RTO_MIN_NSEC);
	/* but that it is longer */
	for (int i = 0; i < 2000; i++)
		rto_sample_again(&s, 50 * msec);
	CHECK(rto_get(&s) >= 50 * msec);
	/* what comes after a guess replaces it, longer or shorter */
	rto_sample(&s, 1 * msec);
	CHECK(s.srtt_ns == 1 * msec);
	CHECK(s.least_ns == 1 * msec);
	rto_init(&s, 18);
	rto_sample_again(&s, 50000);
	rto_sample(&s, 10 * msec);
	CHECK(s.srtt_ns == 10 * msec);
	CHECK(s.least_ns == 10 * msec);
	rto_sample(&s, 18 * msec);
	CHECK(s.srtt_ns == 11 * msec);
}

TEST_CASE("rto: a first guess that is too short is found out by guesses")
{
	struct rto_state s;

	rto_init(&s, 18);
	rto_sample_again(&s, 1000);
	for (int i = 0; i < 20; i++)
		rto_sample_again(&s, 20 * msec);
	CHECK(rto_get(&s) >= 20 * msec);
}

TEST_CASE("rto: a repair is waited for half as long, but longer than a round trip")
{
	struct rto_state s;

	rto_init(&s, 18);
	CHECK(rto_get_repair(&s) == RTO_INITIAL_NSEC / 2);
	rto_sample(&s, 100000);
	CHECK(rto_get_repair(&s) == RTO_MIN_NSEC / 2);
	rto_init(&s, 18);
	for (int i = 0; i < 100; i++)
		rto_sample(&s, 10 * msec);
	CHECK(rto_get_repair(&s) >= 10 * msec);
	CHECK(rto_get_repair(&s) <= rto_get(&s));
	rto_backoff(&s);
	CHECK(rto_get_repair(&s) >= 15 * msec);
	rto_init(&s, 0);
	CHECK(rto_get_repair(&s) == 0);
}

TEST_CASE("rto: absurd samples do no harm")
{
	struct rto_state s;

	rto_init(&s, 31);
	rto_sample(&s, 0);
	CHECK(s.srtt_ns == 1);
	CHECK(rto_get(&s) == RTO_MIN_NSEC);
	for (int i = 0; i < 10000; i++)
		rto_sample(&s, ~0ull);
	CHECK(rto_get(&s) == s.base_ns);
	for (int i = 0; i < 1000; i++)
		rto_sample(&s, i & 1 ? ~0ull : 0);
	CHECK(rto_get(&s) <= s.base_ns);
	CHECK(rto_get(&s) >= RTO_MIN_NSEC);
	CHECK(s.srtt_ns != 0);
}

TEST_CASE("rto: doubles until the attribute, a sample ends it")
{
	struct rto_state s;
	u64 want = RTO_MIN_NSEC;

	rto_init(&s, 14);	/* 67.1 ms */
	rto_sample(&s, 20000);
	for (int i = 0; i < 300; i++) {
		CAPTURE(i);
		CHECK(rto_get(&s) == want);
		rto_backoff(&s);
		want = want * 2 < s.base_ns ? want * 2 : s.base_ns;
	}
	/* of a packet that was sent twice, which tells nothing: Karn's rule */
	rto_progress(&s);
	CHECK(rto_get(&s) == want);
	rto_sample(&s, 20000);
	CHECK(rto_get(&s) == RTO_MIN_NSEC);
}

TEST_CASE("rto: a path that is longer than it seemed is found out")
{
	struct rto_state s;
	int early = 0;

	/* ping-pong over 10 ms, and the first sample was of a late packet */
	rto_init(&s, 18);
	rto_sample_again(&s, 50000);
	for (int i = 0; i < 100; i++) {
		u64 waited = rto_get(&s);
		bool once = waited > 10 * msec;

		for (; waited <= 10 * msec; waited += rto_get(&s)) {
			early++;
			rto_backoff(&s);
		}
		if (once)
			rto_sample(&s, 10 * msec);
		rto_progress(&s);
	}
	CHECK(early < 10);
	CHECK(rto_get(&s) >= 10 * msec);
}

/* The timer expires, and what it is for is sent again. */
static bool expired(struct rto_state *s)
{
	bool whole = rto_waited(s);

	rto_backoff(s);
	return whole;
}

TEST_CASE("rto: an expiry at which nothing is sent again leaves the next one where it is")
{
	struct rto_state s;
	int charged = 0;
	int n;

	rto_init(&s, 14);	/* 67.1 ms */
	rto_sample(&s, 20000);
	for (n = 0; !charged; n++) {
		CHECK(rto_get(&s) == RTO_MIN_NSEC);
		charged = rto_waited(&s);
	}
	CHECK(n == (int)((s.base_ns + RTO_MIN_NSEC - 1) / RTO_MIN_NSEC));
	rto_backoff(&s);
	CHECK(rto_get(&s) == 2 * RTO_MIN_NSEC);
}

/* A peer that is gone: how long until the budget is used up, on a fake clock */
static u64 outage(u8 timeout, u8 retry_cnt, u64 rtt, int *sent)
{
	struct retry_state r;
	struct rto_state s;
	u64 now = 0;

	retry_init(&r, retry_cnt, 0);
	rto_init(&s, timeout);
	if (rtt)
		rto_sample(&s, rtt);
	*sent = 1;
	for (;;) {
		now += rto_get(&s);
		if (expired(&s) && !retry_take(&r))
			return now;
		++*sent;
		if (*sent > 1000)
			return ~0ull;
	}
}

TEST_CASE("rto: a QP survives an outage for as long as its attributes say")
{
	for (u8 timeout = 1; timeout < 32; timeout++)
		for (u8 cnt = 0; cnt < 8; cnt++)
			for (u64 rtt : { 0ull, 20000ull, 3000000ull, 900000000ull }) {
				u64 base = ack_timeout_nsec(timeout);
				u64 unit = base > RTO_MIN_NSEC ? base : RTO_MIN_NSEC;
				int sent;
				u64 lasted = outage(timeout, cnt, rtt, &sent);

				CAPTURE((int)timeout);
				CAPTURE((int)cnt);
				CAPTURE(rtt);
				/* each retry costs 1 to 2 timeouts: IBTA allows 1 to 4 */
				CHECK(lasted >= (cnt + 1) * base);
				CHECK(lasted <= (cnt + 1) * 2 * unit);
				/* and no storm: free retries double their distance */
				CHECK(sent <= 24 + cnt + 1);
			}
}

TEST_CASE("rto: early expiries are free, a whole timeout is charged")
{
	struct rto_state s;
	int charged = 0, n;

	rto_init(&s, 14);	/* 67.1 ms: 2 + 4 + 8 + 16 + 32 = 62 ms, then more */
	rto_sample(&s, 20000);
	for (n = 0; !charged; n++)
		charged = expired(&s);
	CHECK(n == 6);
	/* progress forgets the time that was waited */
	rto_progress(&s);
	rto_sample(&s, 20000);
	for (n = 0, charged = 0; !charged; n++) {
		charged = expired(&s);
		if (n == 3)
			rto_progress(&s);
	}
	CHECK(n == 4 + 2);
}

TEST_CASE("window: starts open, halves when all is lost, not below the floor")
{
	struct send_window w;

	window_init(&w, 1024);
	CHECK(w.cur == 1024);
	window_collapse(&w);
	CHECK(w.cur == 512);
	for (int i = 0; i < 20; i++)
		window_collapse(&w);
	CHECK(w.cur == WINDOW_FLOOR);
}

TEST_CASE("window: a peer that is not ready gets a few packets, and then all again")
{
	struct send_window w;

	window_init(&w, 512);
	for (int i = 0; i < 5; i++) {
		window_hold(&w);
		CHECK(w.cur == WINDOW_FLOOR);
	}
	window_acked(&w, 1);
	CHECK(w.cur == 512);
	/* what is lost meanwhile is not forgotten */
	window_hold(&w);
	window_collapse(&w);
	CHECK(w.cur == WINDOW_FLOOR);
	window_acked(&w, 1);
	CHECK(w.cur == 256);
	window_hold(&w);
	window_lost(&w, 10);
	window_acked(&w, 1);
	CHECK(w.cur == 256 - 10 * WINDOW_LOSS_COST);
	window_init(&w, 3);
	window_hold(&w);
	CHECK(w.cur == 3);
}

TEST_CASE("window: a small maximum is its own floor")
{
	struct send_window w;

	for (u32 max = 0; max < WINDOW_FLOOR; max++) {
		window_init(&w, max);
		CHECK(w.cur == (max ? max : 1));
		window_collapse(&w);
		window_lost(&w, 3);
		window_lost(&w, 0xffffffff);
		CHECK(w.cur == (max ? max : 1));
		window_acked(&w, 100000);
		CHECK(w.cur == (max ? max : 1));
	}
}

TEST_CASE("window: so many acknowledged packets open it by one, never beyond the maximum")
{
	struct send_window w;

	window_init(&w, 64);
	window_collapse(&w);
	CHECK(w.cur == 32);
	window_acked(&w, WINDOW_GROWTH - 1);
	CHECK(w.cur == 32);
	window_acked(&w, 1);
	CHECK(w.cur == 33);
	window_acked(&w, 10 * WINDOW_GROWTH + 3);
	CHECK(w.cur == 43);
	CHECK(w.acked == 3);
	window_acked(&w, 0xffffff00);
	CHECK(w.cur == 64);
	CHECK(w.acked == 0);
}

TEST_CASE("window: lost packets close it, down to the floor")
{
	struct send_window w;

	window_init(&w, 256);
	window_lost(&w, 1);
	CHECK(w.cur == 256 - WINDOW_LOSS_COST);
	window_lost(&w, 64);
	CHECK(w.cur == 256 - 65 * WINDOW_LOSS_COST);
	window_lost(&w, 0xffffffff);
	CHECK(w.cur == WINDOW_FLOOR);
}

TEST_CASE("window: a loss of 5 % is lived with, one of 10 % is not")
{
	for (u32 percent : { 1, 5, 10, 20 }) {
		struct send_window w;

		window_init(&w, 128);
		for (int i = 0; i < 10000; i++) {
			window_acked(&w, 100 - percent);
			for (u32 k = 0; k < percent; k++)
				window_lost(&w, 1);
		}
		if (percent <= 5)
			CHECK(w.cur >= 100);
		else
			CHECK(w.cur <= 2 * WINDOW_FLOOR);
	}
}

/*
 * A sender that always has something to send, over a path that takes @usec when it is empty
 * and @packets a millisecond: what its window comes to, and the queue before the path.
 */
struct long_path {
	struct send_window w;
	u64 usec, packets;
	u64 rtt() const
	{
		return std::max(usec, w.cur * 1000ull / packets);
	}
	void trips(int count)
	{
		while (count--) {
			u32 sent = w.cur;

			window_measured(&w, sent, rtt() * 1000);
		}
	}
};

TEST_CASE("window: a long path gets a wider one, of twice what it holds, and no more")
{
	struct long_path p = { {}, 10000, 100 };

	window_init(&p.w, 512);
	p.trips(1);
	CHECK(p.w.cur == 1024);
	/* 1000 packets fill it; a queue of as many again is all that there will be */
	p.trips(20);
	CHECK(p.w.cur > 1900);
	CHECK(p.w.cur <= 2000);
	CHECK(p.rtt() <= 20000);
	/* a path that takes four times as much is not filled, the bound is four times the first */
	p.packets = 400;
	p.trips(20);
	CHECK(p.w.cur == 512 * WINDOW_WIDEST);
}

TEST_CASE("window: on a short path it stays what it was, however long its own queue")
{
	for (u64 usec : { 1, 20, 200, 1000 }) {
		struct long_path p = { {}, usec, 200 };

		window_init(&p.w, 512);
		/* the first packet finds no queue */
		window_measured(&p.w, 1, usec * 1000);
		p.trips(1000);
		CHECK(p.w.cur == 512);
		CHECK(p.w.max == 512);
	}
}

TEST_CASE("window: one that is not needed any more closes, little by little, to the first")
{
	struct long_path p = { {}, 20000, 1000 };

	window_init(&p.w, 128);
	p.trips(5);
	CHECK(p.w.cur == 512);
	window_measured(&p.w, 1, 20000000);
	CHECK(p.w.max == 512 - 384 / WINDOW_GROWTH);
	CHECK(p.w.cur == p.w.max);
	for (int i = 0; i < 100; i++)
		window_measured(&p.w, 1, 20000000);
	CHECK(p.w.max == 128);
	CHECK(p.w.cur == 128);
}

TEST_CASE("window: what was lost on a long path comes back slowly")
{
	struct send_window w;

	window_init(&w, 512);
	window_lost(&w, 10);
	window_measured(&w, 490, 10000000);
	CHECK(w.max == 980);
	CHECK(w.cur == 512 - 10 * WINDOW_LOSS_COST);
	window_hold(&w);
	window_measured(&w, 700, 10000000);
	CHECK(w.cur == WINDOW_FLOOR);
	window_acked(&w, WINDOW_GROWTH);
	CHECK(w.cur == 512 - 10 * WINDOW_LOSS_COST + 1);
	/* all of it, held back, is all of it afterwards */
	window_init(&w, 512);
	window_hold(&w);
	window_measured(&w, 400, 10000000);
	CHECK(w.cur == WINDOW_FLOOR);
	window_acked(&w, 1);
	CHECK(w.cur == 800);
}

TEST_CASE("window: no measurement leads out of its bounds")
{
	for (u64 rtt : { 0ull, 1ull, 0xffffull, 0x10000ull, 1ull << 43, ~0ull })
		for (u64 path : { 0ull, 1ull, 0xffffull, 0x10000ull, 1ull << 43, ~0ull })
			for (u32 packets : { 0u, 1u, 511u, 0x3fffu, 0x4000u, 0x7fffffu, 0xffffffffu })
				for (u32 first : { 0u, 1u, 3u, 512u, 1024u }) {
					struct send_window w;
					u32 least = first ? first : 1;

					window_init(&w, first);
					window_measured(&w, packets, path);
					window_measured(&w, packets, rtt);
					CHECK(w.max >= least);
					CHECK(w.max <= least * WINDOW_WIDEST);
					CHECK(w.cur == w.max);
				}
}

TEST_CASE("recovery: byte offset of a packet in its message")
{
	CHECK(psn_offset(5, 5, 1024) == 0);
	CHECK(psn_offset(5, 7, 1024) == 2048);
	CHECK(psn_offset(0xffffff, 1, 4096) == 8192);
	/* the last packet of 2 GiB at each PMTU */
	for (u32 pmtu : all_pmtus) {
		u32 last = psn_packets(0x80000000, pmtu) - 1;

		CHECK(psn_offset(0xfffff0, psn_add(0xfffff0, last), pmtu) ==
		      0x80000000ull - pmtu);
	}
	CHECK(psn_offset(1, 0, 4096) == 0xffffffull * 4096);
}

TEST_CASE("recovery: UDP source port of known flows")
{
	/* flow label: low 14 bits, folded with the 6 above them */
	CHECK(udp_sport(1, 0, 0) == 0xc001);
	CHECK(udp_sport(0x4000, 0, 0) == 0xc001);
	CHECK(udp_sport(0xfffff, 0, 0) == (0xc000 | (0x3fff ^ 0x3f)));
	CHECK(udp_sport(0x12345, 1, 2) == (0xc000 | (0x2345 ^ 0x4)));
	CHECK(udp_sport(0xfff00001, 0, 0) == udp_sport(1, 9, 9));
	/* no label: from the QP numbers; 17 * 18 = 306 stays as it is */
	CHECK(udp_sport(0, 17, 18) == 0xc000 + 306);
	/* 2^23 * 2^23 = 2^46, folded by 20 to 2^46 + 2^26, by 40 to ... + 2^6: 64 */
	CHECK(udp_sport(0, 0x800000, 0x800000) == 0xc040);
	CHECK(udp_sport(0, 0, 5) == 0xc000);
}

TEST_CASE("recovery: UDP source port is symmetric, constant, spread")
{
	std::set<u16> ports;

	for (u32 q = 1; q < 2000; q++) {
		u32 lqpn = q * 7919 & QPN_MASK, rqpn = q * 104729 & QPN_MASK;
		u16 port = udp_sport(0, lqpn, rqpn);

		CHECK(port >= 0xc000);
		CHECK(port == udp_sport(0, rqpn, lqpn));
		ports.insert(port);
	}
	CHECK(ports.size() > 1500);
}
