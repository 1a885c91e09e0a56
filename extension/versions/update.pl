# Generates the script that updates the extension to the version of the rooms' scripts.
#
#   update.pl OLD-INSTALL-SCRIPT CHANGES INSTALL-SCRIPT > UPDATE-SCRIPT
#
# CHANGES comes first: handwritten statements for existing tables, for functions that these need, and for objects that need a DROP. The
# install script follows, in its order: all functions, which replace those with the same arguments, changed views, all comments, the blocks
# tagged $comments$, and new objects. Removed functions are dropped. Only new objects get privileges: a REVOKE in
# an extension's script would pass the users' own grants off as the extension's, and pg_dump would leave them out.
use strict;
use warnings;

my $name = qr/[\w.]+/;
my $routine = qr/FUNCTION|PROCEDURE|AGGREGATE/;

# Statements without the comments around them.
sub statements
{
	my ($path) = @_;
	open my $file, '<', $path or die "$path: $!\n";
	local $/;
	my $text = <$file>;
	my ($statement, $depth, @statements) = ('', 0);

	while ($text =~ /\G(
			--[^\n]*\n | \\echo[^\n]*\n |
			[Ee]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "[^"]*" |
			(\$\w*\$).*?\2 |
			\w+ | .)/gsx)
	{
		my $token = $1;
		next if $token =~ /^\\echo/ || ($statement eq '' && $token =~ /^(?:--|\s)/);
		$depth++ if $token eq 'BEGIN' && substr($text, pos $text, 7) eq ' ATOMIC';
		$depth++ if $depth > 0 && $token eq 'CASE';
		$depth-- if $depth > 0 && $token eq 'END';
		$statement .= $token;
		if ($token eq ';' && $depth == 0)
		{
			push @statements, $statement;
			$statement = '';
		}
	}
	die "$path: unfinished: $statement\n" if $statement =~ /\S/;
	return @statements;
}

# The types of the input arguments in a CREATE statement, as GRANT and DROP spell them.
sub argument_types
{
	my ($list) = @_;
	my @types;
	for (split /,(?![^(]*\))/, $list)
	{
		next if /^\s*OUT\s/;
		s/^\s+(?:VARIADIC\s+)?|\s+(?:DEFAULT\s.*)?$//gs;
		s/^(?:\w+|"\w+")\s+//;
		push @types, $_;
	}
	return join ', ', @types;
}

# Kind and name of the object that a statement creates; a routine's name includes the types of its arguments.
sub made_by
{
	my ($statement) = @_;
	return ($1, "$2(" . argument_types(substr $3, 1, -1) . ')') if $statement =~ /^CREATE ($routine) ($name)\s*(\((?:[^()]++|(?3))*\))/;
	return $statement =~ /^CREATE ((?:UNIQUE )?INDEX|TABLE|SEQUENCE|VIEW|TYPE|TRIGGER|EVENT TRIGGER|ACCESS METHOD) ($name)/;
}

sub objects
{
	my @statements = @_;
	my %objects;
	for my $i (0 .. $#statements)
	{
		my ($kind, $object) = made_by($statements[$i]);
		$objects{"$kind $object"} = $statements[$i] if defined $kind;
	}
	return %objects;
}

die "usage: update.pl OLD-INSTALL-SCRIPT CHANGES INSTALL-SCRIPT\n" if @ARGV != 3;
my @old = statements($ARGV[0]);
my @changes = statements($ARGV[1]);
my @new = statements($ARGV[2]);
my %old_statement = map { $_ => 1 } @old;
my %there = objects(@old);
my %wanted = objects(@new);

print qq(\\echo Use "ALTER EXTENSION profstore UPDATE" to load this file. \\quit\n\n);
for (@changes)
{
	print "$_\n";
	delete $there{"$1 $2"} if /^DROP ([A-Z ]*[A-Z]) (?:(?<=INDEX )profstore\.)?($name(?:\([^)]*\))?)/;
	my ($kind, $object) = made_by($_);
	$there{"$kind $object"} = $_ if defined $kind;
}
# Functions whose arguments changed are dropped first, so that calls stay unambiguous; removed functions are dropped last, without users.
my %heirs = map { /^$routine (($name).*)/ ? ($2 => $1) : () } keys %wanted;
my @without_heir;
for (sort keys %there)
{
	next if $wanted{$_};
	die "$ARGV[1] does not tell what becomes of $_\n" unless /^$routine ($name)/;
	if ($heirs{$1}) { print "DROP $_;\n" }
	else { push @without_heir, "DROP $_;\n" }
	delete $there{$_};
}
for my $i (0 .. $#new)
{
	my $statement = $new[$i];
	my ($kind, $object) = made_by($statement);

	if (defined $kind)
	{
		my $old = $there{"$kind $object"};
		if (defined $old && ($kind =~ /^(?:FUNCTION|PROCEDURE)$/ || $kind eq 'VIEW' && $old ne $statement))
		{
			$statement =~ s/^CREATE/CREATE OR REPLACE/;
		}
		elsif (defined $old)
		{
			die "$ARGV[1] does not tell how $kind $object changes\n"
			  if $old ne $statement && !$old_statement{$statement} && !grep { /^ALTER $kind \Q$object\E\s/ } @changes;
			next;
		}
	}
	elsif ($statement =~ /^(?:GRANT|REVOKE) .*? ON (?:($routine) )?($name(?:\([^)]*\))?) /s)
	{
		my @kinds = defined $1 ? ($1) : ('TABLE', 'VIEW', 'SEQUENCE');
		next if grep { $there{"$_ $2"} } @kinds;
	}
	elsif ($statement !~ /^(?:COMMENT |DO \$comments\$)/)
	{
		next if $old_statement{$statement};
	}
	# if the user has a function of the same name, a comment that gives only the name would be ambiguous
	$statement =~ s/^(COMMENT ON $routine) ($name) IS/$1 $heirs{$2} IS/;
	print "$statement\n";
}
print @without_heir;
