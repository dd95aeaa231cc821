# Sends every type that Net::Statsd has: net_statsd.pl PORT
use strict;
use warnings;

# Of every two samples exactly the first is sent.
my $turn;
BEGIN { $turn = 0; *CORE::GLOBAL::rand = sub { $turn++ % 2 ? 0.75 : 0.25 } }
use Net::Statsd;

($Net::Statsd::HOST, $Net::Statsd::PORT) = ('127.0.0.1', $ARGV[0]);

Net::Statsd::increment('udp.hits') for 1 .. 80;
Net::Statsd::update_stats('udp.hits', 20);
Net::Statsd::decrement('udp.hits') for 1 .. 10;
Net::Statsd::increment(['udp.sampled', 'udp.listed'], 0.5) for 1 .. 100;
# Several values of a gauge are one datagram.
Net::Statsd::gauge('udp.level' => 10, 'udp.level' => '+5', 'udp.level' => '-3', 'udp.below' => -4);
Net::Statsd::timing('udp.took', $_) for 1 .. 10;
Net::Statsd::timing('udp.took_sampled', 8, 0.5) for 1 .. 10;
Net::Statsd::increment('udp.done');
