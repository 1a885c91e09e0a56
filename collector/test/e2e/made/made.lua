-- made.lua SECONDS: makes functions, calls them, and drops them, so that later ones take their place in memory.
--
-- While a function runs, the thread has its name; the name of its source contains that name, too. Prints how many there were.
local thread_name = io.open("/proc/self/comm", "w")
thread_name:setvbuf("no")
local text = [[
local function inner(rounds)
	local value = 1
	for _ = 1, rounds do value = (value * 1664525 + 1013904223) % 4294967296 end
	return value
end
return function(rounds) local value = inner(rounds) return value end
]]
local made = 0
local rounds = { 20000, 100000, 400000, 1600000 }
while os.clock() < tonumber(arg[1]) do
	made = made + 1
	local name = "made_" .. made % 41
	local chunk = loadstring(text, "=" .. name .. "_")
	thread_name:write(name)
	local outer = chunk() -- has the name, too
	outer(rounds[made % 4 + 1])
	thread_name:write("none")
	chunk, outer = nil
	if made % 4 == 0 then collectgarbage() end
end
print(made)
