-- interpreted.lua SECONDS: functions at known lines that share the CPU time 60 : 30 : 10, whatever calls them.

local function sixty(rounds)
	local value = 1
	for _ = 1, 6 * rounds do value = (value * 1664525 + 1013904223) % 4294967296 end -- line 5
	return value
end

local function thirty(rounds)
	local value = 1
	for _ = 1, 3 * rounds do value = (value * 1664525 + 1013904223) % 4294967296 end -- line 11
	return value
end

local function ten(rounds)
	local value = 1
	for _ = 1, rounds do value = (value * 1664525 + 1013904223) % 4294967296 end -- line 17
	return value
end

local function deep(depth, work, rounds)
	if depth == 0 then return (work(rounds)) end
	local value = deep(depth - 1, work, rounds)
	return value
end

local works = { sixty = sixty, thirty = thirty, ten = ten }

local function by_callback() -- the machine's frames of gsub() stand between
	local rounds = math.random(150000, 450000) -- turns last longer than the sampler's period and differ, so that they do not keep in step with it
	local text = string.gsub("sixty thirty ten", "%a+", function(name)
		local value = deep(5, works[name], rounds)
		return tostring(value)
	end)
	return text
end

local until_clock = os.clock() + tonumber(arg[1])
while os.clock() < until_clock do
	local text = coroutine.wrap(function() local value = by_callback() return value end)()
end
