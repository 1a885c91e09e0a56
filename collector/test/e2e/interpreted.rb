# interpreted.rb SECONDS: functions at known lines that share the CPU time 60 : 30 : 10, whatever calls them.
#
# Beside them a thread waits, time and again, without the interpreter's lock.

def sixty(rounds)
  value, i, n = 1, 0, 6 * rounds
  while i < n do i += 1; value = value * 1664525 + 1013904223 & 0xFFFFFFFF end # line 7
  value
end

def thirty(rounds)
  value, i, n = 1, 0, 3 * rounds
  while i < n do i += 1; value = value * 1664525 + 1013904223 & 0xFFFFFFFF end # line 13
  value
end

def ten(rounds)
  value, i, n = 1, 0, rounds
  while i < n do i += 1; value = value * 1664525 + 1013904223 & 0xFFFFFFFF end # line 19
  value
end

def deep(depth, work, rounds)
  depth > 0 ? deep(depth - 1, work, rounds) : send(work, rounds)
end

class Caller
  def by_sort # the machine's frames of sort_by and each stand between
    rounds = rand(30_000..90_000) # turns last longer than the sampler's period and differ, so that they do not keep in step with it
    %i[sixty thirty ten].sort_by { |work| deep(5, work, rounds) }
  end

  def by_fiber
    Fiber.new { by_sort }.resume
  end
end

def waits
  loop { sleep 0.02 }
end

def waits_on
  sleep 1000
end

Thread.new { waits }
Thread.new { waits_on }
cpu_time = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
till = cpu_time.call + ARGV[0].to_f
Caller.new.by_fiber while cpu_time.call < till
10.times { %i[sixty thirty ten].each { |work| deep(600, work, 1000) } }
