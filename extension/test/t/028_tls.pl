# Collectors that log in with a certificate, as collector/database/README.md recommends: TLS is verified in both directions, the name in the
# certificate decides on the role (pg_ident.conf), and the role on the series. COLLECTOR is the program; the certificates are made here.
use strict;
use warnings;
use HTTP::Tiny;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $collector = $ENV{COLLECTOR} // '';
if (!-x $collector || system('openssl version >/dev/null 2>&1') != 0 || !check_pg_config('#define USE_OPENSSL 1'))
{
  SKIP: { skip 'needs the collector, openssl, and a server with it', 1; }
	done_testing();
	exit;
}

# --- certificates --------------------------------------------------------------------------------------------------

my $dir = PostgreSQL::Test::Utils::tempdir();

sub openssl
{
	my ($out, $err);
	IPC::Run::run([ 'openssl', @_ ], '>', \$out, '2>', \$err) or BAIL_OUT("openssl @_: $err");
}

# Makes an authority, or a certificate signed by one.
sub authority
{
	my ($name) = @_;
	openssl('req', '-new', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-days', '2', '-subj', "/CN=$name", '-keyout', "$dir/$name.key", '-out', "$dir/$name.crt");
}
sub certificate
{
	my ($authority, $file, $subject, $alternative) = @_;
	openssl('req', '-new', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-subj', $subject, '-keyout', "$dir/$file.key", '-out', "$dir/$file.csr");
	append_to_file("$dir/$file.ext", $alternative ? "subjectAltName=$alternative\n" : "basicConstraints=CA:FALSE\n");
	openssl('x509', '-req', '-in', "$dir/$file.csr", '-CA', "$dir/$authority.crt", '-CAkey', "$dir/$authority.key", '-CAcreateserial', '-days', '2', '-out', "$dir/$file.crt", '-extfile', "$dir/$file.ext");
	chmod 0600, "$dir/$file.key";
}
authority('ca');
authority('stranger');
certificate('ca', 'server', '/CN=db', 'DNS:db.example,IP:127.0.0.1');
certificate('ca', 'shop', '/CN=shop-collector');
certificate('ca', 'other', '/CN=other-collector');
certificate('ca', 'dashboard', '/CN=shop-dashboard');
certificate('stranger', 'forged', '/CN=shop-collector');

# --- the server, configured by the README --------------------------------------------------------------------------

my $node = PostgreSQL::Test::Cluster->new('tls');
$node->init;
$node->append_conf('postgresql.conf', qq(
autovacuum = off
listen_addresses = '127.0.0.1'
ssl = on
ssl_cert_file = '$dir/server.crt'
ssl_key_file = '$dir/server.key'
ssl_ca_file = '$dir/ca.crt'
));
unlink $node->data_dir . '/pg_hba.conf';
$node->append_conf('pg_hba.conf', q(
local   all         all                                  trust
hostssl profiles    +profstore_clients  127.0.0.1/32     cert map=profstore
host    all         +profstore_clients  all              reject
));
$node->append_conf('pg_ident.conf', q(
profstore  shop-collector  shop_writer
profstore  shop-dashboard  shop_reader
));
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE profiles');
$node->safe_psql('profiles', q(
	CREATE EXTENSION profstore;
	CREATE ROLE profstore_clients NOLOGIN;
	CREATE ROLE shop_writer LOGIN IN ROLE profstore_clients;
	CREATE ROLE shop_reader LOGIN IN ROLE profstore_clients;
	SELECT profstore.grant_write('shop_writer', '{service_name="shop"}');
	SELECT profstore.grant_read('shop_reader', '{service_name="shop"}');
	CREATE ROLE elsewhere LOGIN;
	SELECT profstore.grant_write('elsewhere');
));

my $port = $node->port;
# The arguments replace settings of a correct collector.
sub settings
{
	my %settings = (host => 'db.example', hostaddr => '127.0.0.1', port => $port, dbname => 'profiles', user => 'shop_writer', sslmode => 'verify-full',
		sslrootcert => "$dir/ca.crt", sslcert => "$dir/shop.crt", sslkey => "$dir/shop.key", @_);
	return join ' ', map { "$_='$settings{$_}'" } sort keys %settings;
}

# --- logins --------------------------------------------------------------------------------------------------------

$ENV{HOME} = $dir;    # nobody's own certificates
append_to_file("$dir/folded", "main;imported 5\n");

sub import_as
{
	my (%settings) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ $collector, 'import', '--db', settings(%settings), '--labels', 'service_name=shop', '--at', '2026-03-01 12:00Z', "$dir/folded" ], '>', \$out, '2>', \$err);
	return ($? >> 8, $out . $err);
}
my ($code, $text) = import_as();
is($code, 0, 'a collector with its certificate stores') or diag($text);
for (
	[ 'no certificate', qr/certificate/, sslcert => "$dir/none.crt" ],
	[ 'a certificate of another authority', qr/./, sslcert => "$dir/forged.crt", sslkey => "$dir/forged.key" ],
	[ 'a certificate that the map does not have', qr/certificate authentication failed/, sslcert => "$dir/other.crt", sslkey => "$dir/other.key" ],
	[ 'a certificate for another role', qr/certificate authentication failed/, user => 'shop_reader' ],
	[ 'a role that is no client', qr/no pg_hba.conf entry/, user => 'elsewhere' ],
	[ 'a superuser', qr/no pg_hba.conf entry/, user => $node->safe_psql('postgres', 'SELECT current_user') ],
	[ 'no encryption', qr/pg_hba.conf rejects/, sslmode => 'disable' ],
	[ 'a server of another name', qr/does not match host name/, host => 'db.elsewhere' ],
	[ 'a server of another authority', qr/certificate verify failed/, sslrootcert => "$dir/stranger.crt" ])
{
	my ($name, $message, %settings) = @$_;
	($code, $text) = import_as(%settings);
	is($code, 6, "$name: refused");
	like($text, $message, "$name: the message says why");
}
is($node->safe_psql('profiles', q(SELECT count(*), sum(value) FROM profstore.samples)), '1|5', 'only the first has stored anything');

