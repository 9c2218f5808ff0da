--[[
Suggestions of tagloom in darktable: attach them as tags, accept or reject them, and tell tagloom.

Install: copy this file to ~/.config/darktable/lua/ and add the line  require "tagloom"  to ~/.config/darktable/luarc.
Then set the folder of the project in preferences -> Lua options. Linux and macOS, darktable 4 or later.

A suggestion is a tag below tagloom|suggested, a rejected one a tag below tagloom|rejected. tagloom reads neither of
them as a keyword of the photo. Nothing here changes or deletes any other tag.
]]

local dt = require "darktable"

local SUGGESTED, REJECTED = "tagloom|suggested|", "tagloom|rejected|"
local N_AT_ONCE = 200 -- photos in one command

dt.preferences.register("tagloom", "project", "directory", "tagloom: project", "the photo folder that tagloom init was run in", "")
dt.preferences.register("tagloom", "command", "string", "tagloom: command", "the program, with its folder if it is not found", "tagloom")

local M = {}

local function starts(text, prefix) return text:sub(1, #prefix) == prefix end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- In tagloom a backslash stands before a separator that belongs to a name.
local function to_tagloom(name) return (name:gsub("\\", "\\\\")) end
local function from_tagloom(name) return (name:gsub("\\\\", "\\")) end

local function project()
  local folder = dt.preferences.read("tagloom", "project", "directory")
  if folder == "" then error("set the folder of the project in preferences, Lua options", 0) end
  return (folder:gsub("/+$", ""))
end

-- Run tagloom; its last line tells what went wrong.
local function run(words)
  local line = { quoted(dt.preferences.read("tagloom", "command", "string")) }
  for _, word in ipairs(words) do line[#line + 1] = quoted(word) end
  local log = os.tmpname()
  local failed = dt.control.execute(table.concat(line, " ") .. " > /dev/null 2> " .. quoted(log))
  local told = ""
  for each in io.lines(log) do told = each end
  os.remove(log)
  if failed ~= 0 then error(told ~= "" and told or "tagloom did not run; set its command in preferences", 0) end
end

-- The fields of one line with tabs between; a field with a quote in it is in quotes.
local function fields(line)
  local found = {}
  for field in (line:gsub("\r$", "") .. "\t"):gmatch("([^\t]*)\t") do
    if starts(field, '"') then field = field:sub(2, -2):gsub('""', '"') end
    found[#found + 1] = field
  end
  return found
end

-- What tagloom knows: states[path][tag] is "accepted", "rejected" or "suggested".
local function states()
  local target = os.tmpname()
  os.remove(target) -- tagloom replaces no file that it did not write
  run { "export", target .. ".tsv", "--uncalibrated", "--quiet", "--project", project() }
  local found = {}
  for line in io.lines(target .. ".tsv") do
    local path, tag, source = table.unpack(fields(line))
    if source then
      -- A mark before a tag says no; marks that belong to a tag are doubled.
      local marks, rest = tag:match("^(!*)(.*)$")
      local n = (#marks - (source == "rejected" and 1 or 0)) // 2
      found[path] = found[path] or {}
      found[path][("!"):rep(n) .. from_tagloom(rest)] = source
    end
  end
  os.remove(target .. ".tsv")
  return found
end

-- The path of a photo below the project, or nil.
local function below(image, root)
  local path = image.path .. "/" .. image.filename
  if starts(path, root .. "/") then return path:sub(#root + 2) end
end

local function tags_of(image)
  local found = {}
  for _, tag in ipairs(dt.tags.get_tags(image)) do found[tag.name] = tag end
  return found
end

-- Attach what tagloom suggests, and detach suggestions that it no longer makes.
function M.attach(images)
  local known, root, n = states(), project(), 0
  for _, image in ipairs(images) do
    local path = below(image, root)
    local said, has = path and known[path] or {}, tags_of(image)
    for name, tag in pairs(has) do
      if starts(name, SUGGESTED) and said[name:sub(#SUGGESTED + 1)] ~= "suggested" then dt.tags.detach(tag, image) end
    end
    for name, state in pairs(said) do
      if state == "suggested" and not has[name] and not has[REJECTED .. name] and not has[SUGGESTED .. name] then
        dt.tags.attach(dt.tags.create(SUGGESTED .. name), image)
        n = n + 1
      end
    end
  end
  return n
end

local function decide(images, only, prefix)
  local n = 0
  for _, image in ipairs(images) do
    for name, tag in pairs(tags_of(image)) do
      local wanted = name:sub(#SUGGESTED + 1)
      if starts(name, SUGGESTED) and (only == nil or only == "" or only == wanted) then
        dt.tags.attach(dt.tags.create(prefix .. wanted), image)
        dt.tags.detach(tag, image)
        n = n + 1
      end
    end
  end
  return n
end

-- Make suggestions keywords: all of these photos, or one tag alone.
function M.accept(images, only) return decide(images, only, "") end

-- Reject suggestions; tagloom hears of it with the next sync.
function M.reject(images, only) return decide(images, only, REJECTED) end

-- Tell tagloom which keywords these photos have and which suggestions were rejected.
function M.sync(images)
  local known, root, n = states(), project(), 0
  local wanted, rejected = {}, {}
  for _, image in ipairs(images) do
    local path = below(image, root)
    for name, tag in pairs(path and tags_of(image) or {}) do
      local option, text = "--add", name
      if starts(name, REJECTED) then
        option, text = "--remove", name:sub(#REJECTED + 1)
        rejected[#rejected + 1] = { tag, image }
      end
      local state = (known[path] or {})[text]
      local is_other = starts(text, "darktable|") or starts(text, SUGGESTED)
      if not is_other and state ~= (option == "--add" and "accepted" or "rejected") then
        local key = option .. "=" .. to_tagloom(text)
        wanted[key] = wanted[key] or {}
        table.insert(wanted[key], path)
        n = n + 1
      end
    end
  end
  for key, paths in pairs(wanted) do
    for first = 1, #paths, N_AT_ONCE do
      local words = { "label", "--quiet", "--new", "--project", root, key, "--" }
      for i = first, math.min(first + N_AT_ONCE - 1, #paths) do words[#words + 1] = paths[i] end
      run(words)
    end
  end
  for _, pair in ipairs(rejected) do dt.tags.detach(pair[1], pair[2]) end -- tagloom knows it now
  return n
end

-- The buttons, for the selected photos.
local function button(label, tip, work, told)
  return dt.new_widget("button") {
    label = label,
    tooltip = tip,
    clicked_callback = function()
      local ok, found = pcall(work, dt.gui.action_images)
      dt.print("tagloom: " .. (ok and string.format(told, found) or tostring(found)))
    end,
  }
end

local only = dt.new_widget("entry") { placeholder = "only this tag", tooltip = "empty: all suggestions", text = "" }
dt.register_lib("tagloom", "tagloom", true, false, {
  [dt.gui.views.lighttable] = { "DT_UI_CONTAINER_PANEL_RIGHT_CENTER", 400 },
}, dt.new_widget("box") {
  orientation = "vertical",
  button("attach suggestions", "as tags below tagloom|suggested", M.attach, "%d suggestions attached"),
  only,
  button("accept", "make suggestions keywords", function(images) return M.accept(images, only.text) end, "%d accepted"),
  button("reject", "take suggestions away", function(images) return M.reject(images, only.text) end, "%d rejected"),
  button("sync", "tell tagloom what you decided", M.sync, "%d decisions told"),
})

return M
