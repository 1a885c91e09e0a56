# made.rb SECONDS: makes methods, calls them, and removes them, so that later ones take their place in memory.
#
# While a method runs, the thread has its name. Prints how many there were.
thread_name = File.open("/proc/self/comm", "w")
thread_name.sync = true
made = 0
finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + ARGV[0].to_f
while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < finish
  made += 1
  name = made % 41
  eval <<~TEXT
    def made_#{name}_outer(rounds)
      made_#{name}_inner(rounds)
    end
    def made_#{name}_inner(rounds)
      value, i = 1, 0
      while i < rounds do i += 1; value = value * 1664525 + 1013904223 & 0xFFFFFFFF end
      value
    end
  TEXT
  thread_name.write("made_#{name}")
  send("made_#{name}_outer", [5000, 20000, 100000, 400000][made % 4])
  thread_name.write("none")
  Object.send(:remove_method, "made_#{name}_outer", "made_#{name}_inner")
  GC.start if made % 4 == 0
end
puts made