# --- a collector that keeps running --------------------------------------------------------------------------------

my $http = PostgreSQL::Test::Cluster::get_free_port();
my ($out, $err) = ('', '');
my $receiver = IPC::Run::start([ $collector, 'receive', '--listen', "127.0.0.1:$http", '--db', settings(), '--log-level', 'info' ], '>', \$out, '2>', \$err);
my $client = HTTP::Tiny->new(timeout => 60);

sub eventually
{
	my ($test) = @_;
	for (1 .. 600)
	{
		return 1 if $test->();
		select undef, undef, undef, 0.1;
	}
	return 0;
}
sub push_as
{
	my ($service, $time, $value) = @_;
	return $client->post("http://127.0.0.1:$http/ingest?name=app.cpu%7Bservice_name%3D$service%7D&format=folded&from=$time&until=" . ($time + 10), { content => "main;pushed $value\n" });
}
ok(eventually(sub { $receiver->pump_nb; $client->get("http://127.0.0.1:$http/-/ready")->{success} }), 'a receiver logs in') or diag($err);
my $now = time - 60;
my $answer = push_as('shop', $now, 3);
is($answer->{status}, 200, 'what is pushed is stored') or diag($answer->{content}, $err);
is($node->safe_psql('profiles', q(SELECT DISTINCT s.ssl, s.client_dn, a.usename FROM pg_stat_ssl AS s JOIN pg_stat_activity AS a USING (pid) WHERE a.usename = 'shop_writer')),
	't|/CN=shop-collector|shop_writer', 'over TLS, with the name of its certificate');
# ids of the old session are not valid in the new one: the writer interns again
$node->safe_psql('profiles', q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shop_writer'));
$answer = push_as('shop', $now + 10, 4);
is($answer->{status}, 200, 'after a lost connection, too') or diag($answer->{content}, $err);
is($node->safe_psql('profiles', q(SELECT f.stack, f.value > 0 FROM profstore.profile_types() AS t, profstore.folded(t.profile_type, now() - interval '1 hour', now()) AS f)), 'main;pushed|t', 'it is there');
isnt(push_as('someone_else', $now, 3)->{status}, 200, 'series of others are not stored');
is($node->safe_psql('profiles', q(SELECT string_agg(DISTINCT labels ->> 'service_name', ',') FROM profstore.series)), 'shop', 'nor interned');
$receiver->signal('TERM');
$receiver->finish;

# --- a dashboard ---------------------------------------------------------------------------------------------------

my ($shown, $message);
IPC::Run::run([ 'psql', '-XAtq', '-d', settings(user => 'shop_reader', sslcert => "$dir/dashboard.crt", sslkey => "$dir/dashboard.key"), '-c', q(SELECT DISTINCT labels ->> 'service_name' FROM profstore.series()) ],
	'>', \$shown, '2>', \$message);
is("$shown$message", "shop\n", 'a dashboard logs in with a certificate of its own');
done_testing();
